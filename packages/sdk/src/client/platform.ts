import type { Readable, Writable } from "node:stream";
import type { Transport } from "../transport/index.js";
import type { ClientConfig, TransportName } from "./config.js";

/** Knows which calls are made from inside other calls, also when they wait in between. */
export interface CallScope {
  run<T>(call: () => T): T;
  readonly isInside: boolean;
}

/** Makes a stream of Node.js of something that is read step by step. Its end closes what it reads. */
export type MakeReadable = <Item>(source: AsyncIterable<Item> & { close(): Promise<void> }) => Readable;

/** Makes a stream of Node.js that hands on what is written to it, one item after the other. */
export type MakeWritable = (sink: { write(item: unknown): Promise<unknown>; end(): Promise<void> }) => Writable;

/**
 * What a runtime offers. There is one for Node.js and one for browsers; each package entry gives its own to the client,
 * so that a browser bundle never reaches the modules of Node.js.
 */
export interface Platform {
  /** Loads a transport, or rejects with `FeatureUnavailableError` when this runtime has none of that name. */
  loadTransport(name: TransportName, config: ClientConfig): Promise<Transport>;
  /** Where the runtime can follow calls. */
  readonly makeScope?: () => CallScope;
  /** Where the runtime has streams of Node.js. */
  readonly readable?: MakeReadable;
  readonly writable?: MakeWritable;
}
