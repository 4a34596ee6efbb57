import type { MetadataEffect } from "@iggy/engine";
import type { TopicChange } from "../partitions/index.js";

/** What an operation changed about topics: all that there is to it, or the owners of some groups only. */
export function touchedTopics(effects: readonly MetadataEffect[]): Iterable<TopicChange> {
  const topics = new Map<string, { streamId: number; topicId: number; groupIds?: Set<number> }>();
  for (const effect of effects) {
    if (!("topicId" in effect)) continue;
    const { streamId, topicId } = effect;
    const key = `${streamId}/${topicId}`;
    const known = topics.get(key);
    if (effect.kind !== "owner-decided") topics.set(key, { streamId, topicId });
    else if (known === undefined) topics.set(key, { streamId, topicId, groupIds: new Set([effect.groupId]) });
    else known.groupIds?.add(effect.groupId);
  }
  return topics.values();
}
