import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { clusterMetadata } from "./records/cluster.js";

/**
 * Roster of the cluster as this client can reach it.
 *
 *   request  empty
 *   reply    cluster metadata
 */
export const getClusterMetadata = command({
  code: 12,
  name: "cluster.metadata",
  title: "GetClusterMetadata",
  operation: Operation.NonReplicated,
  request: empty,
  response: clusterMetadata,
});
export type GetClusterMetadataRequest = RequestOf<typeof getClusterMetadata>;
export type ClusterMetadata = NonNullable<ResponseOf<typeof getClusterMetadata>>;
