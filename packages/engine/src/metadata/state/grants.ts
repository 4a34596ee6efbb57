import { ErrorCode, type Permissions } from "@iggy/protocol";
import { refuse, type Refusal } from "../refusal.js";
import type { MetadataState } from "./state.js";

/** Grants name resources by id, and ids are used again: a grant on nothing could become one on something later. */
export function missingGrantTarget(state: MetadataState, permissions: Permissions): Refusal | undefined {
  for (const { streamId, topics } of permissions.streams) {
    const stream = state.streams.get(streamId);
    if (stream === undefined) return refuse(ErrorCode.StreamIdNotFound);
    for (const { topicId } of topics) {
      if (stream.topics.get(topicId) === undefined) return refuse(ErrorCode.TopicIdNotFound);
    }
  }
  return undefined;
}

/** The permissions without any grant on a stream; the same object when there was none. */
export function withoutStream(permissions: Permissions, streamId: number): Permissions {
  const streams = permissions.streams.filter((entry) => entry.streamId !== streamId);
  return streams.length === permissions.streams.length ? permissions : { ...permissions, streams };
}

/** The permissions without any grant on a topic; the same object when there was none. */
export function withoutTopic(permissions: Permissions, streamId: number, topicId: number): Permissions {
  const isGranted = permissions.streams.some(
    (entry) => entry.streamId === streamId && entry.topics.some((topic) => topic.topicId === topicId),
  );
  if (!isGranted) return permissions;
  const streams = permissions.streams.map((entry) =>
    entry.streamId === streamId
      ? { ...entry, topics: entry.topics.filter((topic) => topic.topicId !== topicId) }
      : entry,
  );
  return { ...permissions, streams };
}
