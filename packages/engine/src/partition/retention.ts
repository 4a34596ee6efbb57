/** Segments that one cleaner pass of a partition deletes at most; a pass that leaves more runs again at once. */
export const SEGMENTS_PER_PASS = 16;

/** A segment that takes no more messages. */
export interface RetainedSegment {
  readonly endOffset: number;
  readonly sizeBytes: number;
  /** Append time of its newest batch, 0 when unknown. */
  readonly newestTimestampMicros: number;
}

export interface RetentionRules {
  readonly nowMicros: number;
  /** Undefined = by age never. */
  readonly expiryMicros: number | undefined;
  /** Most bytes in sealed segments; undefined = unlimited. */
  readonly budgetBytes: number | undefined;
  /** Lowest offset that a consumer or group has stored; undefined holds nothing. */
  readonly holdOffset: number | undefined;
}

export interface RetentionPlan {
  /** Delete sealed segments through this offset; undefined = none. */
  readonly throughOffset: number | undefined;
  readonly segments: number;
  /** More segments may go, in another pass. */
  readonly more: boolean;
  /** The hold of a stored offset keeps a segment that the rules would delete. */
  readonly held: boolean;
}

/**
 * Which of the oldest sealed segments go: those whose newest message is expired by the server's append time, and those
 * that exceed the byte budget; never one with messages above the lowest stored offset.
 */
export function planRetention(sealed: readonly RetainedSegment[], rules: RetentionRules): RetentionPlan {
  let sum = 0;
  for (const segment of sealed) sum += segment.sizeBytes;
  let throughOffset: number | undefined;
  let segments = 0;
  let expiredSoFar = true;
  for (const segment of sealed) {
    expiredSoFar = expiredSoFar && isExpired(segment, rules);
    const excess = rules.budgetBytes !== undefined && sum > rules.budgetBytes;
    if (!expiredSoFar && !excess) break;
    if (rules.holdOffset !== undefined && segment.endOffset > rules.holdOffset) {
      return { throughOffset, segments, more: false, held: true };
    }
    if (segments === SEGMENTS_PER_PASS) return { throughOffset, segments, more: true, held: false };
    throughOffset = segment.endOffset;
    segments++;
    sum -= segment.sizeBytes;
  }
  return { throughOffset, segments, more: false, held: false };
}

function isExpired(segment: RetainedSegment, { nowMicros, expiryMicros }: RetentionRules): boolean {
  return (
    expiryMicros !== undefined &&
    segment.newestTimestampMicros !== 0 &&
    segment.newestTimestampMicros + expiryMicros <= nowMicros
  );
}

export interface SizeBudget {
  readonly bytes: number;
  /** The even share was below what one sealed segment takes, and was raised to it. */
  readonly raised: boolean;
}

/** Share of a partition in the size cap of its topic, at least one sealed segment with its overshoot. */
export function sizeBudget(
  maxTopicSizeBytes: number,
  partitionsCount: number,
  segmentSizeBytes: number,
  maxMessageSizeBytes: number,
): SizeBudget {
  const share = Math.floor(maxTopicSizeBytes / Math.max(1, partitionsCount));
  const floor = segmentSizeBytes + maxMessageSizeBytes;
  return share >= floor ? { bytes: share, raised: false } : { bytes: floor, raised: true };
}

/**
 * End offset of the `count`-th oldest sealed segment, stopping below the lowest stored offset; undefined when nothing
 * may be deleted.
 */
export function resolveSegmentCount(
  sealed: readonly RetainedSegment[],
  count: number,
  holdOffset: number | undefined,
): number | undefined {
  let through: number | undefined;
  for (const segment of sealed.slice(0, count)) {
    if (holdOffset !== undefined && segment.endOffset > holdOffset) break;
    through = segment.endOffset;
  }
  return through;
}
