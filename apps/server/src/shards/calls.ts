import { type Codec, decodeExact, encode, encodeUtf8 } from "@iggy/protocol";
import type { Mesh } from "./lanes/mesh.js";
import type { RecordReader } from "./lanes/record.js";
import { type Importer, REFERENCE_BYTES_MAX } from "./lanes/transfer.js";
import { MainKind } from "./messages/kinds.js";

/** Something that a shard does for another one, now and then. */
export interface Call<Args, Result> {
  readonly id: number;
  readonly name: string;
  readonly args: Codec<Args>;
  readonly result: Codec<Result>;
}

export const call = <Args, Result>(
  id: number,
  name: string,
  args: Codec<Args>,
  result: Codec<Result>,
): Call<Args, Result> => ({ id, name, args, result });

interface Asked {
  readonly shard: number;
  readonly name: string;
  readonly done: (result: Uint8Array) => void;
  readonly failed: (error: Error) => void;
}

const CALL_BYTES = 16;

/**
 * Questions between shards, and their answers, in the main lanes: behind every commit of metadata and every request that
 * was sent before.
 */
export class Calls {
  private readonly mesh: Mesh;
  private readonly handlers = new Map<number, (args: Uint8Array, source: number) => Promise<Uint8Array>>();
  private readonly asked = new Map<number, Asked>();
  private readonly gone = new Map<number, Error>();
  private nextId = 1;

  constructor(mesh: Mesh) {
    this.mesh = mesh;
  }

  serve<Args, Result>(
    { id, args, result }: Call<Args, Result>,
    handle: (args: Args, source: number) => Result | Promise<Result>,
  ): void {
    this.handlers.set(id, async (bytes, source) => encode(result, await handle(decodeExact(args, bytes), source)));
  }

  ask<Args, Result>(shard: number, asked: Call<Args, Result>, args: Args): Promise<Result> {
    const gone = this.gone.get(shard);
    if (gone !== undefined) return Promise.reject(gone);
    const id = this.nextId;
    this.nextId = (id + 1) >>> 0;
    return new Promise((resolve, reject) => {
      this.asked.set(id, {
        shard,
        name: asked.name,
        done: (bytes) => {
          resolve(decodeExact(asked.result, bytes));
        },
        failed: reject,
      });
      this.send(shard, MainKind.call, id, asked.id, encode(asked.args, args));
    });
  }

  /** Asks every other shard. */
  askAll<Args, Result>(asked: Call<Args, Result>, args: Args): Promise<Result[]> {
    return Promise.all([...this.mesh.others].map((shard) => this.ask(shard, asked, args)));
  }

  /** A shard ended: whoever waits for it, or asks it yet, learns why. */
  ended(shard: number, why: Error): void {
    this.gone.set(shard, why);
    for (const [id, asked] of this.asked) {
      if (asked.shard !== shard) continue;
      this.asked.delete(id);
      asked.failed(why);
    }
  }

  /** Takes a record whose first byte was `kind`; false when it is none of these. */
  take(kind: number, source: number, record: RecordReader, importer: Importer): boolean {
    if (kind !== MainKind.call && kind !== MainKind.result) return false;
    const id = record.u32();
    const what = record.u8();
    const { pieces } = importer.receive(record);
    const bytes = pieces[0] ?? new Uint8Array(0);
    if (kind === MainKind.call) this.answer(source, id, what, bytes);
    else this.settle(id, what === FAILED, bytes);
    return true;
  }

  private answer(source: number, id: number, what: number, args: Uint8Array): void {
    const handler = this.handlers.get(what);
    if (handler === undefined) throw new RangeError(`shard ${source} asks for ${what}, which nobody here does`);
    handler(args, source).then(
      (result) => {
        this.send(source, MainKind.result, id, DONE, result);
      },
      (error: unknown) => {
        this.send(source, MainKind.result, id, FAILED, encodeUtf8(describe(error)));
      },
    );
  }

  private settle(id: number, isFailed: boolean, bytes: Uint8Array): void {
    const asked = this.asked.get(id);
    if (asked === undefined) return;
    this.asked.delete(id);
    if (!isFailed) asked.done(bytes);
    else asked.failed(new Error(`${asked.name} on shard ${asked.shard}: ${Buffer.from(bytes).toString("utf8")}`));
  }

  private send(shard: number, kind: number, id: number, what: number, body: Uint8Array): void {
    const outbox = this.mesh.main(shard);
    const record = outbox.begin(CALL_BYTES + REFERENCE_BYTES_MAX);
    record.u8(kind);
    record.u32(id);
    record.u8(what);
    outbox.body(record, [body]);
    outbox.commit();
  }
}

const DONE = 0;
const FAILED = 1;

/** Everything that went wrong, in one line. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return [error.message, ...error.errors.map(describe)].join("; ");
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}
