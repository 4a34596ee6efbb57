import type { ReadResult } from "@iggy/storage";

/** A read that found nothing to give. */
export const emptyRead: ReadResult = {
  pieces: [],
  memory: [],
  bytes: 0,
  messagesCount: 0,
  firstOffset: undefined,
  lastOffset: undefined,
};
