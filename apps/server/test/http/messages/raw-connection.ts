import { connect, type Socket } from "node:net";
import { once } from "node:events";
import type { Api } from "./api-client.js";

/** A connection that speaks HTTP/1.1 as slowly and as wrongly as a test wants. */
export class RawConnection implements Disposable {
  readonly socket: Socket;
  private received = "";

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
  }

  static async open(api: Api): Promise<RawConnection> {
    const { hostname, port } = new URL(api.base);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  head(api: Api, line: string, fields: readonly string[] = []): void {
    const head = [`${line} HTTP/1.1`, "host: test", `authorization: ${api.authorization}`, ...fields];
    this.socket.write(`${head.join("\r\n")}\r\n\r\n`);
  }

  /** Everything until the server closes, or until it fulfils the condition. */
  async until(isEnough: (text: string) => boolean): Promise<string> {
    while (!isEnough(this.received)) {
      const chunk = await new Promise<Buffer | undefined>((resolve) => {
        this.socket.once("data", resolve);
        this.socket.once("close", () => resolve(undefined));
      });
      this.socket.removeAllListeners("data").removeAllListeners("close");
      if (chunk === undefined) break;
      this.received += chunk.toString("latin1");
    }
    return this.received;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
