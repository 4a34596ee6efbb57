import {
  type MetadataApplied,
  type MetadataMachine,
  type MetadataPrepare,
  type PartitionStats,
  Refusal,
} from "@iggy/engine";
import { type BindSessionRequest, ErrorCode, type Identifier } from "@iggy/protocol";
import type { Directory } from "../dispatch/directory.js";
import type { SessionBinding } from "../net/connection.js";
import type { ClientRequest } from "../request.js";
import { AppliedWaits } from "./applied-waits.js";
import { isSessionLive } from "./live-session.js";

/** How long a request may wait for metadata that its client has seen elsewhere. */
const READ_BUDGET_MILLIS = 3000;

interface TopicPlace {
  readonly id: number;
  readonly stream: { readonly id: number };
}

/** Committed metadata as this shard has applied it: names and rights for the data plane, sessions, and reads. */
export class MetadataView implements Directory {
  readonly machine: MetadataMachine;
  private readonly stats: PartitionStats;
  private readonly waits = new AppliedWaits(READ_BUDGET_MILLIS);

  /** `stats` are the figures of partitions that reads of metadata show. */
  constructor(machine: MetadataMachine, stats: PartitionStats) {
    this.machine = machine;
    this.stats = stats;
  }

  get appliedOp(): number {
    return this.machine.appliedOp;
  }

  /** `carryOut` learns what the operation changed elsewhere, before anybody who waited for it goes on. */
  apply(prepare: MetadataPrepare, carryOut: (applied: MetadataApplied) => void): MetadataApplied {
    const applied = this.machine.apply(prepare);
    carryOut(applied);
    this.waits.applied(prepare.op);
    return applied;
  }

  close(): void {
    this.waits.close();
  }

  // Sessions.

  isSessionLive(client: bigint, session: number): boolean {
    return isSessionLive(this.machine, client, session);
  }

  /** The session that a proof belongs to, or the code that refuses it. */
  sessionToBind({ identity, bindSecret }: BindSessionRequest): SessionBinding | number {
    const found = this.machine.sessionToBind(identity, bindSecret);
    if (found instanceof Refusal) return found.code;
    return { client: found.clientId, session: found.epoch, userId: found.userId };
  }

  // Names and rights.

  whenApplied(op: number): true | Promise<boolean> {
    return op <= this.appliedOp || this.waits.wait(op);
  }

  resolveTopic(streamId: Identifier, topicId: Identifier): ReturnType<MetadataMachine["resolveTopic"]> {
    return this.machine.resolveTopic(streamId, topicId);
  }

  resolveGroup(...target: Parameters<MetadataMachine["resolveGroup"]>): ReturnType<MetadataMachine["resolveGroup"]> {
    return this.machine.resolveGroup(...target);
  }

  mayPoll(userId: number, topic: TopicPlace): boolean {
    return this.machine.mayDo(userId, "poll", topic.stream.id, topic.id);
  }

  maySend(userId: number, topic: TopicPlace): boolean {
    return this.machine.mayDo(userId, "send", topic.stream.id, topic.id);
  }

  // Reads.

  /** A read of metadata; false when the code is none. */
  read(request: ClientRequest, code: number): boolean {
    if (!this.machine.answers(code)) return false;
    const ready = this.whenApplied(request.minimumMetadataOp);
    if (ready === true) this.answerRead(request, code);
    else {
      void ready.then((applied) => {
        if (applied) this.answerRead(request, code);
        else request.deny(ErrorCode.TransientNotAccepted);
      });
    }
    return true;
  }

  private answerRead(request: ClientRequest, code: number): void {
    const { body, userId, client } = request;
    const result = this.machine.read(code, body, userId, client, this.stats);
    if ("payload" in result) request.ok([result.payload]);
    else request.deny(result.status);
  }
}
