import { createServer, type RequestListener, type Server } from "node:http";
import { createSecureServer } from "node:http2";
import type { TlsMaterial } from "../../net/tls-material.js";

/** Streams that one connection of HTTP/2 may have open. */
const STREAMS_MAX = 256;

/**
 * The socket side of the API. Over TLS it speaks HTTP/2 and HTTP/1.1, as the client chooses. Node's requests and answers of
 * HTTP/2 have the interface of those of HTTP/1, though not their type.
 */
export function nodeServer(handler: RequestListener, tls: TlsMaterial | undefined, handshakeMillis: number): Server {
  if (tls === undefined) return createServer(handler);
  const options = {
    ...tls,
    allowHTTP1: true,
    handshakeTimeout: handshakeMillis,
    settings: { maxConcurrentStreams: STREAMS_MAX },
  };
  return createSecureServer(options, handler as never) as unknown as Server;
}
