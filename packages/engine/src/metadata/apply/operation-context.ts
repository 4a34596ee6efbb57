import { type EncodedChange, isGranted, metadataGroupInfo, type Right } from "@iggy/protocol";
import type { User } from "../state/accounts.js";
import type { MetadataConfig } from "../config.js";
import type { MetadataEffect } from "../effects.js";
import type { MetadataPrepare } from "../prepare.js";
import type { MetadataState } from "../state/state.js";

/** One operation while it is applied: who acts, when, and what it brought about so far. */
export class OperationContext {
  readonly state: MetadataState;
  readonly config: MetadataConfig;
  readonly prepare: MetadataPrepare;
  /** Undefined when the server acts. */
  readonly actor: User | undefined;
  readonly effects: MetadataEffect[] = [];
  /** Whether partitions were created or deleted. */
  partitionsChanged = false;
  /** Whether an owner of some partition was decided. */
  ownershipChanged = false;
  private ordinal = 0;

  constructor(state: MetadataState, config: MetadataConfig, prepare: MetadataPrepare, actor: User | undefined) {
    this.state = state;
    this.config = config;
    this.prepare = prepare;
    this.actor = actor;
  }

  get op(): number {
    return this.prepare.op;
  }

  get nowMicros(): number {
    return this.prepare.timestampMicros;
  }

  /** The server and root may do everything. */
  mayDo(right: Right, streamId?: number, topicId?: number): boolean {
    const { actor } = this;
    return actor === undefined || actor.isRoot || isGranted(actor.permissions, right, streamId, topicId);
  }

  emit(effect: MetadataEffect): void {
    this.effects.push(effect);
  }

  /** Changes of an operation are numbered in the order they are recorded: its own first, then what follows from it. */
  record({ group, kind, body }: EncodedChange): void {
    this.state.changeLog.append(metadataGroupInfo(group)?.retention ?? "resource", {
      op: this.op,
      ordinal: this.ordinal++,
      checksum: this.prepare.checksum,
      timestampMicros: this.nowMicros,
      actorUserId: this.actor?.id ?? null,
      group,
      kind,
      body,
    });
  }
}
