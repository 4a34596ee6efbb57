import { empty, listToEnd, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { client } from "./records/client.js";

/**
 * The connections of the answering node.
 *
 *   request  empty
 *   reply    client records to the end
 */
export const getClients = command({
  code: 22,
  name: "client.list",
  title: "GetClients",
  operation: Operation.NonReplicated,
  request: empty,
  response: struct("Clients", { clients: listToEnd(client) }),
});
export type GetClientsRequest = RequestOf<typeof getClients>;
export type Clients = NonNullable<ResponseOf<typeof getClients>>;
