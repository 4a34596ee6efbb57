export { InvalidPayloadError } from "./invalid-payload.js";
export { jsonPayload, schemaPayload } from "./json-payload.js";
export { checkedCodec, type PayloadCodec } from "./payload-codec.js";
export type { SchemaInput, SchemaIssue, SchemaOutput, StandardSchema } from "./standard-schema.js";
