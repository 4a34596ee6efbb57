import {
  type AnyCommand,
  bindSession,
  cancelDeferredRequest,
  type Command,
  commandByCode,
  decodeRequest,
  deleteConsumerOffset,
  ErrorCode,
  fetchMessages,
  type FetchMessagesRequest,
  getConsumerOffset,
  loginRegister,
  loginRegisterWithPat,
  loginUser,
  loginWithPersonalAccessToken,
  logoutUser,
  Operation,
  type PartitionContext,
  pollMessages,
  pollMessagesDeferred,
  sendMessages,
  storeConsumerOffset,
  WireError,
} from "@iggy/protocol";
import { type CommandInfo, metadataTarget } from "../calls/call.js";
import { Scope, ScopeEnded } from "../calls/scope.js";
import { FeatureUnavailableError, TransientNotAcceptedError, ValidationError } from "../errors/index.js";
import type { PartitionRoutes } from "../routing/partition-routes.js";
import type { Router } from "../routing/router.js";
import type { PartitionName, TopicName } from "../routing/spelling.js";
import { u32, integer } from "../values/check.js";
import type { Caller, CallOptions, RawCall } from "./caller.js";
import { consumerKey } from "./consumer-target.js";
import { findRoute } from "./find-route.js";
import { readEffect, remainingFetchTimes, remainingTimes } from "./polls.js";
import { TimeLeft } from "./time-left.js";

export interface RawOptions extends CallOptions {
  /** Fences of a partition request; those of its route without it. */
  readonly context?: PartitionContext;
}

/** Codes that belong to the connection itself. */
const sessionCodes: ReadonlySet<number> = new Set(
  [
    loginUser,
    logoutUser,
    loginRegister,
    loginRegisterWithPat,
    loginWithPersonalAccessToken,
    bindSession,
    cancelDeferredRequest,
  ].map(({ code }) => code),
);

/** Reads that only the primary of a partition serves, so that choosing a replica makes no sense. */
const partitionReads: ReadonlySet<number> = new Set(
  [pollMessages, pollMessagesDeferred, fetchMessages, getConsumerOffset].map(({ code }) => code),
);

/** Requests whose payload the caller encoded. */
export class RawCalls {
  readonly #caller: Caller;
  readonly #router: Router;
  readonly #routes: PartitionRoutes;

  constructor(caller: Caller, router: Router, routes: PartitionRoutes) {
    this.#caller = caller;
    this.#router = router;
    this.#routes = routes;
  }

  async send(code: number, payload: Uint8Array, options: RawOptions = {}): Promise<Uint8Array> {
    const command = commandByCode(u32("code", code));
    if (sessionCodes.has(code)) throw refused(`command ${String(code)} belongs to the connection`);
    if (command === undefined)
      return this.#caller.raw(readOf(unknownCommand(code), this.#caller.buffers.copyOf(payload)), options);
    const call = await this.#callOf(command, payload, options);
    return this.#caller.raw({ ...call, context: options.context }, options);
  }

