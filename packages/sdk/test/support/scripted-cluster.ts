import {
  bindSession,
  cancelDeferredRequest,
  commandByCode,
  decodeRequest,
  encodeResponse,
  encodeResult,
  fetchMessages,
  getClusterMetadata,
  getPartitionRoute,
  isPartitionOperation,
  loginRegister,
  loginRegisterWithPat,
  logoutUser,
  NodeRole,
  NodeStatus,
  Operation,
  ping,
  pollMessages,
  pollMessagesDeferred,
  type RequestHeader,
  sendMessages,
} from "@iggy/protocol";
import { ClientCore } from "../../src/client/client.js";
import type { ClientConfig } from "../../src/client/config.js";
import { type Endpoint, endpointText, type Transport } from "../../src/transport/index.js";
import { hexOf } from "./captures.js";
import { type Faults, MemoryConnection } from "./memory-network.js";
import { type Received, ScriptedNode, type Wire } from "./scripted-node.js";

/** Where a partition is led. */
export interface PartitionState {
  incarnation: bigint;
  view: number;
  primary: number;
}

interface ScriptedSession {
  readonly epoch: bigint;
  readonly secret: string;
  readonly user: string;
}

/** One replica. A wire is bound to a session, or to none. */
export class ClusterReplica extends ScriptedNode {
  readonly replicaId: number;
  readonly cluster: ScriptedCluster;
  readonly bound = new Map<Wire, bigint>();
  /** Address that the roster names. */
  advertised: Endpoint;
  websocketPort = 0;
  isUp = true;
  /** Takes connections and answers nothing. */
  isFrozen = false;
  /** The client can not get through to it; the other nodes can. */
  isCutOff = false;
  /** Listed in the roster. */
  isMember = true;
  /** What it takes for the primary of a partition, where it lags behind. */
  readonly beliefs = new Map<number, PartitionState>();
  /** What it takes for the metadata primary, where it lags behind. */
  believedLeader: number | undefined;
  /** Streams and partitions are not there yet on this node. */
  knowsNothing = false;

  constructor(cluster: ScriptedCluster, replicaId: number) {
    super((received) => cluster.serve(this, received));
    this.cluster = cluster;
    this.replicaId = replicaId;
    this.port = 9000 + replicaId;
    this.advertised = { host: "127.0.0.1", port: this.port };
  }

  /** The process ends: its connections break. */
  kill(): void {
    this.isUp = false;
    this.bound.clear();
    this.dropAll();
  }

  start(): void {
    this.isUp = true;
  }

  /** Requests on wires of this node that came under a bound session. */
  ofAll(...codes: readonly number[]): Received[] {
    return this.received.filter(({ code }) => codes.includes(code));
  }
}

/** Several nodes with one metadata log, primaries per partition and receipts for retries. No part of it is real. */
export class ScriptedCluster {
  readonly replicas: readonly ClusterReplica[];
  readonly partitions = new Map<number, PartitionState>();
  readonly sessions = new Map<bigint, ScriptedSession>();
  /** Results of committed writes, by client and request number. */
  readonly receipts = new Map<string, Uint8Array>();
  /** Bodies of committed writes, in order: a write that took effect twice is here twice. */
  readonly effects: string[] = [];
  /** Every request number that came, with the frames that carried it. */
  readonly requestNumbers = new Map<string, Set<string>>();
  leader = 0;
  op = 4711;
  users = new Map([["iggy", "iggy"]]);
  registrations = 0;
  /** Answers in place of a node; true when it did. */
  intercept: (replica: ClusterReplica, received: Received) => boolean = () => false;
  readonly dials: string[] = [];
  /** Dials under way, and the most there were at once. */
  dialing = 0;
  mostDialing = 0;
  /** How long a dial takes, ms. */
  dialMillis = 0;
  /** Faults of the next connections, to any node; none without an entry. */
  faults: Faults[] = [];
  /** Connections tell the address that they led to. */
  tellsRemoteHost = true;
  /** Further addresses that lead to a node. */
  readonly aliases = new Map<string, number>();

  constructor(nodes = 3, partitions = 3) {
    this.replicas = Array.from({ length: nodes }, (_, id) => new ClusterReplica(this, id));
    for (let id = 0; id < partitions; id++) {
      this.partitions.set(id, { incarnation: 41n, view: 1, primary: id % nodes });
    }
  }

  /** Everything works again. */
  heal(): void {
    this.intercept = () => false;
    if (this.leader < 0) this.leader = 0;
    for (const replica of this.replicas) {
      replica.isUp = true;
      replica.isCutOff = false;
      replica.knowsNothing = false;
      replica.beliefs.clear();
      replica.believedLeader = undefined;
      // What a frozen node did not answer stays without an answer.
      if (replica.isFrozen) replica.dropAll();
      replica.isFrozen = false;
    }
  }

  replica(id: number): ClusterReplica {
    const found = this.replicas[id];
    if (found === undefined) throw new Error(`there is no replica ${String(id)}`);
    return found;
  }

