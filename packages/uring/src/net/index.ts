export { addressText } from "./address-text.js";
export { RingListener, type RingListenerOptions } from "./ring-listener.js";
export { RingStream } from "./ring-stream.js";
export type { ReceiveBuffer, StreamHandler } from "./stream-handler.js";
