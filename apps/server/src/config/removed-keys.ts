/** A key of an earlier server that must not be ignored silently, and where its meaning went. */
interface RemovedKey {
  readonly path: string;
  readonly advice: string;
}

const TOPIC_OPTION = "removed; it is an option of each topic now";
const moved = (path: string, to: string): RemovedKey => ({ path, advice: `removed; it moved to \`${to}\`` });
const gone = (path: string, advice = "removed; nothing takes its place"): RemovedKey => ({ path, advice });

const REMOVED_KEYS: readonly RemovedKey[] = [
  moved("system.path", "path"),
  moved("system.runtime", "runtime"),
  moved("system.logging", "logging"),
  moved("system.encryption", "encryption"),
  moved("system.partition", "partition"),
  moved("system.sharding", "sharding"),
  moved("system.memory_pool", "memory_pool"),
  gone("system.topic", TOPIC_OPTION),
  gone("system.segment", TOPIC_OPTION),
  gone("system"),
  gone("stream", "removed; streams carry options of their own now"),
  gone("topic", TOPIC_OPTION),
  gone("segment", TOPIC_OPTION),
  gone("extra"),
  gone("message_deduplication", "removed; retries and idempotent producers are protected without it"),
  gone("recovery"),
  gone("state"),
  gone("compression"),
  gone("backup"),
  gone("partition.path"),
  gone("partition.consumer_offset_enforce_fsync", "removed; use the topic option `consumer_offset_durability`"),
  gone("partition.enforce_fsync", "removed; use the topic option `durability`"),
  gone("partition.messages_required_to_save", TOPIC_OPTION),
  gone("partition.size_of_messages_required_to_save", TOPIC_OPTION),
  gone("enforce_fsync", "removed; use the topic option `durability`"),
  gone("messages_required_to_save", TOPIC_OPTION),
  gone("size_of_messages_required_to_save", TOPIC_OPTION),
  gone("archive_expired"),
  gone("recreate_missing_state"),
  gone("data_maintenance.archiver"),
  gone("data_maintenance.state"),
  gone("consumer_group.session_timeout", "removed; a membership lives as long as its session (`heartbeat.interval`)"),
];

/** What became of a key, when it is one that was removed. */
export function removedKeyAdvice(path: string): string | undefined {
  return longestMatch((removed) => path === removed.path || path.startsWith(`${removed.path}.`));
}

/** The same for an environment variable. */
export function removedVariableAdvice(variable: string): string | undefined {
  return longestMatch((removed) => {
    const former = `IGGY_${removed.path.toUpperCase().replaceAll(".", "_")}`;
    return variable === former || variable.startsWith(`${former}_`);
  });
}

/** Whether keys below the path were removed one by one, so that each is worth its own advice. */
export function hasRemovedKeysBelow(path: string): boolean {
  return REMOVED_KEYS.some((removed) => removed.path.startsWith(`${path}.`));
}

function longestMatch(matches: (removed: RemovedKey) => boolean): string | undefined {
  let best: RemovedKey | undefined;
  for (const removed of REMOVED_KEYS) {
    if (matches(removed) && (best === undefined || removed.path.length > best.path.length)) best = removed;
  }
  return best?.advice;
}
