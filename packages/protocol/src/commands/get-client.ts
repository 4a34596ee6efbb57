import { struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { clientDetails } from "./records/client.js";

/**
 * One connection of the answering node.
 *
 *   request  client_id u32
 *   reply    client details, empty when unknown
 */
export const getClient = command({
  code: 21,
  name: "client.get",
  title: "GetClient",
  operation: Operation.NonReplicated,
  request: struct("GetClient", { clientId: u32 }),
  response: clientDetails,
  absent: true,
});
export type GetClientRequest = RequestOf<typeof getClient>;
