import { ErrorCode } from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import type { PartitionRequests } from "../partitions/index.js";
import type { Mesh } from "./lanes/mesh.js";
import type { RecordReader } from "./lanes/record.js";
import type { Importer } from "./lanes/transfer.js";
import { MainKind } from "./messages/kinds.js";
import {
  decodeTargets,
  readDeleteOffset,
  readFacts,
  readFetch,
  readOffsetTarget,
  readPoll,
  readSend,
  readStoreOffset,
  type RequestFacts,
} from "./messages/partition-request.js";
import { RemoteRequest } from "./remote-request.js";

/** What the owner of a partition checks once more: the request was checked on another shard, a moment ago. */
export interface AppliedMetadata {
  readonly appliedOp: number;
  isSessionLive(client: bigint, session: number): boolean;
}

/** Requests of one other shard. */
interface Source {
  readonly requests: Map<number, RemoteRequest>;
  /** What waits for metadata that this shard has yet to apply, in order of arrival. */
  readonly early: { readonly op: number; readonly serve: () => void }[];
}

/** Serves the requests that connections of other shards have for the partitions of this one. */
export class PartitionServer {
  private readonly mesh: Mesh;
  private readonly plane: PartitionRequests;
  private readonly metadata: AppliedMetadata;
  private readonly sources = new Map<number, Source>();

  constructor(mesh: Mesh, plane: PartitionRequests, metadata: AppliedMetadata) {
    this.mesh = mesh;
    this.plane = plane;
    this.metadata = metadata;
    for (const shard of mesh.others) this.sources.set(shard, { requests: new Map(), early: [] });
  }

  /** Requests of other shards that are not answered. */
  get size(): number {
    let size = 0;
    for (const { requests } of this.sources.values()) size += requests.size;
    return size;
  }

  /** Takes a record whose first byte was `kind`; false when it is none of a partition request. */
  take(kind: number, shard: number, record: RecordReader, importer: Importer): boolean {
    const { plane } = this;
    switch (kind) {
      case MainKind.send: {
        const facts = readFacts(record);
        const command = readSend(record);
        const { pieces, memory } = importer.receive(record);
        const batch = pieces[0] ?? new Uint8Array(0);
        this.admit(shard, facts, batch, memory[0], (request) => {
          plane.send(request, { ...command, batch });
        });
        return true;
      }
      case MainKind.poll: {
        const facts = readFacts(record);
        const command = readPoll(record);
        this.admit(shard, facts, undefined, undefined, (request) => {
          plane.poll(request, command);
        });
        return true;
      }
      case MainKind.fetch: {
        const facts = readFacts(record);
        const command = readFetch(record);
        const { pieces } = importer.receive(record);
        const targets = decodeTargets(pieces[0] ?? new Uint8Array(0));
        this.admit(shard, facts, undefined, undefined, (request) => {
          plane.fetch(request, { ...command, targets });
        });
        return true;
      }
      case MainKind.getOffset: {
        const facts = readFacts(record);
        const command = readOffsetTarget(record);
        this.admit(shard, facts, undefined, undefined, (request) => {
          plane.getOffset(request, command);
        });
        return true;
      }
      case MainKind.storeOffset: {
        const facts = readFacts(record);
        const command = readStoreOffset(record);
        this.admit(shard, facts, undefined, undefined, (request) => {
          plane.storeOffset(request, command);
        });
        return true;
      }
      case MainKind.deleteOffset: {
        const facts = readFacts(record);
        const command = readDeleteOffset(record);
        this.admit(shard, facts, undefined, undefined, (request) => {
          plane.deleteOffset(request, command);
        });
        return true;
      }
      case MainKind.cancel: {
        const token = record.u32();
        const code = record.u32();
        this.sourceOf(shard).requests.get(token)?.cancel(code);
        return true;
      }
      default:
        return false;
    }
  }

  /** This shard applied one more operation of metadata. */
  applied(): void {
    for (const { early } of this.sources.values()) {
      for (let next = early[0]; next !== undefined && next.op <= this.metadata.appliedOp; next = early[0]) {
        early.shift();
        next.serve();
      }
    }
  }

  private admit(
    shard: number,
    facts: RequestFacts,
    body: Uint8Array | undefined,
    memory: Memory | undefined,
    serve: (request: RemoteRequest) => void,
  ): void {
    const source = this.sourceOf(shard);
    const request = new RemoteRequest(facts, body ?? noBytes, memory, this.mesh.reply(shard), (answered) => {
      source.requests.delete(answered.token);
    });
    source.requests.set(facts.token, request);
    const start = (): void => {
      // Partitions may have been told already that nothing comes of the session any more.
      if (this.metadata.isSessionLive(facts.client, facts.session)) serve(request);
      else request.deny(ErrorCode.StaleClient);
    };
    const { early } = source;
    if (early.length === 0 && facts.minimumMetadataOp <= this.metadata.appliedOp) start();
    else early.push({ op: facts.minimumMetadataOp, serve: start });
  }

  private sourceOf(shard: number): Source {
    const source = this.sources.get(shard);
    if (source === undefined) throw new RangeError(`shard ${shard} sends nothing to this one`);
    return source;
  }
}

const noBytes = new Uint8Array(0);
