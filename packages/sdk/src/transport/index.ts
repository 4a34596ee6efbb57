export {
  endpointText,
  type Connection,
  type ConnectionHandlers,
  type Endpoint,
  type Transport,
  type TransportProtocol,
} from "./transport.js";
