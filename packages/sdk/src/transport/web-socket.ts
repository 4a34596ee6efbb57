import { ErrorCode } from "@iggy/protocol";
import { errorOf, FeatureUnavailableError } from "../errors/index.js";
import { endpointText, type Connection, type ConnectionHandlers, type Endpoint, type Transport } from "./transport.js";
import { farewell, type WebSocketOptions } from "./web-socket-options.js";

/** Bytes that may wait in the platform before senders wait; it reports no room by itself. */
const highWaterBytes = 1_048_576;
const roomCheckMs = 10;

/** The part of the platform's WebSocket that is used here. */
interface PlatformSocket {
  binaryType: string;
  readonly bufferedAmount: number;
  readonly readyState: number;
  send(bytes: Uint8Array): void;
  close(code: number, reason: string): void;
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
}

type PlatformWebSocket = new (url: string, protocols: string[]) => PlatformSocket;

const isWebSocket = (value: unknown): value is PlatformWebSocket => typeof value === "function";

const stateOpen = 1;

/** WebSocket as browsers and other web platforms have it. They check certificates by their own rules. */
export function webSocketTransport(options: WebSocketOptions): Transport {
  return {
    protocol: "ws",
    connect: (endpoint, handlers, signal) => open(endpoint, options, handlers, signal),
  };
}

function open(
  endpoint: Endpoint,
  { secure, path = "/", protocols = [] }: WebSocketOptions,
  handlers: ConnectionHandlers,
  signal: AbortSignal,
): Promise<Connection> {
  const WebSocket: unknown = Reflect.get(globalThis, "WebSocket");
  if (!isWebSocket(WebSocket)) {
    return Promise.reject(new FeatureUnavailableError("this runtime has no WebSocket"));
  }
  const url = `${secure ? "wss" : "ws"}://${endpointText(endpoint)}${path}`;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, [...protocols]);
    socket.binaryType = "arraybuffer";
    const fail = (why: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      socket.onopen = socket.onclose = null;
      socket.close(farewell.code, farewell.reason);
      reject(
        why instanceof Error
          ? why
          : errorOf(ErrorCode.CannotEstablishConnection, `no connection to ${url}: ${String(why)}`),
      );
    };
    const onAbort = (): void => fail(signal.reason);
    socket.onclose = ({ code }) => fail(`the platform tells no more than close code ${String(code)}`);
    socket.onopen = () => {
      signal.removeEventListener("abort", onAbort);
      resolve(connectionOf(socket, url, handlers));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

function connectionOf(socket: PlatformSocket, url: string, handlers: ConnectionHandlers): Connection {
  let closing = false;
  let isWatching = false;
  const encoder = new TextEncoder();
  const watchRoom = (): void => {
    if (socket.readyState !== stateOpen) return;
    if (socket.bufferedAmount > highWaterBytes) {
      setTimeout(watchRoom, roomCheckMs);
      return;
    }
    isWatching = false;
    handlers.onDrain();
  };
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) handlers.onData(new Uint8Array(data));
    else if (typeof data === "string") handlers.onData(encoder.encode(data));
  };
  socket.onclose = ({ code, reason }) => {
    const why = reason === "" ? "" : ` ${reason}`;
    handlers.onClose(
      closing
        ? undefined
        : errorOf(ErrorCode.Disconnected, `connection to ${url} lost: closed with code ${String(code)}${why}`),
    );
  };
  return {
    send(bytes) {
      if (closing || socket.readyState !== stateOpen) return true;
      socket.send(bytes);
      if (socket.bufferedAmount <= highWaterBytes) return true;
      if (!isWatching) {
        isWatching = true;
        setTimeout(watchRoom, roomCheckMs);
      }
      return false;
    },
    close() {
      if (closing) return;
      closing = true;
      socket.close(farewell.code, farewell.reason);
    },
  };
}
