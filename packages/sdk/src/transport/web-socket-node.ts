import { randomFillSync } from "node:crypto";
import {
  ErrorCode,
  maskInto,
  readWebSocketClose,
  WebSocketCloseCode,
  WebSocketError,
  webSocketHeaderSize,
  WebSocketOpcode,
  WebSocketReader,
  writeWebSocketClose,
  writeWebSocketHeader,
} from "@iggy/protocol";
import { errorOf, type IggyError, ProtocolFrameError } from "../errors/index.js";
import { asBuffer } from "./socket.js";
import { endpointText, type Connection, type ConnectionHandlers, type Endpoint, type Transport } from "./transport.js";
import { UpgradeRequest } from "./web-socket-handshake.js";
import { farewell, type WebSocketOptions } from "./web-socket-options.js";

export interface NodeWebSocketOptions extends WebSocketOptions {
  /** Largest message, and largest frame, taken. */
  readonly maxMessageSize: number;
}

/** Masking keys are taken from a pool: one call of the generator for 2048 frames. */
const keyPoolBytes = 8192;

/** WebSocket (RFC 6455) over TCP or TLS, as `below` opens it. One binary message in one WebSocket frame per request. */
export function nodeWebSocketTransport(below: Transport, options: NodeWebSocketOptions): Transport {
  return {
    protocol: "ws",
    present: asBuffer,
    async connect(endpoint, handlers, signal) {
      const socket = new WebSocketConnection(endpoint, handlers, options);
      await socket.open(below, signal);
      return socket;
    },
  };
}

type State = "upgrading" | "open" | "closing" | "closed";

class WebSocketConnection implements Connection {
  readonly #endpoint: Endpoint;
  readonly #handlers: ConnectionHandlers;
  readonly #upgrade: UpgradeRequest;
  readonly #reader: WebSocketReader;
  #below: Connection | undefined;
  #state: State = "upgrading";
  /** Settles the upgrade: undefined is its success. */
  #upgraded: (error: Error | undefined) => void = () => undefined;
  /** What came behind the response, until the owner has the connection. */
  #early: Uint8Array[] | undefined;
  #isFull = false;
  /** The last ping while there was no room; earlier ones need no answer then. */
  #owedPong: Uint8Array | undefined;
  readonly #keys = Buffer.alloc(keyPoolBytes);
  #keysUsed = keyPoolBytes;

