import { empty, name, optional, struct, u8 } from "../../codec/index.js";
import { command } from "../../commands/command.js";
import { identifier, optionsToEnd } from "../../primitives/index.js";
import { presentIfOne } from "../../primitives/presence.js";
import { LegacyOperation } from "../operations.js";

/**
 * The three updates that UpdateResource (16) replaced. Each changes what it names and leaves the rest.
 *
 *   204  stream_id · name · options to end
 *   304  stream_id · topic_id · name · options to end
 *    35  user_id · [has u8][username name] · [has u8][status u8] · options to end
 *
 * Replies are a result section and nothing else.
 */
export const updateStream = command({
  code: 204,
  name: "stream.update",
  title: "UpdateStream",
  operation: LegacyOperation.UpdateStream,
  request: struct("UpdateStream", { streamId: identifier, name, options: optionsToEnd }),
  response: empty,
});

export const updateTopic = command({
  code: 304,
  name: "topic.update",
  title: "UpdateTopic",
  operation: LegacyOperation.UpdateTopic,
  request: struct("UpdateTopic", { streamId: identifier, topicId: identifier, name, options: optionsToEnd }),
  response: empty,
});

export const updateUser = command({
  code: 35,
  name: "user.update",
  title: "UpdateUser",
  operation: LegacyOperation.UpdateUser,
  request: struct("UpdateUser", {
    userId: identifier,
    username: optional(presentIfOne, name),
    status: optional(presentIfOne, u8),
    options: optionsToEnd,
  }),
  response: empty,
});