  partition(id: number): PartitionState {
    const found = this.partitions.get(id);
    if (found === undefined) throw new Error(`there is no partition ${String(id)}`);
    return found;
  }

  /** Another replica becomes the primary of a partition. */
  movePartition(id: number, primary: number): void {
    const state = this.partition(id);
    state.primary = primary;
    state.view++;
  }

  /** The partition is deleted and made anew under its number. */
  recreatePartition(id: number): void {
    const state = this.partition(id);
    this.op++;
    state.incarnation = BigInt(this.op);
    state.view = 1;
  }

  /** The session is gone everywhere. */
  endSessions(): void {
    this.sessions.clear();
  }

  /** Requests of one command on any node. */
  of(command: { readonly code: number }): Received[] {
    return this.replicas.flatMap((replica) => replica.of(command));
  }

  get transport(): Transport {
    return {
      protocol: "tcp",
      connect: async (endpoint, handlers, signal) => {
        const address = endpointText(endpoint);
        this.dials.push(address);
        this.dialing++;
        this.mostDialing = Math.max(this.mostDialing, this.dialing);
        try {
          if (this.dialMillis > 0) await new Promise((resolve) => setTimeout(resolve, this.dialMillis));
          await Promise.resolve();
          signal.throwIfAborted();
          const replica = this.replicas.find(
            ({ port, replicaId }) => address === `127.0.0.1:${String(port)}` || this.aliases.get(address) === replicaId,
          );
          if (replica?.isUp !== true || replica.isCutOff) throw new Error(`connection to ${address} refused`);
          const connection = new MemoryConnection(replica, handlers, this.faults.shift() ?? {});
          if (this.tellsRemoteHost) connection.remoteHost = "127.0.0.1";
          return connection;
        } finally {
          this.dialing--;
        }
      },
    };
  }

  client(config: Partial<ClientConfig> = {}): ClientCore {
    return new ClientCore(
      {
        options: { host: "127.0.0.1", port: 9000 },
        credentials: { username: "iggy", password: "iggy" },
        heartbeatInterval: 0,
        random: () => 0,
        reconnect: { interval: 1, maxInterval: 1 },
        ...config,
      },
      { loadTransport: () => Promise.resolve(this.transport) },
    );
  }

  serve(replica: ClusterReplica, received: Received): void {
    this.#noteNumber(received);
    if (!replica.isUp || replica.isFrozen) return;
    replica.op = this.op;
    if (!this.intercept(replica, received)) this.answer(replica, received);
  }

  /** What a healthy node of a cluster answers. */
  answer(replica: ClusterReplica, received: Received): void {
    const { code, wire, header } = received;
    switch (code) {
      case cancelDeferredRequest.code:
        return;
      case loginRegister.code:
        this.#register(replica, received);
        return;
      case bindSession.code:
        this.#bind(replica, received);
        return;
      case ping.code:
        replica.reply(received);
        return;
      case logoutUser.code: {
        const client = replica.bound.get(wire);
        if (client !== undefined) this.sessions.delete(client);
        replica.bound.delete(wire);
        replica.reply(received);
        return;
      }
    }
    if (!this.#isBound(replica, wire)) {
      if (header.operation === Operation.NonReplicated) replica.refuse(received, 40);
      else replica.evict(wire, "NoSession");
      return;
    }
    switch (code) {
      case getClusterMetadata.code:
        replica.reply(received, encodeResponse(getClusterMetadata, this.roster(replica)));
        return;
      case getPartitionRoute.code:
        this.#route(replica, received);
        return;
    }
    if (isPartitionOperation(header.operation)) this.#partitionWrite(replica, received);
    else if (code === pollMessages.code || code === pollMessagesDeferred.code) this.#poll(replica, received);
    else if (commandByCode(code)?.operation === Operation.NonReplicated) replica.answer(received);
    else if (this.leader === replica.replicaId) this.commit(replica, received, new Uint8Array(0));
    else replica.refuse(received, 89);
  }

  roster(teller: ClusterReplica) {
    const leader = teller.believedLeader ?? this.leader;
    return {
      name: "scripted",
      nodes: this.replicas
        .filter(({ isMember }) => isMember)
        .map((replica) => ({
          replicaId: replica.replicaId,
          name: `n${String(replica.replicaId)}`,
          ip: replica.advertised.host,
          tcpPort: replica.advertised.port,
          quicPort: 0,
          httpPort: 0,
          websocketPort: replica.websocketPort,
          role: replica.replicaId === leader ? NodeRole.leader : NodeRole.follower,
          status: NodeStatus.healthy,
        })),
    };
  }

  /** Applies a write once, however often it comes, and answers with its receipt. */
  commit(replica: ClusterReplica, received: Received, payload: Uint8Array): void {
    const { header } = received;
    const key = `${String(header.client)}/${String(header.request)}`;
    let reply = this.receipts.get(key);
    if (reply === undefined) {
      this.effects.push(`${String(received.code)} ${hexOf(received.body)}`);
      const isFramed = header.operation !== Operation.SendMessages;
      reply = replica.committedFrame(received, isFramed ? encodeResult(0, payload) : payload);
      this.op = Math.max(this.op, replica.op);
      this.receipts.set(key, reply);
    }
    received.wire.write(reply);
  }

