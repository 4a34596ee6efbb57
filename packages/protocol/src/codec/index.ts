export * from "./codec.js";
export * from "./compounds.js";
export * from "./leaves.js";
export { Reader } from "./reader.js";
export type { Sample } from "./sample.js";
export { decodeUtf8, encodeUtf8, utf8Length } from "./text.js";
export { WireError, type WireErrorKind } from "./wire-error.js";
export { Writer } from "./writer.js";
