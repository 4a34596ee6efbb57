import { createServer, type Server, type Socket } from "node:net";
import {
  commandByCode,
  commandByOperation,
  decodeRequest,
  FrameAssembler,
  getClusterMetadata,
  getPartitionRoute,
  HEADER_SIZE,
  loginRegister,
  Operation,
  encodeResponse,
  encodeResult,
  EvictionReason,
  type EvictionReasonName,
  isPartitionOperation,
  isResultFramed,
  NodeRole,
  NodeStatus,
  ping,
  PROTOCOL_VERSION,
  RequestHeader,
  sendMessages,
  writeCommittedReply,
  writeEviction,
  writeReplyEcho,
} from "@iggy/protocol";

/** A request as the server got it. */
export interface Received {
  readonly connection: Connection;
  readonly header: RequestHeader;
  readonly frame: Uint8Array;
  readonly body: Uint8Array;
  /** Code of the command: from the header of a read, from the operation of a write. 40 for a registration. */
  readonly code: number;
  readonly request: number;
}

/** One accepted connection. */
export class Connection {
  readonly socket: Socket;
  readonly number: number;

  constructor(socket: Socket, number: number) {
    this.socket = socket;
    this.number = number;
  }

  write(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  evict(reason: EvictionReasonName, client = 1n): void {
    const frame = new Uint8Array(HEADER_SIZE);
    const window =
      reason === "IncompatibleProtocol"
        ? { serverProtocolVersion: PROTOCOL_VERSION, serverProtocolVersionMin: PROTOCOL_VERSION }
        : {};
    writeEviction(frame, 0, { client, reason: EvictionReason[reason], ...window });
    this.socket.end(frame);
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }
}

export type Handler = (received: Received, server: ScriptedServer) => void;

/** A server of one node whose answers a test writes. It keeps every request. */
export class ScriptedServer implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly connections: Connection[] = [];
  handler: Handler | undefined;
  /** Position of the metadata log; grows with every committed write. */
  op = 4711;
  session = 4711n;
  partitionsCount = 3;
  incarnation = 41n;
  view = 1;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(handler: Handler | undefined) {
    this.handler = handler;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async start(handler?: Handler, port = 0): Promise<ScriptedServer> {
    const server = new ScriptedServer(handler);
    await new Promise<void>((resolve, reject) => {
      server.#server.once("error", reject);
      server.#server.listen(port, "127.0.0.1", resolve);
    });
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return address.port;
  }

  /** Requests of one command, in order. */
  of(command: { readonly code: number }): Received[] {
    return this.received.filter(({ code }) => code === command.code);
  }

  /** Waits until that many requests of a command came. */
  async until(command: { readonly code: number }, count: number): Promise<Received[]> {
    while (this.of(command).length < count) await new Promise((resolve) => setTimeout(resolve, 1));
    return this.of(command);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Closes every connection. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
    const connection = new Connection(socket, this.connections.length);
    this.connections.push(connection);
    const assembler = new FrameAssembler();
    socket.on("data", (chunk) => assembler.push(chunk, (frame) => this.#onFrame(connection, frame)));
  }

  #onFrame(connection: Connection, frame: Uint8Array): void {
    const copy = new Uint8Array(frame);
    const header = new RequestHeader().at(copy);
    const received: Received = {
      connection,
      header,
      frame: copy,
      body: copy.subarray(HEADER_SIZE),
      code: codeOf(header),
      request: header.request,
    };
    this.received.push(received);
    if (this.handler === undefined) this.answer(received);
    else this.handler(received, this);
  }

  /** What a healthy node would answer. */
  answer(received: Received): void {
    const { code } = received;
    const command = commandByCode(code);
    if (code === 108) return;
    if (code === 40 || code === 45) {
      this.reply(received, encodeResult(0, encodeResponse(loginRegister, this.sessionReply())), { commit: this.op });
    } else if (code === 15) this.reply(received, encodeResponse(loginRegister, this.sessionReply()));
    else if (code === ping.code) this.reply(received, new Uint8Array(0));
    else if (code === getClusterMetadata.code) this.reply(received, encodeResponse(getClusterMetadata, this.roster()));
    else if (code === getPartitionRoute.code) this.reply(received, encodeResponse(getPartitionRoute, this.route()));
    else if (code === sendMessages.code) this.commit(received, this.confirmation(received));
    else if (command !== undefined && command.operation !== Operation.NonReplicated) this.commit(received);
    else this.reply(received, new Uint8Array(0));
  }

  sessionReply() {
    return {
      userId: 0,
      session: this.session,
      serverProtocolVersion: PROTOCOL_VERSION,
      serverVersion: "0.10.0",
    };
  }

  roster() {
    return {
      name: "scripted",
      nodes: [
        {
          replicaId: 0,
          name: "n0",
          ip: "127.0.0.1",
          tcpPort: this.port,
          quicPort: 0,
          httpPort: 0,
          websocketPort: 0,
          role: NodeRole.leader,
          status: NodeStatus.healthy,
        },
      ],
    };
  }

  route() {
    return {
      incarnation: this.incarnation,
      metadataOp: BigInt(this.op),
      view: this.view,
      partitionsCount: this.partitionsCount,
      primaryReplica: 0,
    };
  }

  confirmation(received: Received): Uint8Array {
    const { partitioning } = decodeRequest(sendMessages, received.body);
    const partitionId = partitioning.kind === "partition_id" ? partitioning.partitionId : 0;
    return encodeResponse(sendMessages, {
      confirmations: [{ streamId: 1, topicId: 1, partitionId, baseOffset: 0n }],
    });
  }

  /** A reply that no commit stands behind. */
  reply(
    { connection, header }: Received,
    body: Uint8Array = new Uint8Array(0),
    { commit = 0, status = 0 }: { readonly commit?: number; readonly status?: number } = {},
  ): void {
    const frame = new Uint8Array(HEADER_SIZE + body.length);
    writeReplyEcho(frame, 0, header, { bodyLength: body.length, commit, status });
    frame.set(body, HEADER_SIZE);
    connection.write(frame);
  }

  /** A refusal by status. */
  refuse(received: Received, status: number): void {
    this.reply(received, new Uint8Array(0), { status });
  }

  /** A refusal in a result section, committed or not. */
  reject(received: Received, code: number, { committed = false }: { readonly committed?: boolean } = {}): void {
    if (committed) this.#commitBody(received, encodeResult(code));
    else this.reply(received, encodeResult(code));
  }

  /** The result of a committed operation. */
  commit(received: Received, payload: Uint8Array = new Uint8Array(0)): void {
    this.#commitBody(received, isResultFramed(received.header.operation) ? encodeResult(0, payload) : payload);
  }

  committedFrame(received: Received, body: Uint8Array): Uint8Array {
    const { header } = received;
    if (!isPartitionOperation(header.operation)) this.op++;
    const frame = new Uint8Array(HEADER_SIZE + body.length);
    writeCommittedReply(frame, 0, {
      bodyLength: body.length,
      client: header.client,
      requestChecksum: header.requestChecksum,
      op: this.op,
      timestamp: 1,
      request: header.request,
      operation: header.operation,
      partitionIncarnation: header.partitionIncarnation,
    });
    frame.set(body, HEADER_SIZE);
    return frame;
  }

  #commitBody(received: Received, body: Uint8Array): void {
    received.connection.write(this.committedFrame(received, body));
  }
}

function codeOf(header: RequestHeader): number {
  if (header.operation === Operation.NonReplicated) return header.commandCode;
  if (header.operation === Operation.Register) return 40;
  return commandByOperation(header.operation)?.code ?? -1;
}

export const nothing = new Uint8Array(0);
