export { WebSocketCloseCode, WebSocketOpcode } from "./codes.js";
export { WebSocketError } from "./websocket-error.js";
export { maskInto, unmask } from "./mask.js";
export { readWebSocketClose, writeWebSocketClose } from "./close.js";
export { webSocketHeaderSize, writeWebSocketHeader } from "./header.js";
export { type MaskPolicy, WebSocketReader, type WebSocketEvents, type WebSocketLimits } from "./reader.js";
