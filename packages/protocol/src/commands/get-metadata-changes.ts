import { Operation } from "../enums/index.js";
import { metadataChangesPage, metadataChangesRequest } from "../metadata-changes/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Committed metadata changes behind a position, or a page of the current state.
 *
 *   request  metadata changes request
 *   reply    metadata changes page
 */
export const getMetadataChanges = command({
  code: 17,
  name: "metadata.changes",
  title: "GetMetadataChanges",
  operation: Operation.NonReplicated,
  request: metadataChangesRequest,
  exact: true,
  response: metadataChangesPage,
});
export type GetMetadataChangesRequest = RequestOf<typeof getMetadataChanges>;
