import { checkMetadataChangesRequest, encodeResponse, ErrorCode, getMetadataChanges } from "@iggy/protocol";
import { attempt } from "../attempt.js";
import { readMetadataChanges } from "../changes/query.js";
import { refuse, Refusal } from "../refusal.js";
import { read } from "./read.js";

export const readChanges = read(getMetadataChanges, (context, request) => {
  const checked = attempt(() => checkMetadataChangesRequest(request));
  if (checked instanceof Refusal) return checked;
  if (!context.mayDo("manageServers")) return refuse(ErrorCode.Unauthorized);
  return encodeResponse(getMetadataChanges, readMetadataChanges(context.state, context.config, request));
});
