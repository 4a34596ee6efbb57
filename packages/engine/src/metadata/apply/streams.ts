import {
  type KeyEnvelope,
  createStream,
  deleteStream,
  encodeResponse,
  ErrorCode,
  fitsOptionBlock,
  rewrapStreamKeys,
  updateStreamResolved,
} from "@iggy/protocol";
import { permissionsUpdated, streamCreated, streamDeleted, streamUpdated } from "../changes/records.js";
import { withoutStream } from "../state/grants.js";
import { handler, nothing } from "./handler.js";
import { findStream } from "../state/lookups.js";
import type { OperationContext } from "./operation-context.js";
import { noStats } from "../replies/partition-stats.js";
import { refuse, Refusal } from "../refusal.js";
import { streamRecord } from "../replies/records.js";
import { ResourceOptions } from "../state/resource-options.js";
import { rewrappedKeyOption } from "../state/stream-encryption.js";
import { Stream } from "../state/resources.js";
import { dropTopic } from "./topics.js";

export const applyCreateStream = handler(createStream.request, (context, request) => {
  const { state } = context;
  if (!context.mayDo("createStream")) return refuse(ErrorCode.Unauthorized);
  if (state.streamsByName.has(request.name)) return refuse(ErrorCode.StreamNameAlreadyExists);
  const id = state.streams.nextId;
  if (id === undefined) return refuse(ErrorCode.TooManyStreams);
  const stream = new Stream({
    id,
    createdOp: context.op,
    createdAtMicros: context.nowMicros,
    name: request.name,
    options: ResourceOptions.of({ explicit: request.options, derived: [] }),
  });
  state.addStream(stream);
  context.record(streamCreated(stream));
  return encodeResponse(createStream, streamRecord(stream, noStats));
});

export const applyDeleteStream = handler(deleteStream.request, (context, request) => {
  const stream = findStream(context.state, request.streamId);
  if (stream instanceof Refusal) return stream;
  if (!context.mayDo("manageStream", stream.id)) return refuse(ErrorCode.Unauthorized);
  context.record(streamDeleted(stream));
  for (const topic of [...stream.topics.values()]) dropTopic(context, topic);
  context.state.removeStream(stream);
  revokeGrants(context, stream.id);
  return nothing;
});

export const applyUpdateStream = handler(updateStreamResolved, (context, request) => {
  const { state } = context;
  const stream = findStream(state, request.streamId);
  if (stream instanceof Refusal) return stream;
  if (!context.mayDo("manageStream", stream.id)) return refuse(ErrorCode.Unauthorized);
  const holder = request.name === null ? undefined : state.streamsByName.get(request.name);
  if (holder !== undefined && holder !== stream) return refuse(ErrorCode.StreamNameAlreadyExists);
  const options = stream.options.patched({ explicit: request.explicitOptions, derived: request.derivedOptions });
  if (!fitsOptionBlock(options.all)) return refuse(ErrorCode.OptionsBlockTooLarge);
  if (request.name !== null) state.renameStream(stream, request.name);
  stream.options = options;
  context.record(streamUpdated(stream));
  return nothing;
});

/**
 * New wrap sets of stream keys. An entry whose stream was replaced meanwhile, or has another key, is passed over. Whether
 * a set opens is for who holds the keys: every replica stores the same bytes.
 */
export const applyRewrapStreamKeys = handler(rewrapStreamKeys, (context, { entries }) => {
  if (context.actor !== undefined) return refuse(ErrorCode.InvalidCommand);
  for (const { streamId, createdOp, keyFingerprint, wrapSet } of entries) {
    const stream = context.state.streams.get(streamId);
    if (stream === undefined || BigInt(stream.createdOp) !== createdOp) continue;
    const { encryption } = stream;
    if (encryption.kind !== "wrapped" || !encryption.envelopes.every(isOfKey(keyFingerprint))) continue;
    const option = rewrappedKeyOption(wrapSet);
    const isExplicit = stream.options.explicit.some(({ key }) => key === option.key);
    stream.options = stream.options.patched(
      isExplicit ? { explicit: [option], derived: [] } : { explicit: [], derived: [option] },
    );
    context.record(streamUpdated(stream));
  }
  return nothing;
});

const isOfKey =
  (fingerprint: Uint8Array) =>
  ({ keyFingerprint }: KeyEnvelope): boolean =>
    keyFingerprint.every((byte, at) => byte === fingerprint[at]);

function revokeGrants(context: OperationContext, streamId: number): void {
  for (const user of context.state.users.values()) {
    const left = user.permissions === null ? null : withoutStream(user.permissions, streamId);
    if (left === user.permissions) continue;
    user.permissions = left;
    context.record(permissionsUpdated(user, "resource_deleted"));
  }
}
