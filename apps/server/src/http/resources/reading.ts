import { object, oneOf, optional } from "../json/index.js";

/** Query of reads of metadata. This node is the primary of its metadata, so both answers are the same. */
export const consistent = object({
  consistency: optional(oneOf("serializable", "linearizable"), "serializable" as const),
});
