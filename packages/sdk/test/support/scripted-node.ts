import {
  commandByCode,
  commandByOperation,
  decodeRequest,
  encodeResponse,
  encodeResult,
  EvictionReason,
  type EvictionReasonName,
  FrameAssembler,
  getClusterMetadata,
  getPartitionRoute,
  HEADER_SIZE,
  isPartitionOperation,
  isResultFramed,
  loginRegister,
  loginRegisterWithPat,
  NodeRole,
  NodeStatus,
  Operation,
  ping,
  PROTOCOL_VERSION,
  RequestHeader,
  sendMessages,
  writeCommittedReply,
  writeEviction,
  writeReplyEcho,
} from "@iggy/protocol";

/** The server's end of a connection. */
export interface Wire {
  write(bytes: Uint8Array): void;
  /** Ends it in order, after what was written. */
  end(): void;
  /** Breaks it. */
  reset(): void;
}

/** A request as the server got it. */
export interface Received {
  readonly wire: Wire;
  readonly header: RequestHeader;
  readonly frame: Uint8Array;
  readonly body: Uint8Array;
  /** Code of the command: from the header of a read, from the operation of a write. 40 for every registration. */
  readonly code: number;
  readonly request: number;
}

export type Handler = (received: Received, node: ScriptedNode) => void;

/** A server of one node whose answers a test writes. It keeps every request. */
export class ScriptedNode {
  readonly received: Received[] = [];
  readonly wires = new Set<Wire>();
  /** Answers instead of the node; it may call `answer` for what it leaves alone. */
  handler: Handler | undefined;
  port = 8090;
  /** Position of the metadata log; grows with every committed write. */
  op = 4711;
  session = 4711n;
  userId = 0;
  partitionsCount = 3;
  incarnation = 41n;
  view = 1;
  /** How often a wire was opened. */
  dials = 0;

  constructor(handler?: Handler) {
    this.handler = handler;
  }

  /** Takes a connection; the result takes its bytes. */
  accept(wire: Wire): (chunk: Uint8Array) => void {
    this.dials++;
    this.wires.add(wire);
    const assembler = new FrameAssembler();
    return (chunk) => assembler.push(chunk, (frame) => this.#onFrame(wire, frame));
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

  dropAll(): void {
    for (const wire of [...this.wires]) wire.reset();
  }

  /** What a healthy node answers. */
  answer(received: Received): void {
    const { code } = received;
    const command = commandByCode(code);
    if (code === 108) return;
    if (code === loginRegister.code || code === loginRegisterWithPat.code) {
      this.reply(received, encodeResult(0, encodeResponse(loginRegister, this.sessionReply())), { commit: this.op });
    } else if (code === 15) this.reply(received, encodeResponse(loginRegister, this.sessionReply()));
    else if (code === ping.code) this.reply(received);
    else if (code === getClusterMetadata.code) this.reply(received, encodeResponse(getClusterMetadata, this.roster()));
    else if (code === getPartitionRoute.code) this.reply(received, encodeResponse(getPartitionRoute, this.route()));
    else if (code === sendMessages.code) this.commit(received, this.confirmation(received));
    else if (command !== undefined && command.operation !== Operation.NonReplicated) this.commit(received);
    else this.reply(received);
  }

  sessionReply() {
    return {
      userId: this.userId,
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
    { wire, header }: Received,
    body: Uint8Array = new Uint8Array(0),
    { commit = 0, status = 0 }: { readonly commit?: number; readonly status?: number } = {},
  ): void {
    const frame = new Uint8Array(HEADER_SIZE + body.length);
    writeReplyEcho(frame, 0, header, { bodyLength: body.length, commit, status });
    frame.set(body, HEADER_SIZE);
    wire.write(frame);
  }

  /** A refusal by status. */
  refuse(received: Received, status: number): void {
    this.reply(received, new Uint8Array(0), { status });
  }

  /** A refusal in a result section, committed or not. */
  reject(received: Received, code: number, { committed = false }: { readonly committed?: boolean } = {}): void {
    if (committed) received.wire.write(this.committedFrame(received, encodeResult(code)));
    else this.reply(received, encodeResult(code));
  }

  /** The result of a committed operation. */
  commit(received: Received, payload: Uint8Array = new Uint8Array(0)): void {
    const body = isResultFramed(received.header.operation) ? encodeResult(0, payload) : payload;
    received.wire.write(this.committedFrame(received, body));
  }

  committedFrame({ header }: Received, body: Uint8Array): Uint8Array {
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

  evict(wire: Wire, reason: EvictionReasonName): void {
    const frame = new Uint8Array(HEADER_SIZE);
    const window =
      reason === "IncompatibleProtocol"
        ? { serverProtocolVersion: PROTOCOL_VERSION + 1, serverProtocolVersionMin: PROTOCOL_VERSION + 1 }
        : {};
    writeEviction(frame, 0, { client: 1n, reason: EvictionReason[reason], ...window });
    wire.write(frame);
    wire.end();
  }

  #onFrame(wire: Wire, frame: Uint8Array): void {
    const copy = new Uint8Array(frame);
    const header = new RequestHeader().at(copy);
    const received: Received = {
      wire,
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
}

function codeOf(header: RequestHeader): number {
  if (header.operation === Operation.NonReplicated) return header.commandCode;
  if (header.operation === Operation.Register) return loginRegister.code;
  return commandByOperation(header.operation)?.code ?? -1;
}
