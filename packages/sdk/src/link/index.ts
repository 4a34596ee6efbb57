export { FrameBuffers } from "./frame-buffers.js";
export { type Attempt, Link, type LinkSettings, maxPendingRequests } from "./link.js";
export { RequestFrame, type RequestIdentity } from "./request-frame.js";
