import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { stats } from "./records/stats.js";

/**
 * Figures of the answering node.
 *
 *   request  empty
 *   reply    stats
 */
export const getStats = command({
  code: 10,
  name: "stats",
  title: "GetStats",
  operation: Operation.NonReplicated,
  request: empty,
  response: stats,
});
export type GetStatsRequest = RequestOf<typeof getStats>;
export type Stats = NonNullable<ResponseOf<typeof getStats>>;
