import {
  admitUpdate,
  type AdmittedUpdate,
  checkTopicSize,
  type Identifier,
  Operation,
  OptionScope,
  updateResource,
  type UpdateResourceRequest,
  updateStreamResolved,
  updateTopicResolved,
  updateUserResolved,
  UserStatus,
} from "@iggy/protocol";
import { attempt } from "../attempt.js";
import { topicOf } from "../state/lookups.js";
import { Refusal } from "../refusal.js";
import type { ResourceOptions } from "../state/resource-options.js";
import { optionU64Of } from "../state/topic-settings.js";
import type { Resolution } from "./resolution.js";
import { deny, propose, type ResolveContext, resolver } from "./resolver.js";

/** A patch becomes the operation of its resource: values canonical, resets replaced by the defaults of now. */
export const resolveUpdateResource = resolver(updateResource, (context, request) => {
  const { target } = request;
  switch (target.scope) {
    case OptionScope.stream:
      return updateStream(context, request, target.streamId);
    case OptionScope.topic:
      return updateTopic(context, request, target.streamId, target.topicId);
    case OptionScope.user:
      return updateUser(context, request, target.userId);
  }
});

// A target that is missing, or closed to the caller, is for the log to refuse.

type Patch = Pick<UpdateResourceRequest, "options" | "reset">;

const entriesOf = (admitted: AdmittedUpdate) => ({
  explicitOptions: admitted.explicit,
  derivedOptions: admitted.derived,
});

const stored = (options: ResourceOptions | undefined) => options?.all ?? [];

function updateStream({ state }: ResolveContext, patch: Patch, streamId: Identifier): Resolution {
  const stream = state.stream(streamId);
  const admitted = attempt(() => admitUpdate("stream", stored(stream?.options), patch.options, patch.reset));
  if (admitted instanceof Refusal) return deny(admitted.code);
  return propose(Operation.UpdateStreamResolved, updateStreamResolved, {
    streamId,
    name: admitted.columns.name ?? null,
    ...entriesOf(admitted),
  });
}

function updateTopic(context: ResolveContext, patch: Patch, streamId: Identifier, topicId: Identifier): Resolution {
  const stream = context.state.stream(streamId);
  const topic = stream === undefined ? undefined : topicOf(stream, topicId);
  const admitted = attempt(() => admitUpdate("topic", stored(topic?.options), patch.options, patch.reset));
  if (admitted instanceof Refusal) return deny(admitted.code);
  if (topic !== undefined && context.mayDo("manageTopic", topic.stream.id, topic.id)) {
    const entries = topic.options.patched(admitted).all;
    const sized = attempt(() =>
      checkTopicSize(optionU64Of(entries, "max_topic_size"), optionU64Of(entries, "segment_size")),
    );
    if (sized instanceof Refusal) return deny(sized.code);
  }
  return propose(Operation.UpdateTopicResolved, updateTopicResolved, {
    streamId,
    topicId,
    name: admitted.columns.name ?? null,
    ...entriesOf(admitted),
  });
}

function updateUser({ state }: ResolveContext, patch: Patch, userId: Identifier): Resolution {
  const user = state.user(userId);
  const admitted = attempt(() => admitUpdate("user", stored(user?.options), patch.options, patch.reset));
  if (admitted instanceof Refusal) return deny(admitted.code);
  const { username, status } = admitted.columns;
  return propose(Operation.UpdateUserResolved, updateUserResolved, {
    userId,
    username: username ?? null,
    status: status === undefined ? null : status === "active" ? UserStatus.active : UserStatus.inactive,
    ...entriesOf(admitted),
  });
}
