export { type Attempt, Link, type LinkSettings, maxPendingRequests } from "./link.js";
export { requestFrame, type RequestFrame, withBody } from "./request-frame.js";
