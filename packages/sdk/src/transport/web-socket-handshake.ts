import { createHash, randomBytes } from "node:crypto";
import { type Endpoint, endpointText } from "./transport.js";

/** RFC 6455, 1.3. */
const acceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** The response of a server to an upgrade is short; a proxy may add some lines of its own. */
const maxResponseBytes = 16_384;
const endOfHeaders = "\r\n\r\n";

/** The upgrade request of a client, and what becomes of the response to it. */
export class UpgradeRequest {
  readonly text: string;
  readonly #accept: string;
  readonly #protocols: readonly string[];
  #received = Buffer.alloc(0);

  constructor(endpoint: Endpoint, path: string, protocols: readonly string[]) {
    const key = randomBytes(16).toString("base64");
    this.#accept = createHash("sha1").update(key).update(acceptSuffix).digest("base64");
    this.#protocols = protocols;
    this.text = [
      `GET ${path} HTTP/1.1`,
      `Host: ${endpointText(endpoint)}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Key: ${key}`,
      ...(protocols.length === 0 ? [] : [`Sec-WebSocket-Protocol: ${protocols.join(", ")}`]),
      "",
      "",
    ].join("\r\n");
  }

  /**
   * Takes the next bytes of the response. Once it is there as a whole, gives what followed it. Throws an Error that says
   * why the response opens no WebSocket.
   */
  take(chunk: Uint8Array): Uint8Array | undefined {
    this.#received = Buffer.concat([this.#received, chunk]);
    const end = this.#received.indexOf(endOfHeaders);
    if ((end < 0 ? this.#received.length : end) > maxResponseBytes) {
      throw new Error(`the response to the upgrade exceeds ${String(maxResponseBytes)} bytes`);
    }
    if (end < 0) return undefined;
    this.#check(this.#received.toString("latin1", 0, end));
    return this.#received.subarray(end + endOfHeaders.length);
  }

  #check(response: string): void {
    const [status = "", ...lines] = response.split("\r\n");
    const [, code, phrase = ""] = /^HTTP\/1\.1 ([0-9]{3}) ?(.*)$/.exec(status) ?? [];
    if (code === undefined) throw new Error("the server does not speak HTTP, so it opens no WebSocket");
    if (code !== "101") throw new Error(`the server refused the upgrade to WebSocket: ${code} ${phrase}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    const isUpgraded =
      headers.get("upgrade")?.toLowerCase() === "websocket" && /\bupgrade\b/i.test(headers.get("connection") ?? "");
    if (!isUpgraded || headers.get("sec-websocket-accept") !== this.#accept) {
      throw new Error("the server answered the upgrade for something else");
    }
    if (headers.has("sec-websocket-extensions")) throw new Error("the server chose an extension that was not offered");
    const protocol = headers.get("sec-websocket-protocol");
    if (protocol !== undefined && !this.#protocols.includes(protocol)) {
      throw new Error("the server chose a subprotocol that was not offered");
    }
  }
}
