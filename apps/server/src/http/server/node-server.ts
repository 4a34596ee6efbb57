import { createServer, type RequestListener, type Server } from "node:http";
import { createSecureServer } from "node:http2";
import type { TlsMaterial } from "../../net/tls-material.js";

/** Streams that one connection of HTTP/2 may have open. */
const STREAMS_MAX = 256;
/** A request that takes longer to arrive is given up; whoever sends 256 MiB needs 18 Mbit/s. */
const RECEIVE_MILLIS = 120_000;
const HEADERS_MILLIS = 30_000;
/** A connection without a request closes after this. */
const IDLE_MILLIS = 75_000;

/** The socket side of the API. Over TLS it speaks HTTP/2 and HTTP/1.1, as the client chooses. */
export function nodeServer(handler: RequestListener, tls: TlsMaterial | undefined, handshakeMillis: number): Server {
  const server = tls === undefined ? createServer(handler) : secureServer(handler, tls, handshakeMillis);
  server.requestTimeout = RECEIVE_MILLIS;
  server.headersTimeout = HEADERS_MILLIS;
  server.keepAliveTimeout = IDLE_MILLIS;
  return server;
}

/**
 * Node's requests and answers of HTTP/2 have the interface of those of HTTP/1, though not their type; and the server has
 * the limits of HTTP/1 for whoever speaks that.
 */
function secureServer(handler: RequestListener, tls: TlsMaterial, handshakeMillis: number): Server {
  const options = {
    ...tls,
    allowHTTP1: true,
    handshakeTimeout: handshakeMillis,
    settings: { maxConcurrentStreams: STREAMS_MAX },
  };
  const server = createSecureServer(options, handler as never);
  // What is under way on the session is still answered.
  server.on("session", (session) => {
    session.setTimeout(IDLE_MILLIS, () => session.close());
  });
  return server as unknown as Server;
}
