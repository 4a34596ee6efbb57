import { type Command, isGranted, type Right } from "@iggy/protocol";
import type { User } from "../state/accounts.js";
import { decodedRequest } from "../attempt.js";
import type { MetadataConfig } from "../config.js";

import type { PartitionStats } from "../replies/partition-stats.js";
import { Refusal } from "../refusal.js";
import type { MetadataState } from "../state/state.js";

/** Who reads, and what the answer is made of beside the state. */
export class ReadContext {
  readonly state: MetadataState;
  readonly config: MetadataConfig;
  readonly user: User;
  /** Client id of the asking session; 0 over transports without one. */
  readonly clientId: bigint;
  readonly stats: PartitionStats;

  constructor(state: MetadataState, config: MetadataConfig, user: User, clientId: bigint, stats: PartitionStats) {
    this.state = state;
    this.config = config;
    this.user = user;
    this.clientId = clientId;
    this.stats = stats;
  }

  mayDo(right: Right, streamId?: number, topicId?: number): boolean {
    return this.user.isRoot || isGranted(this.user.permissions, right, streamId, topicId);
  }
}

/** Answers one read command: the reply payload, or the refusal. It changes nothing. */
export type Read = (context: ReadContext, payload: Uint8Array) => Uint8Array | Refusal;

/** A read of decoded requests; one that does not decode is refused with the code of the fault (3). */
export const read =
  <Req>(command: Command<Req, unknown>, answer: (context: ReadContext, request: Req) => Uint8Array | Refusal): Read =>
  (context, payload) => {
    const request = decodedRequest(command, payload);
    return request instanceof Refusal ? request : answer(context, request);
  };
