import {
  cancelDeferredRequest,
  ErrorCode,
  FrameCommand,
  HEADER_SIZE,
  Operation,
  ReplyHeader,
  RequestHeader,
} from "@iggy/protocol";
import { errorOf, FeatureUnavailableError, IggyError, ProtocolFrameError, ValidationError } from "../errors/index.js";
import type { QuicDial, QuicProvider } from "./quic-provider.js";
import { asBuffer } from "./socket.js";
import { loadRoots, type TlsOptions } from "./tls.js";
import { type Connection, type ConnectionHandlers, type Endpoint, endpointText, type Transport } from "./transport.js";

export interface QuicOptions {
  readonly tls: TlsOptions;
  /** Name that the certificate must carry; the host without it. */
  readonly serverName: string | undefined;
  readonly responseBytesMax: number;
  readonly initialMtu: number | undefined;
  readonly sendWindowBytes: number | undefined;
  readonly receiveWindowBytes: number | undefined;
  readonly keepAliveMillis: number;
  readonly idleTimeoutMillis: number;
}

/** The package that is looked for. Not a literal where it is imported, so that bundlers leave it alone. */
const PACKAGE: string = "@iggy/quic";

const MISSING = `QUIC needs the package ${PACKAGE}, or another stack as options.provider`;

/** The provider of the options, or the one of `@iggy/quic`. Rejects with `FeatureUnavailableError` without a working one. */
export async function findQuicProvider(given: unknown, load = loadPackage): Promise<QuicProvider> {
  const provider = given ?? (await load());
  if (!isProvider(provider)) {
    if (given === undefined) throw new FeatureUnavailableError(MISSING);
    throw new ValidationError(ErrorCode.InvalidConfiguration, "options.provider takes an object with a method connect");
  }
  const probe = provider.probe?.();
  if (probe?.available === false) {
    throw new FeatureUnavailableError(`there is no QUIC here: ${probe.reason}; ${probe.remedy}`);
  }
  return provider;
}

async function loadPackage(): Promise<unknown> {
  try {
    const { quicProvider } = (await import(PACKAGE)) as { readonly quicProvider?: unknown };
    return quicProvider;
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    throw new FeatureUnavailableError(isMissing ? MISSING : `${PACKAGE} can't be loaded`, { cause });
  }
}

const isProvider = (value: unknown): value is QuicProvider =>
  typeof value === "object" && value !== null && "connect" in value && typeof value.connect === "function";

/** Connections over QUIC: each frame leaves on a stream of its own, and its reply comes back there. */
export function quicTransport(provider: QuicProvider, options: QuicOptions): Transport {
  // Read once: a wrong file or certificate is the same on every dial.
  let roots: Promise<string | undefined> | undefined;
  return {
    protocol: "quic",
    present: asBuffer,
    async connect(endpoint, handlers, signal) {
      roots ??= loadRoots(options.tls);
      const ca = await roots;
      const exchanges = new Exchanges(endpoint, handlers);
      try {
        return exchanges.over(await provider.connect(dialOf(endpoint, options, ca), exchanges, signal));
      } catch (error) {
        throw connectError(error, endpoint);
      }
    },
  };
}

function dialOf(endpoint: Endpoint, options: QuicOptions, ca: string | undefined): QuicDial {
  const { initialMtu, sendWindowBytes, receiveWindowBytes, tls } = options;
  return {
    host: endpoint.host,
    port: endpoint.port,
    serverName: tls.servername ?? options.serverName ?? endpoint.host,
    rejectUnauthorized: tls.rejectUnauthorized ?? true,
    responseBytesMax: options.responseBytesMax,
    keepAliveMillis: options.keepAliveMillis,
    idleTimeoutMillis: options.idleTimeoutMillis,
    ...(ca === undefined ? {} : { ca }),
    ...(initialMtu === undefined ? {} : { initialMtu }),
    ...(sendWindowBytes === undefined ? {} : { sendWindowBytes }),
    ...(receiveWindowBytes === undefined ? {} : { receiveWindowBytes }),
  };
}

