import { empty } from "../../codec/index.js";
import { command } from "../../commands/command.js";
import { Operation } from "../../enums/index.js";
import { sessionIdentity } from "../../primitives/index.js";

/**
 * Lends the group identity of a client's main session to a connection that has a session of its own. Became
 * BindSession (15).
 *
 *   request  client_id u128 · session u64 · metadata_watermark u64
 *   reply    empty
 */
export const attachConsumerSession = command({
  code: 14,
  name: "consumer_session.attach",
  title: "AttachConsumerSession",
  operation: Operation.NonReplicated,
  request: sessionIdentity,
  response: empty,
});