  #noteNumber({ header, frame }: Received): void {
    if (header.request === 0 || header.commandCode === cancelDeferredRequest.code) return;
    const key = String(header.request);
    const frames = this.requestNumbers.get(key) ?? new Set<string>();
    frames.add(identityOf(header, frame));
    this.requestNumbers.set(key, frames);
  }

  #isBound(replica: ClusterReplica, wire: Wire): boolean {
    const client = replica.bound.get(wire);
    return client !== undefined && this.sessions.has(client);
  }

  #register(replica: ClusterReplica, received: Received): void {
    const { wire, header } = received;
    const { username, secret } = credentialsOf(received);
    if (username !== undefined && !this.users.has(username)) {
      replica.evict(wire, "InvalidCredentials");
      return;
    }
    const known = this.sessions.get(header.client);
    const session = known ?? { epoch: BigInt(++this.op), secret, user: username ?? "token" };
    if (known === undefined) this.registrations++;
    this.sessions.set(header.client, session);
    replica.bound.set(wire, header.client);
    replica.session = session.epoch;
    const body = encodeResult(0, encodeResponse(loginRegister, replica.sessionReply()));
    replica.reply(received, body, { commit: this.op });
  }

  #bind(replica: ClusterReplica, received: Received): void {
    const { identity, bindSecret } = decodeRequest(bindSession, received.body);
    const session = this.sessions.get(identity.clientId);
    if (session?.epoch !== identity.session || session.secret !== hexOf(bindSecret)) {
      replica.refuse(received, 40);
      return;
    }
    replica.bound.set(received.wire, identity.clientId);
    replica.session = session.epoch;
    replica.reply(received, encodeResponse(loginRegister, replica.sessionReply()));
  }

  #route(replica: ClusterReplica, received: Received): void {
    const { partitionId } = decodeRequest(getPartitionRoute, received.body);
    const state = replica.beliefs.get(partitionId) ?? this.partitions.get(partitionId);
    if (state === undefined || replica.knowsNothing) {
      replica.refuse(received, 3007);
      return;
    }
    const { incarnation, view, primary: primaryReplica } = state;
    const partitionsCount = this.partitions.size;
    const route = { incarnation, metadataOp: BigInt(this.op), view, partitionsCount, primaryReplica };
    replica.reply(received, encodeResponse(getPartitionRoute, route));
  }

  #partitionWrite(replica: ClusterReplica, received: Received): void {
    const partitionId = partitionOf(received);
    if (!this.#admits(replica, received, partitionId)) return;
    const confirmations = [{ streamId: 1, topicId: 1, partitionId, baseOffset: 0n }];
    const isSend = received.code === sendMessages.code;
    this.commit(replica, received, isSend ? encodeResponse(sendMessages, { confirmations }) : new Uint8Array(0));
  }

  #poll(replica: ClusterReplica, received: Received): void {
    const isDeferred = received.code === pollMessagesDeferred.code;
    const poll = isDeferred
      ? decodeRequest(pollMessagesDeferred, received.body).poll
      : decodeRequest(pollMessages, received.body);
    const partitionId = poll.partitionId ?? 0;
    if (!this.#admits(replica, received, partitionId)) return;
    const { incarnation } = this.partition(partitionId);
    replica.reply(
      received,
      encodeResponse(pollMessagesDeferred, {
        partitionId,
        currentOffset: 0n,
        messagesCount: 0,
        context: { incarnation, ownerGeneration: 0n, metadataOp: BigInt(this.op) },
        records: new Uint8Array(0),
      }),
    );
  }

  #admits(replica: ClusterReplica, received: Received, partitionId: number): boolean {
    const state = this.partitions.get(partitionId);
    if (state === undefined) replica.refuse(received, 3007);
    else if (state.primary !== replica.replicaId) replica.refuse(received, 89);
    else if (received.header.partitionIncarnation !== Number(state.incarnation)) replica.refuse(received, 87);
    else return true;
    return false;
  }
}

function partitionOf(received: Received): number {
  if (received.code !== sendMessages.code) return 0;
  const { partitioning } = decodeRequest(sendMessages, received.body);
  return partitioning.kind === "partition_id" ? partitioning.partitionId : 0;
}

function credentialsOf({ body }: Received): { readonly username: string | undefined; readonly secret: string } {
  try {
    const { username, bindSecret } = decodeRequest(loginRegister, body);
    return { username, secret: hexOf(bindSecret) };
  } catch {
    return { username: undefined, secret: hexOf(decodeRequest(loginRegisterWithPat, body).bindSecret) };
  }
}

const waitingReads: ReadonlySet<number> = new Set([pollMessagesDeferred.code, fetchMessages.code]);

/** What makes a request the same one: everything but the budgets inside of a waiting read. */
const identityOf = ({ client, commandCode }: RequestHeader, frame: Uint8Array): string =>
  waitingReads.has(commandCode) ? `${String(client)}/${String(commandCode)}` : hexOf(frame);
