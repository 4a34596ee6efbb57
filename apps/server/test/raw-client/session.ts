import { randomBytes } from "node:crypto";
import {
  bindSession,
  buildRequest,
  type Command,
  decodeResponse,
  encodeRequest,
  isMetadataOperation,
  loginRegister,
  loginRegisterWithPat,
  Operation,
  PROTOCOL_VERSION,
  type ReplyHeader,
  type RequestFields,
} from "@iggy/protocol";
import { type Answer, outcome } from "./answer.js";
import { type LinkOptions, RawLink } from "./link.js";

export type Overrides = Partial<Omit<RequestFields, "bodyLength">>;

export const versionInfo = { protocolVersion: PROTOCOL_VERSION, sdkName: "raw-client", sdkVersion: "1.0.0" };

export const randomU128 = (): bigint => BigInt(`0x${randomBytes(16).toString("hex")}`) | 1n;

/**
 * A logical session and the link that carries its requests. Numbers requests as a client does, keeps the metadata
 * watermark, and lets a test override every header field.
 */
export class RawSession {
  readonly client: bigint;
  readonly secret: Uint8Array;
  readonly registerChecksum = randomU128();
  link: RawLink;
  session = 0n;
  userId = -1;
  watermark = 0;
  private requests = 0;

  constructor(link: RawLink, client = randomU128(), secret: Uint8Array = randomBytes(32)) {
    this.link = link;
    this.client = client;
    this.secret = secret;
  }

  /** Connects and signs in; as root unless credentials are given. */
  static async open(port: number, credentials: Credentials = root, options?: LinkOptions): Promise<RawSession> {
    const session = new RawSession(await RawLink.connect(port, options));
    const answer = await session.login(credentials);
    if (answer.kind !== "ok") throw new Error(`sign-in: ${outcome(answer)}`);
    return session;
  }

  /** Registers, with the same identity every time: a repetition is a retry. */
  async login({ username, password }: Credentials = root): Promise<Answer> {
    const body = encodeRequest(loginRegister, {
      versionInfo,
      bindSecret: this.secret,
      username,
      password,
      clientContext: null,
    });
    return this.signedIn(await this.link.ask(this.registerFrame(body)));
  }

  async loginWithToken(token: string): Promise<Answer> {
    const request = { versionInfo, bindSecret: this.secret, token, clientContext: null };
    return this.signedIn(await this.link.ask(this.registerFrame(encodeRequest(loginRegisterWithPat, request))));
  }

  registerFrame(body: Uint8Array, overrides: Overrides = {}): Uint8Array {
    return buildRequest(
      { client: this.client, operation: Operation.Register, requestChecksum: this.registerChecksum, ...overrides },
      body,
    );
  }

  /** Binds a further link to this session and goes on with it. */
  async bind(link: RawLink, options: { readonly session?: bigint } = {}): Promise<Answer> {
    this.link = link;
    const session = options.session ?? this.session;
    const identity = { clientId: this.client, session, metadataWatermark: BigInt(this.watermark) };
    const body = encodeRequest(bindSession, { versionInfo, identity, bindSecret: this.secret });
    const unnumbered = session === 0n ? { session: 0, request: 0 } : {};
    return this.signedIn(await link.ask(this.frame(bindSession, body, unnumbered)));
  }

  nextRequest(): number {
    return ++this.requests;
  }

  /** A request frame of this session with a fresh number. */
  frame(
    command: Pick<Command<unknown, unknown>, "code" | "operation">,
    body: Uint8Array,
    overrides: Overrides = {},
  ): Uint8Array {
    const { code, operation } = command;
    const isRead = operation === Operation.NonReplicated;
    const hasChecksum =
      isMetadataOperation(operation) || operation === Operation.DeleteSegments || operation === Operation.Logout;
    return buildRequest(
      {
        client: this.client,
        session: this.session,
        request: overrides.request ?? this.nextRequest(),
        operation,
        ...(isRead ? { commandCode: code, minimumMetadataOp: this.watermark } : {}),
        ...(hasChecksum ? { requestChecksum: randomU128() } : {}),
        ...overrides,
      },
      body,
    );
  }

  /** Sends a raw body under a command's code. */
  send(
    command: Pick<Command<unknown, unknown>, "code" | "operation">,
    body: Uint8Array,
    overrides?: Overrides,
  ): Promise<Answer> {
    return this.deliver(this.frame(command, body, overrides));
  }

  /** Sends a request and gives the raw answer. */
  ask<Req, Res>(command: Command<Req, Res>, request: Req, overrides?: Overrides): Promise<Answer> {
    return this.send(command, encodeRequest(command, request), overrides);
  }

  /** The outcome of a request in the words of the tests' tables. */
  async try<Req, Res>(command: Command<Req, Res>, request: Req, overrides?: Overrides): Promise<string> {
    return outcome(await this.ask(command, request, overrides));
  }

  /** Sends a request that has to succeed and gives its decoded reply. */
  async call<Req, Res>(command: Command<Req, Res>, request: Req, overrides?: Overrides): Promise<Res> {
    return this.decoded(command, await this.ask(command, request, overrides));
  }

  decoded<Res>(command: Command<unknown, Res>, answer: Answer): Res {
    if (answer.kind !== "ok") throw new Error(`${command.title}: ${outcome(answer)}`);
    return decodeResponse(command, answer.payload);
  }

  /** Sends a frame made before. */
  async deliver(frame: Uint8Array): Promise<Answer> {
    const answer = await this.link.ask(frame);
    const header = answer.kind === "ok" || answer.kind === "refused" ? answer.header : undefined;
    if (header !== undefined && raisesWatermark(header)) this.watermark = Math.max(this.watermark, header.commit);
    return answer;
  }

  async close(): Promise<void> {
    await this.link.end();
  }

  private signedIn(answer: Answer): Answer {
    if (answer.kind === "ok") {
      const { session, userId } = decodeResponse(loginRegister, answer.payload);
      this.session = session;
      this.userId = userId;
      this.watermark = Math.max(this.watermark, answer.header.commit);
    }
    return answer;
  }
}

/** Positions of the metadata log come in every reply but those of reads and partitions. */
const raisesWatermark = ({ operation }: ReplyHeader): boolean =>
  operation !== Operation.NonReplicated && operation < Operation.SendMessages;

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export const root: Credentials = { username: "iggy", password: "iggy" };