/** No request of a client has this number. */
const NO_REPLY = -1;

/** The requests under way of one connection. */
class Exchanges {
  readonly #endpoint: Endpoint;
  readonly #handlers: ConnectionHandlers;
  /** Numbers of the requests by stream; `NO_REPLY` for those that get none. */
  readonly #requests = new Map<number, number>();
  readonly #request = new RequestHeader();
  readonly #reply = new ReplyHeader();
  #close: () => void = () => undefined;
  #isClosed = false;

  constructor(endpoint: Endpoint, handlers: ConnectionHandlers) {
    this.#endpoint = endpoint;
    this.#handlers = handlers;
  }

  over(connection: { request(bytes: Uint8Array): number; readonly isCongested: boolean; close(): void }): Connection {
    this.#close = () => {
      connection.close();
    };
    return {
      send: (bytes) => {
        if (this.#isClosed) return true;
        try {
          this.#requests.set(connection.request(bytes), this.#expectedOf(bytes));
        } catch (error) {
          this.#fail(error instanceof Error ? error : new Error(String(error)));
          return true;
        }
        return !connection.isCongested;
      },
      close: () => {
        connection.close();
      },
    };
  }

  onReply(stream: number, bytes: Uint8Array): void {
    const request = this.#requests.get(stream);
    if (this.#isClosed || request === undefined) return;
    this.#requests.delete(stream);
    if (bytes.length === 0 && request === NO_REPLY) return;
    const fault = this.#faultOf(bytes, request);
    if (fault === undefined) this.#handlers.onData(bytes);
    else this.#fail(fault);
  }

  onFailed(stream: number, error: Error): void {
    const request = this.#requests.get(stream);
    if (this.#isClosed || request === undefined) return;
    this.#requests.delete(stream);
    // Whether the request was carried out is not known, as with a connection that is lost.
    if (request !== NO_REPLY) this.#fail(error);
  }

  onDrain(): void {
    if (!this.#isClosed) this.#handlers.onDrain();
  }

  onClose(error: Error | undefined): void {
    if (error === undefined) this.#end(undefined);
    else this.#end(lost(this.#endpoint, error));
  }

  /** A cancel ends the request that it names; it is never answered itself. */
  #expectedOf(frame: Uint8Array): number {
    const { operation, commandCode, request } = this.#request.at(frame, 0);
    const isCancel = operation === Operation.NonReplicated && commandCode === cancelDeferredRequest.code;
    return isCancel ? NO_REPLY : request;
  }

  #faultOf(bytes: Uint8Array, request: number): IggyError | undefined {
    if (bytes.length < HEADER_SIZE) {
      return errorOf(ErrorCode.EmptyResponse, `the server ended a stream with ${String(bytes.length)} bytes`);
    }
    const reply = this.#reply.at(bytes);
    // What is no reply, or the answer to a cancel that came unbound, is judged by its frame alone.
    if (request === NO_REPLY || reply.command !== FrameCommand.Reply || reply.request === request) return undefined;
    return new ProtocolFrameError(ErrorCode.InvalidCommand, "the server answered another request on this stream");
  }

  #fail(error: Error): void {
    this.#end(error instanceof IggyError ? error : lost(this.#endpoint, error));
    this.#close();
  }

  #end(error: IggyError | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#requests.clear();
    this.#handlers.onClose(error);
  }
}

const lost = (endpoint: Endpoint, cause: Error): IggyError =>
  errorOf(ErrorCode.Disconnected, `connection to ${endpointText(endpoint)} lost: ${cause.message}`, { cause });

function connectError(error: unknown, endpoint: Endpoint): IggyError {
  if (error instanceof IggyError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return errorOf(ErrorCode.CannotEstablishConnection, `no connection to ${endpointText(endpoint)}: ${why}`, {
    cause: error,
  });
}
