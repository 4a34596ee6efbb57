export type { PartitionFigures } from "./figures.js";
export { isBehind, sameHistory } from "./history.js";
export type { Batch } from "./partition-read.js";
export { PartitionReader } from "./partition-reader.js";
export { longestTimerMs, type ReadSettings, readSettings } from "./read-settings.js";
export { type PartitionReaderOptions, readerSettings } from "./reader-options.js";
export { Reading, type ReadingParts } from "./reading.js";
export type { ConsumerEventName, ConsumerEvents, ReaderEventName } from "./reading-events.js";
