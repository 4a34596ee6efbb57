import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import { timerMillis } from "../../timer-limit.js";
import { acceptance, judgeUpgrade, notWebSocket, refusalResponse } from "./handshake.js";

/** Header bytes of an upgrade request; those of browsers carry cookies of other services on the same host. */
const HEADER_BYTES_MAX = 16 * 1024;

export interface UpgradeDeskOptions {
  /** A connection that has not become a WebSocket within this time is closed. */
  readonly graceMillis: number;
  /** The socket is a WebSocket from here on; `head` arrived behind the request. */
  readonly onUpgraded: (socket: Socket, head: Uint8Array) => void;
}

/** Makes WebSockets of connections that ask for it, and sends everybody else away with an HTTP response. */
export class UpgradeDesk {
  private readonly options: UpgradeDeskOptions;
  /** Parses requests; it listens on no port of its own. */
  private readonly http: Server;
  private readonly deadlines = new Map<Socket, NodeJS.Timeout>();

  constructor(options: UpgradeDeskOptions) {
    this.options = options;
    this.http = createServer({ maxHeaderSize: HEADER_BYTES_MAX });
    this.http.on("upgrade", (request: IncomingMessage, _stream, head: Uint8Array) => {
      this.upgrade(request, head);
    });
    this.http.on("request", ({ socket }: IncomingMessage) => socket.end(refusalResponse(notWebSocket)));
  }

  /** Takes a connection that was just accepted. */
  take(socket: Socket): void {
    const deadline = setTimeout(() => socket.destroy(), timerMillis(this.options.graceMillis));
    deadline.unref();
    this.deadlines.set(socket, deadline);
    socket.once("close", () => this.forget(socket));
    this.http.emit("connection", socket);
  }

  private upgrade(request: IncomingMessage, head: Uint8Array): void {
    const { socket } = request;
    // The parser let go of the socket, and with it of its errors; "close" follows them.
    socket.on("error", () => undefined);
    const refusal = judgeUpgrade(request);
    if (refusal !== undefined) {
      socket.end(refusalResponse(refusal));
      socket.resume();
      return;
    }
    this.forget(socket);
    socket.write(acceptance(request));
    this.options.onUpgraded(socket, head);
  }

  private forget(socket: Socket): void {
    clearTimeout(this.deadlines.get(socket));
    this.deadlines.delete(socket);
  }
}
