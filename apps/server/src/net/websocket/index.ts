export { openWebSocketListener, type WebSocketListenerDeps } from "./open-websocket-listener.js";
