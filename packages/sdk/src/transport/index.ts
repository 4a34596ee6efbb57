export type { QuicConnection, QuicDial, QuicHandlers, QuicProvider } from "./quic-provider.js";
export {
  endpointText,
  type Connection,
  type ConnectionHandlers,
  type Endpoint,
  type Transport,
  type TransportProtocol,
} from "./transport.js";
