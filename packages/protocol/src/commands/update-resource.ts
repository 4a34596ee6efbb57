import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { updateResourceRequest } from "./records/resource-patch.js";

/**
 * One patch of one resource: sets keys, resets keys, leaves the rest alone.
 *
 *   request  scope   u8 (1 topic, 2 stream, 3 user)
 *            target  the identifiers of the scope: stream and topic, stream, or user
 *            reset   [u8 count][key name × count]
 *            options to end
 *   reply    empty
 */
export const updateResource = command({
  code: 16,
  name: "resource.update",
  title: "UpdateResource",
  operation: Operation.UpdateResource,
  request: updateResourceRequest,
  response: empty,
});
export type UpdateResourceRequest = RequestOf<typeof updateResource>;