  constructor(endpoint: Endpoint, handlers: ConnectionHandlers, options: NodeWebSocketOptions) {
    const { path = "/", protocols = [], maxMessageSize } = options;
    this.#endpoint = endpoint;
    this.#handlers = handlers;
    this.#upgrade = new UpgradeRequest(endpoint, path, protocols);
    // Frames are found in the bytes of all messages together, so it does not matter how a server cut them.
    this.#reader = new WebSocketReader(
      {
        messageStart: () => undefined,
        payload: (bytes) => handlers.onData(bytes),
        messageEnd: () => undefined,
        control: (opcode, payload) => this.#control(opcode, payload),
      },
      { maxFrameBytes: maxMessageSize, maxMessageBytes: maxMessageSize },
      "forbidden",
    );
  }

  get remoteHost(): string | undefined {
    return this.#below?.remoteHost;
  }

  async open(transport: Transport, signal: AbortSignal): Promise<void> {
    const below = await transport.connect(
      this.#endpoint,
      {
        onData: (chunk) => this.#onData(chunk),
        onDrain: () => this.#onDrain(),
        onClose: (error) => this.#onClose(error),
      },
      signal,
    );
    this.#below = below;
    try {
      await new Promise<void>((resolve, reject) => {
        const onAbort = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
        this.#upgraded = (error) => {
          signal.removeEventListener("abort", onAbort);
          if (error === undefined) resolve();
          else reject(error);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        if (signal.aborted) onAbort();
        below.send(Buffer.from(this.#upgrade.text, "latin1"));
      });
    } catch (error) {
      this.#state = "closed";
      below.close();
      throw error;
    }
  }

  send(bytes: Uint8Array): boolean {
    if (this.#state !== "open") return true;
    return this.#sendFrame(WebSocketOpcode.binary, bytes);
  }

  close(): void {
    if (this.#state === "closed" || this.#state === "closing") return;
    this.#sendFrame(WebSocketOpcode.close, writeWebSocketClose(farewell.code, farewell.reason));
    this.#state = "closing";
    this.#reader.stop();
    this.#below?.close();
  }

  #onData(chunk: Uint8Array): void {
    if (this.#state === "upgrading") this.#onResponse(chunk);
    else if (this.#early !== undefined) this.#early.push(chunk);
    else this.#read(chunk);
  }

  #onResponse(chunk: Uint8Array): void {
    try {
      const rest = this.#upgrade.take(chunk);
      if (rest === undefined) return;
      this.#state = "open";
      if (rest.length > 0) {
        this.#early = [rest];
        setImmediate(() => this.#readEarly());
      }
      this.#upgraded(undefined);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `no WebSocket to ${endpointText(this.#endpoint)}: ${why}`;
      this.#upgraded(errorOf(ErrorCode.CannotEstablishConnection, message, { cause: error }));
    }
  }

  #readEarly(): void {
    const chunks = this.#early ?? [];
    this.#early = undefined;
    for (const chunk of chunks) this.#read(chunk);
  }

  #read(chunk: Uint8Array): void {
    if (this.#state !== "open") return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof WebSocketError)) throw error;
      const message = `${endpointText(this.#endpoint)} broke the rules of WebSocket: ${error.message}`;
      this.#fail(error.closeCode, new ProtocolFrameError(error.code, message, { cause: error }));
    }
  }

  #control(opcode: number, payload: Uint8Array): void {
    if (opcode === WebSocketOpcode.ping) {
      this.#owedPong = payload;
      if (!this.#isFull) this.#answerPing();
    } else if (opcode === WebSocketOpcode.close) {
      const { code, reason } = readWebSocketClose(payload);
      const why = reason === "" ? `code ${String(code)}` : `code ${String(code)}, ${reason}`;
      const message = `connection to ${endpointText(this.#endpoint)} lost: the server closed it with ${why}`;
      this.#fail(WebSocketCloseCode.normal, errorOf(ErrorCode.Disconnected, message));
    }
  }

  #answerPing(): void {
    const ping = this.#owedPong;
    this.#owedPong = undefined;
    if (ping !== undefined && this.#state === "open") this.#sendFrame(WebSocketOpcode.pong, ping);
  }

  /** Ends the connection for a reason that its owner did not ask for. */
  #fail(closeCode: number, error: IggyError): void {
    this.#sendFrame(WebSocketOpcode.close, writeWebSocketClose(closeCode));
    this.#state = "closed";
    this.#reader.stop();
    this.#below?.close();
    this.#handlers.onClose(error);
  }

  #onDrain(): void {
    this.#isFull = false;
    this.#answerPing();
    if (this.#state === "open") this.#handlers.onDrain();
  }

  #onClose(error: Error | undefined): void {
    const state = this.#state;
    this.#state = "closed";
    if (state === "upgrading") this.#upgraded(error ?? new Error("closed"));
    else if (state === "open") this.#handlers.onClose(error);
    else if (state === "closing") this.#handlers.onClose(undefined);
  }

  /** The one copy of a request: it is masked on its way, and stays as it is for a retry. */
  #sendFrame(opcode: number, payload: Uint8Array): boolean {
    if (this.#keysUsed === keyPoolBytes) {
      randomFillSync(this.#keys);
      this.#keysUsed = 0;
    }
    const key = this.#keys.subarray(this.#keysUsed, (this.#keysUsed += 4));
    const frame = Buffer.allocUnsafe(webSocketHeaderSize(payload.length, true) + payload.length);
    maskInto(frame, writeWebSocketHeader(frame, opcode, payload.length, key), payload, key);
    const hasRoom = this.#below?.send(frame) ?? true;
    if (!hasRoom) this.#isFull = true;
    return hasRoom;
  }
}
