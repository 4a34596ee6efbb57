import { createHash } from "node:crypto";
import { type IncomingMessage, STATUS_CODES } from "node:http";

/** RFC 6455, 1.3. */
const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const VERSION = "13";

/** Why an upgrade is refused: the HTTP status, and further header lines that it needs. */
export interface UpgradeRefusal {
  readonly status: number;
  readonly headers: readonly string[];
  readonly reason: string;
}

type Upgrade = Pick<IncomingMessage, "method" | "httpVersionMajor" | "httpVersionMinor" | "headers">;

/**
 * Looks at the upgrade request of a client (RFC 6455, 4.2.1). Any path will do; subprotocols and extensions are not
 * spoken. Pages of every origin may connect: nothing that a browser adds on its own signs anybody in, so a foreign page can
 * do no more than any program.
 */
export function judgeUpgrade({
  method,
  httpVersionMajor,
  httpVersionMinor,
  headers,
}: Upgrade): UpgradeRefusal | undefined {
  if (method !== "GET" || httpVersionMajor < 1 || (httpVersionMajor === 1 && httpVersionMinor < 1)) {
    return refusal(400, "a WebSocket begins with a GET request of HTTP/1.1");
  }
  if (headers.upgrade?.toLowerCase() !== "websocket") return notWebSocket;
  if (headers["sec-websocket-version"] !== VERSION) {
    return refusal(426, `this server speaks WebSocket version ${VERSION}`, [`Sec-WebSocket-Version: ${VERSION}`]);
  }
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers["sec-websocket-key"] ?? "")) {
    return refusal(400, "Sec-WebSocket-Key must hold 16 bytes in base64");
  }
  return undefined;
}

/** The answer to a request that asked for something else. */
export const notWebSocket = refusal(426, "this port speaks WebSocket", ["Upgrade: websocket"]);

/** The response that opens the WebSocket. */
export function acceptance({ headers }: Upgrade): string {
  const key = headers["sec-websocket-key"] ?? "";
  const accept = createHash("sha1").update(key).update(ACCEPT_SUFFIX).digest("base64");
  return response(101, ["Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Accept: ${accept}`]);
}

/** The response that refuses it, as a whole. */
export function refusalResponse({ status, headers, reason }: UpgradeRefusal): string {
  const length = Buffer.byteLength(reason);
  const always = ["Connection: close", "Content-Type: text/plain; charset=utf-8", `Content-Length: ${length}`];
  return response(status, [...headers, ...always]) + reason;
}

function refusal(status: number, reason: string, headers: readonly string[] = []): UpgradeRefusal {
  return { status, reason, headers };
}

const response = (status: number, lines: readonly string[]): string =>
  [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines, "", ""].join("\r\n");