  async sendToReplica(
    code: number,
    payload: Uint8Array,
    replicaId: number,
    options: CallOptions = {},
  ): Promise<Uint8Array> {
    const command = commandByCode(u32("code", code));
    if (sessionCodes.has(code)) throw refused(`command ${String(code)} belongs to the connection`);
    if (command !== undefined && command.operation !== Operation.NonReplicated) {
      throw refused(`${command.name} is replicated: no replica takes it alone`);
    }
    if (partitionReads.has(code)) throw refused("a partition read goes to the primary of its partition");
    const time = new TimeLeft(options);
    await this.#requireReplica(integer("replicaId", replicaId, 0, 255), time);
    return this.#caller.raw(
      {
        command: command ?? unknownCommand(code),
        effect: "read",
        target: { kind: "replica", replicaId },
        frame: this.#caller.buffers.copyOf(payload),
        about: { replicaId },
      },
      time.options(),
    );
  }

  async #requireReplica(replicaId: number, time: TimeLeft): Promise<void> {
    const { timeout, signal } = time.options();
    const scope = new Scope(Number(timeout), signal);
    try {
      await this.#router.whenReady(scope);
      if (await this.#router.knowsReplica(replicaId, scope)) return;
    } catch (error) {
      if (!(error instanceof ScopeEnded)) throw error;
      signal?.throwIfAborted();
      throw new TransientNotAcceptedError("the client got no link in time");
    } finally {
      scope.dispose();
    }
    throw new ValidationError(
      ErrorCode.InvalidIdentifier,
      `replica ${String(replicaId)} is not in the roster, or does not serve this transport`,
    );
  }

  async #callOf(command: AnyCommand, payload: Uint8Array, options: RawOptions): Promise<RawCall> {
    const frame = this.#caller.buffers.copyOf(payload);
    switch (command.code) {
      case sendMessages.code: {
        const { partitioning, ...topic } = decodedRequest(sendMessages, payload);
        if (partitioning.kind !== "partition_id") {
          throw new FeatureUnavailableError("a raw message.send names its partition");
        }
        return partitionCall(command, "write", partitionOf(topic, partitioning.partitionId), frame);
      }
      case storeConsumerOffset.code:
      case deleteConsumerOffset.code: {
        const target =
          command.code === storeConsumerOffset.code
            ? decodedRequest(storeConsumerOffset, payload)
            : decodedRequest(deleteConsumerOffset, payload);
        return {
          ...partitionCall(command, "write", partitionOf(target, target.partitionId), frame),
          progress: { consumer: consumerKey(target.consumer) },
        };
      }
      case getConsumerOffset.code: {
        const target = decodedRequest(getConsumerOffset, payload);
        return partitionCall(command, "read", partitionOf(target, target.partitionId ?? 0), frame);
      }
      case pollMessages.code:
      case pollMessagesDeferred.code:
        return this.#pollCall(command, payload, frame);
      case fetchMessages.code:
        return this.#fetchCall(payload, frame, options);
      default:
        return command.operation === Operation.NonReplicated
          ? readOf(command, frame)
          : { command, effect: "write", target: metadataTarget, frame, about: {} };
    }
  }

  #pollCall(command: AnyCommand, payload: Uint8Array, frame: Uint8Array): RawCall {
    const deferred =
      command.code === pollMessagesDeferred.code ? decodedRequest(pollMessagesDeferred, payload) : undefined;
    const poll = deferred?.poll ?? decodedRequest(pollMessages, payload);
    const fromStored = poll.strategy.kind === "next";
    const partition = partitionOf(poll, poll.partitionId ?? 0);
    const call: RawCall = {
      ...partitionCall(command, readEffect(poll.autoCommit, fromStored), partition, frame),
      progress: poll.autoCommit || fromStored ? { consumer: consumerKey(poll.consumer) } : undefined,
    };
    if (deferred === undefined) return call;
    const timeoutMs = Number(deferred.requestTimeoutUs) / 1000;
    const waitMs = Number(deferred.waitUs) / 1000;
    const laterFrame = (elapsedMs: number): Uint8Array =>
      this.#caller.encoded(pollMessagesDeferred, { ...deferred, ...remainingTimes(waitMs, timeoutMs, elapsedMs) });
    return { ...call, isDeferred: true, laterFrame, timeoutMs };
  }

  /** A grouped read goes to the primary of its first partition; the caller has grouped the others. */
  async #fetchCall(payload: Uint8Array, frame: Uint8Array, options: RawOptions): Promise<RawCall> {
    const request = decodedRequest(fetchMessages, payload);
    const first = request.targets[0]?.partitionId ?? 0;
    const time = new TimeLeft(options);
    const route = await findRoute(this.#routes, partitionOf(request, first), time.options());
    const timeoutMs = Number(request.requestTimeoutUs) / 1000;
    const encodeAt = (elapsedMs: number): FetchMessagesRequest => ({
      ...request,
      ...remainingFetchTimes(Number(request.waitUs) / 1000, timeoutMs, elapsedMs),
    });
    return {
      command: fetchMessages,
      effect: readEffect(
        request.autoCommit,
        request.targets.some(({ strategy }) => strategy.kind === "next"),
      ),
      target: { kind: "replica", replicaId: route.primaryReplica },
      isDeferred: true,
      frame,
      laterFrame: (elapsedMs) => this.#caller.encoded(fetchMessages, encodeAt(elapsedMs)),
      about: {},
      timeoutMs,
    };
  }
}

const partitionCall = (
  command: CommandInfo,
  effect: RawCall["effect"],
  partition: PartitionName,
  frame: Uint8Array,
): RawCall => ({
  command,
  effect,
  target: { kind: "partition", partition },
  frame,
  about: { partitionId: partition.partitionId },
});

const readOf = (command: CommandInfo, frame: Uint8Array): RawCall => ({
  command,
  effect: "read",
  target: metadataTarget,
  frame,
  about: {},
});

/** A code that this client does not know travels as a read; the server says whether it knows it. */
const unknownCommand = (code: number): CommandInfo => ({
  code,
  name: `command ${String(code)}`,
  title: `command ${String(code)}`,
  operation: Operation.NonReplicated,
});

function partitionOf({ streamId, topicId }: TopicName, partitionId: number | null): PartitionName {
  if (partitionId === null) throw new ValidationError(ErrorCode.InvalidIdentifier, "the payload names no partition");
  return { streamId, topicId, partitionId };
}

function decodedRequest<Req>(command: Command<Req, unknown>, payload: Uint8Array): Req {
  try {
    return decodeRequest(command, payload);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new ValidationError(ErrorCode.InvalidCommand, `the payload is no ${command.name}: ${error.message}`);
  }
}

const refused = (why: string): ValidationError => new ValidationError(ErrorCode.InvalidCommand, why);
