import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { clientDetails } from "./records/client.js";

/**
 * The asking connection.
 *
 *   request  empty
 *   reply    client details
 */
export const getMe = command({
  code: 20,
  name: "me",
  title: "GetMe",
  operation: Operation.NonReplicated,
  request: empty,
  response: clientDetails,
});
export type GetMeRequest = RequestOf<typeof getMe>;
