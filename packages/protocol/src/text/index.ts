export * from "./base64.js";
export * from "./byte-size.js";
export { formatDuration, parseDuration } from "./duration.js";
export * from "./expiry.js";
export * from "./identifier-json.js";
export { parseU64, U64_MAX } from "./number-text.js";
export * from "./timestamp.js";
export { type ConnectionOptions, type ConnectionTransport, connectionOptionKeys } from "./connection-options.js";
export { type ConnectionString, type Credentials, parseConnectionString } from "./connection-string.js";
