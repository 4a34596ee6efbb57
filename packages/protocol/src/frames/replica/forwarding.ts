import { codeOf, exactly, list, struct, u128, u16, u32, u64, u8, type ValueOf } from "../../codec/index.js";
import { FrameCommand, limits, Operation } from "../../enums/index.js";
import { after, noBody, replicaFrame } from "./layout.js";
import { operation } from "./ordering.js";

/** `user_created_at` u64 and a verifier of 32 bytes: the body of a Register that a primary logs. */
const FORWARD_REGISTER_BODY_SIZE = 40;
const REVOCATION_BODY_SIZE = 80;

/** How a forwarded registration ended. */
export const ForwardRegisterOutcome = {
  Ok: 0,
  NotPrimary: 1,
  /** Read, never sent. */
  NotCaughtUp: 2,
  PipelineFull: 3,
  InProgress: 4,
  Canceled: 5,
  ClientIdOwnedByAnotherUser: 6,
  Unauthenticated: 7,
} as const;
export type ForwardRegisterOutcomeName = keyof typeof ForwardRegisterOutcome;

/** How a forwarded logout ended. */
export const ForwardLogoutOutcome = {
  Ok: 0,
  NotPrimary: 1,
  PipelineFull: 2,
  InProgress: 3,
  Canceled: 4,
  RequestTooOld: 5,
  OperationMismatch: 6,
} as const;
export type ForwardLogoutOutcomeName = keyof typeof ForwardLogoutOutcome;

/** A backup passes a login on: 128 client u128 · 144 nonce u128 · 160 user_id u32; the body is that of a logged Register. */
export const forwardRegister = replicaFrame({
  name: "ForwardRegister",
  command: FrameCommand.ForwardRegister,
  fields: struct("ForwardRegister", { client: u128, nonce: u128, userId: u32 }),
  body: (length) => length === FORWARD_REGISTER_BODY_SIZE,
  fault: ({ client, nonce }) => missing({ client, nonce }),
});

/**
 *   128 nonce u128 · 144 client u128 · 160 epoch u64 · 168 watermark u64, both 0 unless ok · 255 outcome u8
 */
export const forwardRegisterResult = replicaFrame({
  name: "ForwardRegisterResult",
  command: FrameCommand.ForwardRegisterResult,
  fields: struct("ForwardRegisterResult", {
    nonce: u128,
    client: u128,
    epoch: u64,
    watermark: u64,
    outcome: after(79, codeOf("outcome", u8, ForwardRegisterOutcome)),
  }),
  body: noBody,
  fault: ({ nonce, client, epoch, watermark, outcome }) =>
    missing({ nonce, client }) ??
    (outcome === "Ok" || (epoch | watermark) === 0n ? undefined : "a refusal has a session"),
});

/** A backup passes a logout on: 128 client u128 · 144 nonce u128 · 160 session u64 · 168 request u64 */
export const forwardLogout = replicaFrame({
  name: "ForwardLogout",
  command: FrameCommand.ForwardLogout,
  fields: struct("ForwardLogout", { client: u128, nonce: u128, session: u64, request: u64 }),
  body: noBody,
  fault: ({ client, nonce, session, request }) => missing({ client, nonce, session, request }),
});

/** 128 nonce u128 · 144 client u128 · 160 commit u64, 0 unless ok · 255 outcome u8 */
export const forwardLogoutResult = replicaFrame({
  name: "ForwardLogoutResult",
  command: FrameCommand.ForwardLogoutResult,
  fields: struct("ForwardLogoutResult", {
    nonce: u128,
    client: u128,
    commit: u64,
    outcome: after(87, codeOf("outcome", u8, ForwardLogoutOutcome)),
  }),
  body: noBody,
  fault: ({ nonce, client, commit, outcome }) =>
    missing({ nonce, client }) ?? (outcome === "Ok" || commit === 0n ? undefined : "a refusal has a commit"),
});

const missing = (fields: Readonly<Record<string, bigint>>): string | undefined => {
  const name = Object.keys(fields).find((key) => fields[key] === 0n);
  return name === undefined ? undefined : `${name} is 0`;
};

/**
 * A member tells the metadata primary that a step of a lifecycle is done; nothing answers.
 *
 *   128 reporter u16, the shard that built it, 0 for a revocation · 130 operation u8
 *
 * The body of a CompleteLifecycle is a `lifecycleCompletion`, that of a CompleteConsumerGroupRevocation the logged body.
 */
export const forwardCompletion = replicaFrame({
  name: "ForwardCompletion",
  command: FrameCommand.ForwardCompletion,
  fields: struct("ForwardCompletion", { reporter: u16, operation }),
  body: (length) => length === REVOCATION_BODY_SIZE || isLifecycleSize(length),
  fault: (header) => {
    const length = header.size - 256;
    if (header.operation === Operation.CompleteLifecycle) {
      return isLifecycleSize(length) ? undefined : "the body is no lifecycle completion";
    }
    if (header.operation !== Operation.CompleteConsumerGroupRevocation) return "the operation completes nothing";
    if (header.reporter !== 0) return "a revocation has no reporter";
    return length === REVOCATION_BODY_SIZE ? undefined : "the body is no revocation";
  },
});

function isLifecycleSize(length: number): boolean {
  const records = (length - limits.lifecycleBatchHeaderSize) / limits.lifecycleCompletionSize;
  return Number.isInteger(records) && records >= 1 && records <= limits.lifecycleCompletions;
}

/**
 * Partitions whose lifecycle operation is committed.
 *
 *    0 metadata_op u64 · 8 stream_id u32
 *   12 [u32 count, 1 to 1024]([topic_id u32][partition_id u32][partition_op u64]) × count
 */
export const lifecycleCompletion = exactly(
  struct("lifecycle completion", {
    metadataOp: u64,
    streamId: u32,
    partitions: list(u32, struct("completed partition", { topicId: u32, partitionId: u32, partitionOp: u64 }), {
      min: 1,
      max: limits.lifecycleCompletions,
    }),
  }),
);
export type LifecycleCompletion = ValueOf<typeof lifecycleCompletion>;
