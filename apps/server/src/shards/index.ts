export { openShards, type OpenShardsDeps } from "./open-shards.js";
export type { Shards } from "./shards.js";
