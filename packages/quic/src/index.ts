export { type AddonPlace } from "./addon/index.js";
export { type Certificate, type CertificatePem, readCertificate } from "./certificate.js";
export { connectQuic, QuicClient, type QuicClientHandlers, type QuicDial } from "./client.js";
export type { Ending } from "./ending.js";
export { QuicConnection, type QuicConnectionHandler, QuicListener, type QuicListenerOptions } from "./listener.js";
export { probe, type Probe } from "./probe.js";
export { quicProvider } from "./provider.js";
export { QuicError, type QuicErrorCode } from "./quic-error.js";
