import { empty } from "../../codec/index.js";
import { command } from "../../commands/command.js";
import { streamTarget, topicTarget } from "../../commands/records/targets.js";
import { LegacyOperation } from "../operations.js";

/** Drops every message of a stream or topic: `stream_id`, or `stream_id · topic_id`. Nothing replaced them. */
export const purgeStream = command({
  code: 205,
  name: "stream.purge",
  title: "PurgeStream",
  operation: LegacyOperation.PurgeStream,
  request: streamTarget,
  response: empty,
});

export const purgeTopic = command({
  code: 305,
  name: "topic.purge",
  title: "PurgeTopic",
  operation: LegacyOperation.PurgeTopic,
  request: topicTarget,
  response: empty,
});
