import { encodeResponse, ErrorCode, getStream, getStreams } from "@iggy/protocol";
import { refuse } from "../refusal.js";
import { streamDetails, streamRecord } from "../replies/records.js";
import { read } from "./read.js";

export const readStream = read(getStream, (context, request) => {
  const stream = context.state.stream(request.streamId);
  if (stream === undefined) return encodeResponse(getStream, null);
  if (!context.mayDo("readStream", stream.id)) return refuse(ErrorCode.Unauthorized);
  if (stream.encryption.kind === "unreadable") return refuse(ErrorCode.UnsupportedCriticalOption);
  return encodeResponse(getStream, streamDetails(stream, context.stats));
});

export const readStreams = read(getStreams, (context) => {
  if (!context.mayDo("listStreams")) return refuse(ErrorCode.Unauthorized);
  const streams = [...context.state.streams.values()].map((stream) => streamRecord(stream, context.stats));
  return encodeResponse(getStreams, { streams });
});
