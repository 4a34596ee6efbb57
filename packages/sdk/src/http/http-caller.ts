import {
  type Command,
  createPartitions,
  decodeUtf8,
  deletePartitions,
  deleteStream,
  deleteTopic,
  ErrorCode,
  IggyError as ProtocolError,
  type JsonValue,
  parseJson,
  type PartitionContext,
} from "@iggy/protocol";
import { type About, type Calls, type CallOptions, defaultTimeoutMs, type PartitionCall } from "../api/caller.js";
import { DeserializeError, FeatureUnavailableError, IggyError } from "../errors/index.js";
import type { HttpReply } from "./exchange.js";
import type { HttpEffect, HttpLink } from "./http-link.js";
import type { ProgressBlocks } from "./progress-blocks.js";
import { httpRoutes } from "./routes/index.js";

/** Commands after which the partitions of a topic may be others. */
const topologyCodes: ReadonlySet<number> = new Set(
  [deleteStream, deleteTopic, createPartitions, deletePartitions].map(({ code }) => code),
);

/** Typed calls over HTTP: each command has a route, and its answer becomes the reply that the binary command has. */
export class HttpCaller implements Calls {
  readonly #link: HttpLink;
  readonly #blocks: ProgressBlocks;
  readonly #routes = httpRoutes();
  readonly #onTopologyChange: () => void;

  constructor(link: HttpLink, blocks: ProgressBlocks, onTopologyChange: () => void) {
    this.#link = link;
    this.#blocks = blocks;
    this.#onTopologyChange = onTopologyChange;
  }

  read<Req, Res>(command: Command<Req, Res>, request: Req, about: About, options?: CallOptions): Promise<Res> {
    return this.#run(command, request, about, options, "read");
  }

  async write<Req, Res>(command: Command<Req, Res>, request: Req, about: About, options?: CallOptions): Promise<Res> {
    try {
      return await this.#run(command, request, about, options, "write");
    } finally {
      // Also after an unknown outcome.
      if (topologyCodes.has(command.code)) this.#onTopologyChange();
    }
  }

  async onPartition<Req, Res>(
    command: Command<Req, Res>,
    request: Req,
    about: About,
    options: CallOptions | undefined,
    { effect, partition, context, progress }: PartitionCall,
  ): Promise<Res> {
    if (progress !== undefined) this.#blocks.throwIfBlocked(partition, context, command.name);
    return this.#run(command, request, about, options, effect === "read" ? "read" : "write", context);
  }

  async #run<Req, Res>(
    command: Command<Req, Res>,
    request: Req,
    about: About,
    options: CallOptions | undefined,
    effect: HttpEffect,
    context?: PartitionContext,
  ): Promise<Res> {
    const route = this.#routes.find(command);
    if (route === undefined) {
      throw new FeatureUnavailableError(`${command.name} needs a binary transport: TCP, TLS, WS, WSS or QUIC`);
    }
    const call = { command, request: route.request(request, context), effect, about };
    let reply: HttpReply;
    try {
      reply = await this.#link.send(call, options, defaultTimeoutMs);
    } catch (error) {
      if (route.absent !== undefined && isAbsent(error)) return route.absent;
      throw error;
    }
    return decodedAnswer(command, () => route.reply({ json: jsonOf(reply), bytes: reply.body }));
  }
}

const isAbsent = (error: unknown): boolean => error instanceof IggyError && error.context?.["status"] === 404;

/** The JSON of an answer, null of one that holds none. */
export function jsonOf({ body, isJson }: HttpReply): JsonValue {
  if (!isJson || body.length === 0) return null;
  const text = decodeUtf8(body);
  if (text === undefined) throw new ProtocolError(ErrorCode.InvalidUtf8, "the body is not UTF-8");
  return parseJson(text);
}

/** Runs a decoder of an answer; what it can not read becomes the error of that answer. */
export function decodedAnswer<T>(command: { readonly name: string; readonly code: number }, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof IggyError || !(error instanceof ProtocolError)) throw error;
    throw new DeserializeError(error.code, `the answer to ${command.name} does not decode: ${error.message}`, {
      commandCode: command.code,
    });
  }
}
