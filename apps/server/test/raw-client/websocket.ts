import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import {
  maskInto,
  readWebSocketClose,
  webSocketHeaderSize,
  WebSocketOpcode,
  WebSocketReader,
  writeWebSocketHeader,
} from "@iggy/protocol";

export interface UpgradeOptions {
  readonly method?: string;
  readonly path?: string;
  readonly httpVersion?: string;
  /** Replaces, adds, or with undefined leaves out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** The example of RFC 6455, 1.3. */
const KEY = "dGhlIHNhbXBsZSBub25jZQ==";

export function upgradeRequest({
  method = "GET",
  path = "/",
  httpVersion = "1.1",
  headers = {},
}: UpgradeOptions = {}): string {
  const all: Readonly<Record<string, string | undefined>> = {
    Host: "localhost",
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": KEY,
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [`${method} ${path} HTTP/${httpVersion}`, ...lines, "", ""].join("\r\n");
}

export interface FramePart {
  readonly opcode?: number;
  readonly isFinal?: boolean;
  /** Undefined sends it unmasked. */
  readonly key?: Uint8Array | undefined;
}

const DEFAULT_KEY = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d);

/** A WebSocket frame as a client sends it, whole and masked unless told otherwise. */
export function clientFrame(payload: Uint8Array, part: FramePart = {}): Buffer {
  const { opcode = WebSocketOpcode.binary, isFinal = true } = part;
  const key = "key" in part ? part.key : DEFAULT_KEY;
  const frame = Buffer.alloc(webSocketHeaderSize(payload.length, key !== undefined) + payload.length);
  const at = writeWebSocketHeader(frame, opcode, payload.length, key);
  if (!isFinal) frame[0] = (frame[0] ?? 0) & 0x7f;
  if (key === undefined) frame.set(payload, at);
  else maskInto(frame, at, payload, key);
  return frame;
}

/** A connection to a WebSocket port, byte by byte. It answers nothing by itself. */
export class RawWebSocket {
  readonly socket: Socket;
  /** Head of the response to the upgrade. */
  response = "";
  readonly messages: Buffer[] = [];
  readonly pongs: string[] = [];
  /** What the Close frame of the server said. */
  close: { readonly code: number; readonly reason: string } | undefined;
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>;
  /** WebSocket frames that held messages. */
  frames = 0;
  private readonly upgraded: Promise<void>;
  private readonly waiting: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    let settle: () => void = () => undefined;
    this.upgraded = new Promise((resolve) => (settle = resolve));
    let parts: Buffer[] = [];
    const reader = new WebSocketReader(
      {
        messageStart: () => (parts = []),
        payload: (bytes) => parts.push(Buffer.from(bytes)),
        messageEnd: () => this.messages.push(Buffer.concat(parts)),
        control: (opcode, payload) => {
          if (opcode === WebSocketOpcode.pong) this.pongs.push(Buffer.from(payload).toString());
          if (opcode === WebSocketOpcode.close) this.close = readWebSocketClose(payload);
        },
      },
      { maxFrameBytes: Infinity, maxMessageBytes: Infinity },
      "forbidden",
    );
    let head = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      if (this.response === "") {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        this.response = head.toString("latin1", 0, end);
        settle();
        // A refusal has a text behind it.
        if (this.isOpen) reader.push(Buffer.from(head.subarray(end + 4)));
      } else if (this.isOpen) reader.push(chunk);
      for (const wake of this.waiting.splice(0)) wake();
    });
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        settle();
        resolve();
        for (const wake of this.waiting.splice(0)) wake();
      });
    });
  }

  /** Connects without a word. */
  static async dial(port: number, { tls = false } = {}): Promise<RawWebSocket> {
    const socket = tls
      ? connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false })
      : connectTcp({ host: "127.0.0.1", port, noDelay: true, allowHalfOpen: true });
    await once(socket, tls ? "secureConnect" : "connect");
    return new RawWebSocket(socket);
  }

  static async open(port: number, options: UpgradeOptions & { readonly tls?: boolean } = {}): Promise<RawWebSocket> {
    const link = await RawWebSocket.dial(port, options);
    link.write(upgradeRequest(options));
    await link.upgraded;
    return link;
  }

  get isOpen(): boolean {
    return this.response.startsWith("HTTP/1.1 101");
  }

  write(bytes: Uint8Array | string): void {
    this.socket.write(bytes);
  }

  send(payload: Uint8Array, part?: FramePart): void {
    this.write(clientFrame(payload, part));
  }

  /** Waits until something holds of what arrived. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.socket.destroyed) throw new Error("the connection ended before that");
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  /** The code that the server closes with; undefined without a Close frame. */
  async closeCode(): Promise<number | undefined> {
    await this.closed;
    return this.close?.code;
  }

  async end(): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}
