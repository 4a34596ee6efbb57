import {
  bindSession,
  commandByCode,
  commandByOperation,
  decodeRequest,
  encodeResponse,
  encodeResult,
  ErrorCode,
  getClusterMetadata,
  loginRegister,
  loginRegisterWithPat,
  NodeRole,
  NodeStatus,
  Operation,
  ping,
  PROTOCOL_VERSION,
  WireError,
} from "@iggy/protocol";
import { type Authentication, loginEviction, type MetadataEffect, type PartitionStats, Refusal } from "@iggy/engine";
import { ClientCore } from "../client/client.js";
import type { ClientConfig } from "../client/config.js";
import type { Transport } from "../transport/index.js";
import { type Binding, FakeConnection, type FakeRequest } from "./fake-connection.js";
import { FakeMetadata } from "./fake-metadata.js";
import { FakePartitions } from "./fake-partitions.js";
import { committedReply, evict, refuse, reply } from "./fake-replies.js";

export interface FakeServerOptions {
  /** Root user, `iggy` / `iggy` without it. */
  readonly username?: string;
  readonly password?: string;
  /** µs since the epoch, for the times that the server gives; the system's without it. */
  readonly clock?: () => bigint;
}

/** The next requests of one command, and what they get. */
interface Refused {
  readonly code: number;
  readonly error: number;
  left: number;
}

/**
 * A server in memory for unit tests of programs that use the client: streams, topics, users, permissions, tokens and
 * groups behave as on a real one, whose state machine it runs; messages live in memory, reads wait, offsets are kept.
 * There is no network and no file. What it lacks answers with `FeatureUnavailable` (5): statistics, snapshots, details of
 * clients, deletes of segments. Retention deletes nothing, and numbers of idempotent producers are not checked.
 */
export class FakeServer implements AsyncDisposable {
  readonly #clock: () => bigint;
  readonly #metadata: FakeMetadata;
  readonly #partitions: FakePartitions;
  readonly #credentials: { readonly username: string; readonly password: string };
  readonly #wires = new Set<FakeConnection>();
  readonly #clients = new Set<ClientCore>();
  readonly #refused: Refused[] = [];
  /** Answers in the order of the requests of a connection that have to be. */
  #metadataTurn: Promise<void> = Promise.resolve();
  #isDown = false;

