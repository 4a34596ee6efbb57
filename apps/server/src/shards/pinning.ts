import { type Addon, pinThread } from "@iggy/uring";

/** The core of a shard. */
export interface Pin {
  readonly shard: number;
  readonly core: number;
}

/** Keeps this thread on the core of its shard where the system lets it. Gives how to undo that. */
export function pinShard(
  { shard, core }: Pin,
  addon: Addon,
  log: { warn(fields: object, message: string): void },
): () => void {
  try {
    return pinThread(addon, core);
  } catch (error) {
    log.warn({ shard, core, err: error }, "a shard is not pinned to its core: the system refuses it");
    return () => undefined;
  }
}
