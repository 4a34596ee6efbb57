import { ErrorCode } from "@iggy/protocol";
import { RequestWindow } from "./request-window.js";

/** Results of recent writes kept per session; a client waits for each write of a partition before the next one. */
export const RECEIPTS_PER_WRITER = 5;
/** Ended sessions that are remembered as fenced; older ones are refused by metadata alone. */
export const RETIRED_SESSIONS_MAX = 8192;

/** The stored result of a write, from which its reply is built again. */
export interface Receipt {
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation: number;
  readonly op: number;
  readonly view: number;
  readonly timestampMicros: number;
  /** 0, or the error code of a committed rejection. */
  readonly code: number;
  /** First offset of a send, -1 for other operations. */
  readonly baseOffset: number;
}

export interface WriterIdentity {
  readonly client: bigint;
  readonly session: number;
}

export interface Writer extends WriterIdentity {
  readonly window: RequestWindow;
  /** Oldest first. */
  readonly receipts: Receipt[];
  /** Request numbers that are ordered but not committed. */
  readonly pending: number[];
}

export type WriterDecision =
  | { readonly kind: "new" }
  /** Applied before: answer this again. */
  | { readonly kind: "replay"; readonly receipt: Receipt }
  /** Ordered and not yet committed: its commit answers. */
  | { readonly kind: "pending" }
  | { readonly kind: "refuse"; readonly code: number };

const fresh: WriterDecision = { kind: "new" };
const pending: WriterDecision = { kind: "pending" };
const tooOld: WriterDecision = { kind: "refuse", code: ErrorCode.RequestTooOld };
const alreadyApplied: WriterDecision = { kind: "refuse", code: ErrorCode.RequestAlreadyApplied };
const tableFull: WriterDecision = { kind: "refuse", code: ErrorCode.TransientNotAccepted };
const sessionEnded: WriterDecision = { kind: "refuse", code: ErrorCode.StaleClient };

/**
 * Retry protection: for every session that wrote to the partition, which requests were applied and what the last ones
 * answered. Live protection is never given up for a newcomer; only the retirement of ended sessions frees entries.
 */
export class WriterTable {
  private readonly byClient = new Map<bigint, Writer[]>();
  /** Highest retired session of a client, in order of retirement. */
  private readonly retired = new Map<bigint, number>();
  private writers = 0;

  get size(): number {
    return this.writers;
  }

  /** Decides about a request before it is ordered. `capacity` is the committed limit of writers. */
  check(client: bigint, session: number, request: number, capacity: number): WriterDecision {
    const writer = this.find(client, session);
    if (writer === undefined) {
      if (this.isRetired(client, session)) return sessionEnded;
      return this.writers < capacity ? fresh : tableFull;
    }
    if (writer.pending.includes(request)) return pending;
    const state = writer.window.state(request);
    if (state === "new") return fresh;
    const receipt = writer.receipts.findLast((entry) => entry.request === request);
    if (receipt !== undefined) return { kind: "replay", receipt };
    return state === "applied" ? alreadyApplied : tooOld;
  }

  ordered(client: bigint, session: number, request: number): void {
    this.findOrAdd(client, session).pending.push(request);
  }

  /** Uncommitted operations of this node were given up, as a view change does. */
  dropPending(): void {
    for (const writers of [...this.byClient.values()]) {
      for (const writer of [...writers]) {
        writer.pending.length = 0;
        if (isUnused(writer)) this.remove(writer);
      }
    }
  }

  commit(client: bigint, session: number, receipt: Receipt): void {
    const writer = this.findOrAdd(client, session);
    if (writer.pending[0] === receipt.request) writer.pending.shift();
    writer.window.record(receipt.request);
    writer.receipts.push(receipt);
    if (writer.receipts.length > RECEIPTS_PER_WRITER) writer.receipts.shift();
  }

  /** Ends a session for good: its receipts go and later writes of it are refused. */
  retire(client: bigint, session: number): void {
    for (const writer of [...(this.byClient.get(client) ?? [])]) {
      if (writer.session <= session) this.remove(writer);
    }
    const highest = Math.max(session, this.retired.get(client) ?? 0);
    this.retired.delete(client);
    this.retired.set(client, highest);
    if (this.retired.size > RETIRED_SESSIONS_MAX) {
      const [oldest] = this.retired.keys();
      if (oldest !== undefined) this.retired.delete(oldest);
    }
  }

  /** Whether the session wrote here, so that its end must be recorded in the log. */
  has(client: bigint, session: number): boolean {
    return this.find(client, session) !== undefined;
  }

  /** Writers with committed requests; those that only have ordered ones belong to no checkpoint. */
  *entries(): Iterable<Writer> {
    for (const writers of this.byClient.values()) {
      for (const writer of writers) if (writer.receipts.length > 0) yield writer;
    }
  }

  retiredEntries(): Iterable<readonly [bigint, number]> {
    return this.retired;
  }

  restore(
    writers: Iterable<WriterIdentity & { readonly window: RequestWindow; readonly receipts: readonly Receipt[] }>,
    retired: Iterable<readonly [bigint, number]>,
  ): void {
    this.byClient.clear();
    this.retired.clear();
    this.writers = 0;
    for (const { client, session, window, receipts } of writers) {
      this.add({ client, session, window, receipts: [...receipts], pending: [] });
    }
    for (const [client, session] of retired) this.retired.set(client, session);
  }

  private isRetired(client: bigint, session: number): boolean {
    const highest = this.retired.get(client);
    return highest !== undefined && session <= highest;
  }

  private find(client: bigint, session: number): Writer | undefined {
    return this.byClient.get(client)?.find((writer) => writer.session === session);
  }

  private findOrAdd(client: bigint, session: number): Writer {
    return (
      this.find(client, session) ??
      this.add({ client, session, window: new RequestWindow(), receipts: [], pending: [] })
    );
  }

  private add(writer: Writer): Writer {
    const writers = this.byClient.get(writer.client);
    if (writers === undefined) this.byClient.set(writer.client, [writer]);
    else writers.push(writer);
    this.writers++;
    return writer;
  }

  private remove(writer: Writer): void {
    const writers = this.byClient.get(writer.client);
    const index = writers?.indexOf(writer) ?? -1;
    if (writers === undefined || index < 0) return;
    writers.splice(index, 1);
    if (writers.length === 0) this.byClient.delete(writer.client);
    this.writers--;
  }
}

const isUnused = (writer: Writer): boolean => writer.pending.length === 0 && writer.receipts.length === 0;