  constructor({ username = "iggy", password = "iggy", clock }: FakeServerOptions = {}) {
    this.#clock = clock ?? (() => BigInt(Date.now()) * 1000n);
    this.#credentials = { username, password };
    const nowMicros = (): number => Number(this.#clock());
    this.#partitions = new FakePartitions({
      machine: () => this.#metadata.machine,
      nowMicros,
      onProgress: () => this.#metadata.housekeep(),
    });
    const settings = {
      nowMicros,
      progress: this.#partitions,
      onEffects: (effects: readonly MetadataEffect[]) => this.#carryOut(effects),
    };
    this.#metadata = new FakeMetadata(settings, this.#credentials);
  }

  /** A client of this server. It signs in as root unless its configuration says otherwise, and ends with the server. */
  client(config: ClientConfig = {}): ClientCore {
    const client = new ClientCore(
      { credentials: this.#credentials, reconnect: { interval: 1, maxInterval: 10 }, ...config },
      { loadTransport: () => Promise.resolve(this.#transport) },
    );
    this.#clients.add(client);
    return client;
  }

  /** The next requests of a command are refused with an error code. Commands are named by their code. */
  refuseNext(command: { readonly code: number } | number, error: number, times = 1): void {
    this.#refused.push({ code: typeof command === "number" ? command : command.code, error, left: times });
  }

  /** Breaks every connection. Clients come back by themselves. */
  dropConnections(): void {
    for (const wire of this.#wires) wire.end();
  }

  /** Nobody gets through until `resume`. */
  suspend(): void {
    this.#isDown = true;
    this.dropConnections();
  }

  resume(): void {
    this.#isDown = false;
  }

  /** Ends every session, as a server does that heard nothing for too long. */
  endSessions(): void {
    for (const session of [...this.#metadata.machine.sessions()]) {
      this.#metadata.order(this.#metadata.machine.sessionExpiry(session));
    }
    this.#metadata.housekeep();
  }

  /** Ends the server and the clients that were made by it. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
    this.suspend();
    this.#partitions.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #transport(): Transport {
    return {
      protocol: "tcp",
      connect: async (_endpoint, handlers, signal) => {
        await Promise.resolve();
        signal.throwIfAborted();
        if (this.#isDown) throw new Error("the fake server is suspended");
        const wire = new FakeConnection(
          handlers,
          (request) => this.#serve(request),
          (ended) => {
            this.#wires.delete(ended);
            this.#partitions.dropWire(ended);
          },
        );
        this.#wires.add(wire);
        return wire;
      },
    };
  }

  #serve(request: FakeRequest): void {
    try {
      this.#dispatch(codeOf(request), request);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      refuse(request, ErrorCode.InvalidCommand);
    }
  }

  #dispatch(code: number, request: FakeRequest): void {
    const { header, wire, body } = request;
    const refusal = this.#refused.find((each) => each.code === code && each.left > 0);
    if (refusal !== undefined) {
      refusal.left--;
      refuse(request, refusal.error);
      return;
    }
    switch (code) {
      case loginRegister.code:
        void this.#login(request);
        return;
      case bindSession.code:
        this.#bind(request);
        return;
      case ping.code:
        reply(request);
        return;
    }
    const { binding } = wire;
    if (binding === undefined) {
      if (header.operation === Operation.Logout) reply(request);
      else if (header.operation === Operation.NonReplicated) refuse(request, ErrorCode.Unauthenticated);
      else evict(request, "NoSession");
      return;
    }
    if (this.#partitions.serve(code, request, binding)) return;
    if (header.operation !== Operation.NonReplicated) {
      this.#write(request, binding);
      return;
    }
    if (code === getClusterMetadata.code) {
      reply(request, encodeResponse(getClusterMetadata, roster));
      return;
    }
    const { machine } = this.#metadata;
    if (!machine.answers(code)) {
      refuse(request, commandByCode(code) === undefined ? ErrorCode.InvalidCommand : ErrorCode.FeatureUnavailable);
      return;
    }
    const result = machine.read(code, body, binding.userId, binding.client, this.#stats);
    if ("status" in result) refuse(request, result.status);
    else reply(request, result.payload);
  }

  async #login(request: FakeRequest): Promise<void> {
    const { header, wire, body } = request;
    const { authentication, bindSecret } = await this.#authenticated(body);
    if (authentication.kind === "refused") {
      evict(request, loginEviction(authentication.reason));
      return;
    }
    const { account } = authentication;
    const outcome = this.#metadata.register(header.client, account, bindSecret);
    const refusal = "refusal" in outcome ? outcome.refusal : outcome.applied.code;
    if (refusal !== 0) {
      reply(request, encodeResult(refusal));
      return;
    }
    const session = this.#metadata.machine.session(header.client)?.epoch ?? 0;
    wire.binding = { client: header.client, session, userId: account.userId };
    const commit = this.#metadata.machine.appliedOp;
    reply(request, encodeResult(0, sessionReply(wire.binding)), { commit });
  }

  async #authenticated(
    body: Uint8Array,
  ): Promise<{ readonly authentication: Authentication; readonly bindSecret: Uint8Array }> {
    try {
      const { username, password, bindSecret } = decodeRequest(loginRegister, body);
      return { authentication: await this.#metadata.authenticate(username, password), bindSecret };
    } catch (error) {
      // A token says no name, so it does not read as a password.
      if (!(error instanceof WireError)) throw error;
      const { token, bindSecret } = decodeRequest(loginRegisterWithPat, body);
      return { authentication: this.#metadata.authenticateToken(token), bindSecret };
    }
  }

  #bind(request: FakeRequest): void {
    const { identity, bindSecret } = decodeRequest(bindSession, request.body);
    const session = this.#metadata.machine.sessionToBind(identity, bindSecret);
    if (session instanceof Refusal) {
      refuse(request, session.code);
      return;
    }
    const binding = { client: session.clientId, session: session.epoch, userId: session.userId };
    request.wire.binding = binding;
    reply(request, sessionReply(binding));
  }

  /** Writes are applied in the order in which they came. */
  #write(request: FakeRequest, { client, session, userId }: Binding): void {
    const { header, wire } = request;
    const body = new Uint8Array(request.body);
    const { operation, request: number, requestChecksum } = header;
    this.#metadataTurn = this.#metadataTurn.then(async () => {
      const { machine } = this.#metadata;
      if (operation === Operation.Logout) {
        const { applied, ...commit } = this.#metadata.order({ operation, client, session, body });
        wire.write(committedReply(request, commit, applied.code, applied.payload));
        return;
      }
      const check = machine.checkRequest({ client, session, request: number, operation });
      switch (check.kind) {
        case "deny":
          refuse(request, check.code);
          return;
        case "evict":
          evict(request, check.reason);
          return;
        case "replay":
          wire.write(committedReply(request, check.reply, check.reply.code, check.reply.payload));
          return;
        case "new": {
          const numbers = { session, request: number, requestChecksum };
          const outcome = await this.#metadata.submit({ operation, client, userId, body }, numbers);
          if (typeof outcome === "number") refuse(request, outcome);
          else wire.write(committedReply(request, outcome, outcome.applied.code, outcome.applied.payload));
          this.#metadata.housekeep();
        }
      }
    });
  }

  #carryOut(effects: readonly MetadataEffect[]): void {
    for (const effect of effects) {
      if (effect.kind === "partition-deleted") this.#partitions.drop(effect);
      if (effect.kind !== "session-ended") continue;
      for (const wire of this.#wires) if (wire.binding?.client === effect.clientId) wire.binding = undefined;
    }
  }

  readonly #stats: PartitionStats = {
    countersOf: (key) => {
      const { count: messagesCount, sizeBytes, currentOffset } = this.#partitions.log(key);
      return { messagesCount, sizeBytes, segmentsCount: 1, currentOffset, inSync: [0] };
    },
  };
}

function codeOf({ header }: FakeRequest): number {
  const { operation } = header;
  if (operation === Operation.NonReplicated) return header.commandCode;
  if (operation === Operation.Register) return loginRegister.code;
  return commandByOperation(operation)?.code ?? -1;
}

const sessionReply = ({ session, userId }: Binding): Uint8Array =>
  encodeResponse(loginRegister, {
    userId,
    session: BigInt(session),
    serverProtocolVersion: PROTOCOL_VERSION,
    serverVersion: "0.10.0",
  });

const roster = {
  name: "fake",
  nodes: [
    {
      replicaId: 0,
      name: "fake-node",
      ip: "127.0.0.1",
      tcpPort: 8090,
      quicPort: 0,
      httpPort: 0,
      websocketPort: 0,
      role: NodeRole.leader,
      status: NodeStatus.healthy,
    },
  ],
};
