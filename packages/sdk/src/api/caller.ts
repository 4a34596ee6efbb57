import { type Command, decodeResponse, type PartitionContext, WireError } from "@iggy/protocol";
import { type Call, metadataTarget, type Progress } from "../calls/call.js";
import type { Effect } from "../calls/decide.js";
import type { CallEngine } from "../calls/engine.js";
import { DeserializeError, ValidationError } from "../errors/index.js";
import type { FrameBuffers } from "../link/index.js";
import type { PartitionName } from "../routing/spelling.js";
import { type Duration, milliseconds } from "../values/duration.js";

/** Options that every call takes. */
export interface CallOptions {
  /** Ends the wait. What that means for work under way is said at each call. */
  readonly signal?: AbortSignal;
  /** ms, 30 s without it. Waiting reads get 10 s on top of their wait instead. */
  readonly timeout?: Duration;
}

/** What a call is about, for its errors. */
export type About = Readonly<Record<string, unknown>>;

export const defaultTimeoutMs = 30_000;

/** A call of a partition. */
export interface PartitionCall {
  readonly effect: Effect;
  readonly partition: PartitionName;
  readonly context?: PartitionContext | undefined;
  readonly mayStartOver?: boolean;
  readonly progress?: Progress | undefined;
  readonly isDeferred?: boolean;
  readonly owner?: object | undefined;
  readonly resolvesAnyBlocker?: boolean;
  readonly timeoutMs?: number;
}

/** Makes typed calls: encodes the request, runs it, decodes the reply. */
export class Caller {
  readonly buffers: FrameBuffers;
  readonly #engine: CallEngine;

  constructor(engine: CallEngine, buffers: FrameBuffers) {
    this.#engine = engine;
    this.buffers = buffers;
  }

  /** A read that needs no partition. */
  read<Req, Res>(command: Command<Req, Res>, request: Req, about: About, options?: CallOptions): Promise<Res> {
    return this.#run(command, request, about, options, { effect: "read", target: metadataTarget });
  }

  /** A change of metadata. */
  write<Req, Res>(command: Command<Req, Res>, request: Req, about: About, options?: CallOptions): Promise<Res> {
    return this.#run(command, request, about, options, { effect: "write", target: metadataTarget });
  }

  /** A call to the primary of a partition. */
  onPartition<Req, Res>(
    command: Command<Req, Res>,
    request: Req,
    about: About,
    options: CallOptions | undefined,
    { partition, ...call }: PartitionCall,
  ): Promise<Res> {
    return this.#run(command, request, about, options, { ...call, target: { kind: "partition", partition } });
  }

  /** A call whose body is made by the caller. Resolves with the bytes of the reply. */
  raw(call: RawCall, options?: CallOptions): Promise<Uint8Array> {
    return this.#engine.execute(callOf(call, options));
  }

  /** The frame of a request, without its header. */
  encoded<Req, Res>(command: Command<Req, Res>, request: Req): Uint8Array {
    try {
      return this.buffers.encode(command.request, request);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new ValidationError(error.code, `${command.name}: ${error.message}`, { commandCode: command.code });
    }
  }

  async #run<Req, Res>(
    command: Command<Req, Res>,
    request: Req,
    about: About,
    options: CallOptions | undefined,
    call: Omit<RawCall, "command" | "about" | "frame">,
  ): Promise<Res> {
    const payload = await this.raw({ ...call, command, about, frame: this.encoded(command, request) }, options);
    return decoded(command, payload);
  }
}

/** Typed calls, whatever carries them. */
export type Calls = Pick<Caller, "read" | "write" | "onPartition">;

export interface RawCall extends Omit<Call, "timeoutMs" | "signal"> {
  readonly timeoutMs?: number;
}

function callOf(call: RawCall, options: CallOptions = {}): Call {
  const timeoutMs =
    options.timeout === undefined
      ? (call.timeoutMs ?? defaultTimeoutMs)
      : milliseconds("timeout", options.timeout, 0, Infinity);
  return { ...call, timeoutMs, signal: options.signal };
}

export function decoded<Req, Res>(command: Command<Req, Res>, payload: Uint8Array): Res {
  return decoding(command, () => decodeResponse(command, payload));
}

/** Runs a decoder of a reply; what it can not read becomes the error of that reply. */
export function decoding<T>(command: { readonly name: string; readonly code: number }, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new DeserializeError(error.code, `the reply of ${command.name} does not decode: ${error.message}`, {
      commandCode: command.code,
    });
  }
}
