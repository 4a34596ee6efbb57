export { openQuicListener, type QuicListenerDeps } from "./open-quic-listener.js";
