import { randomBytes } from "node:crypto";
import {
  buildRequest,
  type Command,
  encodeRequest,
  loginRegister,
  decodeResponse,
  Operation,
  type RequestFields,
} from "@iggy/protocol";
import { connectQuic, probe, type QuicClient, type QuicDial, type QuicError } from "@iggy/quic";
import { type Answer, outcome, randomU128, readAnswer, versionInfo } from "../../raw-client/index.js";

const { available, reason } = probe();

/** For `describe.skipIf`: there is no QUIC without its addon. */
export const without = !available;
export const title = available ? "over QUIC" : `over QUIC, left out: ${reason}`;

const ANSWER_WITHIN_MILLIS = 10_000;

/** What came back on a stream. */
export type StreamEnd = Answer | { readonly kind: "empty" };

/** A QUIC connection on which a test writes what it likes, one stream for each write. */
export class RawQuic {
  readonly client: QuicClient;
  readonly closed: Promise<QuicError | undefined>;
  private readonly waiting: Map<number, (end: StreamEnd) => void>;
  private requests = 0;
  private session = 0n;
  private readonly id = randomU128();

  private constructor(
    client: QuicClient,
    closed: Promise<QuicError | undefined>,
    waiting: Map<number, (end: StreamEnd) => void>,
  ) {
    this.client = client;
    this.closed = closed;
    this.waiting = waiting;
  }

  static async connect(port: number, dial: Partial<QuicDial> = {}): Promise<RawQuic> {
    const waiting = new Map<number, (end: StreamEnd) => void>();
    let onClose: (error: QuicError | undefined) => void = () => undefined;
    const closed = new Promise<QuicError | undefined>((resolve) => (onClose = resolve));
    const settle = (stream: number, end: StreamEnd): void => {
      waiting.get(stream)?.(end);
      waiting.delete(stream);
    };
    const client = await connectQuic(
      { host: "127.0.0.1", port, rejectUnauthorized: false, ...dial },
      {
        onReply: (stream, bytes) => settle(stream, bytes.length === 0 ? { kind: "empty" } : readAnswer(bytes)),
        onFailed: (stream) => settle(stream, { kind: "closed" }),
        onDrain: () => undefined,
        onClose: (error) => {
          for (const stream of [...waiting.keys()]) settle(stream, { kind: "closed" });
          onClose(error);
        },
      },
    );
    return new RawQuic(client, closed, waiting);
  }

  /** Signed in as root. */
  static async open(port: number, dial?: Partial<QuicDial>): Promise<RawQuic> {
    const link = await RawQuic.connect(port, dial);
    const answer = await link.login("iggy", "iggy");
    if (answer.kind !== "ok") throw new Error(`sign-in: ${answer.kind === "empty" ? "empty" : outcome(answer)}`);
    link.session = decodeResponse(loginRegister, answer.payload).session;
    return link;
  }

  login(username: string, password: string): Promise<StreamEnd> {
    const secret = randomBytes(32);
    const body = encodeRequest(loginRegister, {
      versionInfo,
      bindSecret: secret,
      username,
      password,
      clientContext: null,
    });
    const fields = { client: this.id, operation: Operation.Register, requestChecksum: randomU128() };
    return this.end(this.write(buildRequest(fields, body)));
  }

  /** A frame of a command with a fresh number. */
  frame<Req>(command: Command<Req, unknown>, request: Req, overrides: Partial<RequestFields> = {}): Uint8Array {
    const { code, operation } = command;
    return buildRequest(
      {
        client: this.id,
        session: this.session,
        request: ++this.requests,
        operation,
        ...(operation === Operation.NonReplicated ? { commandCode: code } : { requestChecksum: randomU128() }),
        ...overrides,
      },
      encodeRequest(command, request),
    );
  }

  ask<Req>(command: Command<Req, unknown>, request: Req): Promise<StreamEnd> {
    return this.end(this.write(this.frame(command, request)));
  }

  /** Opens a stream with the bytes; gives its number. */
  write(bytes: Uint8Array): number {
    return this.client.request(bytes);
  }

  /** How a stream ends. */
  end(stream: number): Promise<StreamEnd> {
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new Error(`nothing on stream ${stream} within ${ANSWER_WITHIN_MILLIS} ms`));
      const timer = setTimeout(late, ANSWER_WITHIN_MILLIS);
      this.waiting.set(stream, (end) => {
        clearTimeout(timer);
        resolve(end);
      });
    });
  }
}

export const said = (end: StreamEnd): string => (end.kind === "empty" ? "empty" : outcome(end));
export const portOf = (address = ""): number => Number(address.slice(address.lastIndexOf(":") + 1));
