import { letGo } from "../memory/let-go.js";
import { ErrorCode, FETCH_SECTION_SIZE } from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import {
  type FetchCommand,
  type FetchProbe,
  type FetchTarget,
  readFetchProbe,
  type SessionParking,
} from "../partitions/index.js";
import type { ClientRequest } from "../request.js";
import { type PartAnswer, PartRequest } from "./part-request.js";

export interface SpreadFetchDeps {
  /** Serves a fetch whose targets have one owner. */
  readonly fetch: (request: ClientRequest, command: FetchCommand) => void;
  readonly ownerOf: (target: FetchTarget) => number;
  readonly nowMillis: () => number;
  readonly waitMicrosMax: number;
  readonly bytesMax: number;
  readonly parking: SessionParking;
}

/** A section of a reply says that its partition was refused, in place of what the shard could not be asked for. */
const STATUS_AT = 4;
const MESSAGES_AT = 16;
const RECORDS_AT = 52;

/**
 * A fetch whose partitions belong to several shards. It asks the owners what there is until that is enough, then reads in
 * the order of the request out of one budget. What the owners answer are whole sections of the reply.
 */
export class SpreadFetch {
  private readonly deps: SpreadFetchDeps;
  private readonly request: ClientRequest;
  private readonly command: FetchCommand;
  private readonly maxBytes: number;
  private readonly startedMillis: number;
  private readonly waitMicros: number;
  private readonly legs: readonly (readonly FetchTarget[])[];
  private readonly asked = new Set<PartRequest>();
  private cancelledWith = 0;
  private isParked = false;

  constructor(deps: SpreadFetchDeps, request: ClientRequest, command: FetchCommand) {
    this.deps = deps;
    this.request = request;
    this.command = command;
    this.maxBytes = Math.min(command.wait.maxBytes, deps.bytesMax);
    this.startedMillis = deps.nowMillis();
    this.waitMicros = Math.min(command.wait.waitMicros, deps.waitMicrosMax);
    this.legs = [...groupedBy(command.targets, deps.ownerOf).values()];
  }

  async run(): Promise<void> {
    this.request.onCancel((code) => {
      this.cancelledWith = code;
      for (const part of this.asked) part.cancel(code);
    });
    const refused = await this.waitInPlace();
    const code = refused === 0 ? this.cancelledWith : refused;
    if (code !== 0) this.request.deny(code);
    else await this.serve();
  }

  private get elapsedMicros(): number {
    return (this.deps.nowMillis() - this.startedMillis) * 1000;
  }

  // Waiting.

  /** The whole fetch is one waiting read of its session, however many shards watch for it. */
  private async waitInPlace(): Promise<number> {
    try {
      return this.waitMicros === 0 ? 0 : await this.waitForEnough();
    } finally {
      if (this.isParked) this.deps.parking.release(this.request.client);
    }
  }

  private park(): boolean {
    this.isParked ||= this.deps.parking.take(this.request.client);
    return this.isParked;
  }

  /** Resolves when the fetch should be served, to 0, or to the code that refuses it. */
  private async waitForEnough(): Promise<number> {
    const held = this.legs.map((): FetchProbe => nothing);
    for (;;) {
      // Bytes are measured by whoever waits; a look counts messages only.
      const looks = await Promise.all(this.legs.map((targets) => this.probe(targets, 0, 1, this.maxBytes)));
      for (const [at, look] of looks.entries()) {
        if (typeof look === "number") return look;
        held[at] = { ...look, bytes: held[at]?.bytes ?? 0 };
      }
      const missing = {
        messages: this.command.wait.minCount - sumOf(held, ({ messages }) => messages),
        bytes: this.maxBytes - sumOf(held, ({ bytes }) => bytes),
      };
      const isOver = this.elapsedMicros >= this.waitMicros || this.cancelledWith !== 0;
      const isReady = held.some((leg) => leg.isReady);
      if (isOver || isReady || missing.messages <= 0 || missing.bytes <= 0) return 0;
      if (!this.park()) return ErrorCode.DeferredPollCapacityExceeded;
      const grown = await this.firstToGrow(held, missing);
      if (typeof grown === "number") return grown;
      if (grown.probe.isReady) return 0;
      held[grown.leg] = grown.probe;
    }
  }

  /**
   * Each owner watches for its share of half of what is missing, so the missing part at least halves between two looks at
   * them all. Gives the first one that has it, or whose wait is over.
   */
  private async firstToGrow(
    held: readonly FetchProbe[],
    missing: { readonly messages: number; readonly bytes: number },
  ): Promise<{ readonly leg: number; readonly probe: FetchProbe } | number> {
    const share = (all: number): number => Math.ceil(all / (2 * this.legs.length));
    const waitMicros = Math.max(1, this.waitMicros - this.elapsedMicros);
    const waiting = this.legs.map(async (targets, leg) => {
      const { messages, bytes } = held[leg] ?? nothing;
      const [minCount, maxBytes] = [messages + share(missing.messages), bytes + share(missing.bytes)];
      const probe = await this.probe(targets, waitMicros, minCount, maxBytes);
      return typeof probe === "number" ? probe : { leg, probe };
    });
    const first = await Promise.race(waiting);
    for (const part of this.asked) part.cancel(ErrorCode.TransientNotAccepted);
    await Promise.all(waiting);
    return first;
  }

