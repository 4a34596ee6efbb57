export { openShards } from "./open-shards.js";
export type { Shards } from "./shards.js";