  /** What a shard holds, or the code that refuses the whole fetch. */
  private async probe(
    targets: readonly FetchTarget[],
    waitMicros: number,
    minCount: number,
    maxBytes: number,
  ): Promise<FetchProbe | number> {
    const answer = await this.ask({
      ...this.command,
      targets,
      isProbe: true,
      autoCommit: false,
      wait: { ...this.command.wait, waitMicros, minCount, maxBytes: Math.min(maxBytes, this.maxBytes) },
    });
    if (answer.kind === "denied") return answer.code;
    letGo(answer.memory);
    const [reply] = answer.pieces;
    return reply === undefined ? nothing : readFetchProbe(reply);
  }

  // Reading.

  private async serve(): Promise<void> {
    const heads: Uint8Array[] = [];
    const records: Uint8Array[] = [];
    const memory: Memory[] = [];
    let [sections, messages, bytes] = [0, 0, 0];
    let hasStored = false;
    for (const targets of runsOf(this.command.targets, this.deps.ownerOf)) {
      const answer = await this.ask({
        ...this.command,
        targets,
        count: Math.max(0, this.command.count - messages),
        spentBytes: bytes,
        wait: {
          ...this.command.wait,
          waitMicros: 0,
          maxBytes: this.maxBytes,
          requestTimeoutMicros: this.command.wait.requestTimeoutMicros - this.elapsedMicros,
        },
      });
      if (answer.kind === "denied") {
        if (this.cancelledWith !== 0 && hasStored) break;
        if (answer.code !== ErrorCode.TransientNotAccepted || this.cancelledWith !== 0) {
          letGo(memory);
          this.request.deny(answer.code);
          return;
        }
        for (const { partitionId } of targets) heads.push(refusedSection(partitionId, answer.code));
        sections += targets.length;
        continue;
      }
      const part = sectionsOf(answer.pieces);
      heads.push(part.heads);
      records.push(...part.records);
      memory.push(...answer.memory);
      sections += part.count;
      messages += part.messages;
      bytes += part.bytes;
      hasStored ||= this.command.autoCommit && part.messages > 0;
      // The time is up where a shard gave less than all of it, and a fetch that was cancelled goes no further.
      if (part.count < targets.length || this.cancelledWith !== 0) break;
    }
    if (this.cancelledWith !== 0 && !hasStored) {
      letGo(memory);
      this.request.deny(this.cancelledWith);
      return;
    }
    const count = new Uint8Array(4);
    new DataView(count.buffer).setUint32(0, sections, true);
    this.request.ok([count, ...heads, ...records], { memory });
  }

  private async ask(command: FetchCommand): Promise<PartAnswer> {
    const part = new PartRequest(this.request);
    this.asked.add(part);
    if (this.cancelledWith !== 0) part.cancel(this.cancelledWith);
    this.deps.fetch(part, command);
    const answer = await part.answer;
    this.asked.delete(part);
    return answer;
  }
}

const nothing: FetchProbe = { messages: 0, bytes: 0, isReady: false };

function groupedBy(
  targets: readonly FetchTarget[],
  ownerOf: (target: FetchTarget) => number,
): Map<number, FetchTarget[]> {
  const groups = new Map<number, FetchTarget[]>();
  for (const target of targets) {
    const owner = ownerOf(target);
    const group = groups.get(owner);
    if (group === undefined) groups.set(owner, [target]);
    else group.push(target);
  }
  return groups;
}

/** Neighbouring targets of one owner are read together. */
function runsOf(targets: readonly FetchTarget[], ownerOf: (target: FetchTarget) => number): FetchTarget[][] {
  const runs: FetchTarget[][] = [];
  let last: number | undefined;
  for (const target of targets) {
    const owner = ownerOf(target);
    if (owner === last) runs.at(-1)?.push(target);
    else runs.push([target]);
    last = owner;
  }
  return runs;
}

/** The sections of a fetch reply and what they hold. Its head lies whole in the first piece. */
function sectionsOf(pieces: readonly Uint8Array[]): {
  readonly heads: Uint8Array;
  readonly records: readonly Uint8Array[];
  readonly count: number;
  readonly messages: number;
  readonly bytes: number;
} {
  const [first = new Uint8Array(4), ...rest] = pieces;
  const view = new DataView(first.buffer, first.byteOffset, first.byteLength);
  const count = view.getUint32(0, true);
  const end = 4 + count * FETCH_SECTION_SIZE;
  let [messages, bytes] = [0, 0];
  for (let at = 4; at < end; at += FETCH_SECTION_SIZE) {
    messages += view.getUint32(at + MESSAGES_AT, true);
    bytes += view.getUint32(at + RECORDS_AT, true);
  }
  const records = first.length > end ? [first.subarray(end), ...rest] : rest;
  return { heads: first.subarray(4, end), records, count, messages, bytes };
}

function refusedSection(partitionId: number, code: number): Uint8Array {
  const section = new Uint8Array(FETCH_SECTION_SIZE);
  const view = new DataView(section.buffer);
  view.setUint32(0, partitionId, true);
  view.setUint32(STATUS_AT, code, true);
  return section;
}

const sumOf = (probes: readonly FetchProbe[], figure: (probe: FetchProbe) => number): number =>
  probes.reduce((sum, probe) => sum + figure(probe), 0);
