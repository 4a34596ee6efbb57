import { ErrorCode, IggyError } from "../errors/index.js";
import { parseDuration } from "./duration.js";
import { parseU64 } from "./number-text.js";

export type ConnectionTransport = "tcp" | "quic" | "http" | "websocket";

/** What the options of a connection string say. Times are milliseconds, sizes bytes; absent ones take their default. */
export interface ConnectionOptions {
  readonly heartbeatIntervalMs?: number;
  readonly maxPendingOperations?: number;
  readonly maxPendingOperationBytes?: number;
  readonly reconnectionRetries?: number | "unlimited";
  readonly reconnectionIntervalMs?: number;
  readonly reestablishAfterMs?: number;
  readonly tls?: boolean;
  readonly tlsDomain?: string;
  readonly tlsCaFile?: string;
  readonly validateCertificate?: boolean;
  readonly noDelay?: boolean;
  readonly responseBufferSize?: number;
  readonly maxConcurrentBidiStreams?: number;
  readonly datagramSendBufferSize?: number;
  readonly initialMtu?: number;
  readonly sendWindow?: number;
  readonly receiveWindow?: number;
  readonly keepAliveIntervalMs?: number;
  readonly maxIdleTimeoutMs?: number;
  readonly readBufferSize?: number;
  readonly writeBufferSize?: number;
  readonly maxWriteBufferSize?: number;
  readonly maxMessageSize?: number;
  readonly maxFrameSize?: number;
  readonly acceptUnmaskedFrames?: boolean;
  readonly retries?: number;
}

type OptionName = keyof ConnectionOptions;

/** Reads the text of a value; undefined for one that the key does not take. */
type ReadValue = (text: string) => number | string | boolean | undefined;

interface OptionRule {
  readonly name: OptionName;
  readonly transports: readonly ConnectionTransport[];
  readonly read: ReadValue;
  /** Error of a value that does not fit, where it is not `InvalidConnectionString`. */
  readonly refusedWith?: number;
}

const durationMs: ReadValue = (text) => {
  try {
    return Number(parseDuration(text)) / 1000;
  } catch (error) {
    if (error instanceof IggyError) return undefined;
    throw error;
  }
};
const positiveDurationMs: ReadValue = (text) => durationMs(text) || undefined;
const wholeUpTo =
  (max: bigint, min = 0n): ReadValue =>
  (text) => {
    const value = parseU64(text);
    return value === undefined || value < min || value > max ? undefined : Number(value);
  };
const u32Max = 0xffff_ffffn;
const size = wholeUpTo(BigInt(Number.MAX_SAFE_INTEGER));
const positive = wholeUpTo(BigInt(Number.MAX_SAFE_INTEGER), 1n);
const u32 = wholeUpTo(u32Max);
const retries: ReadValue = (text) => (text === "unlimited" ? text : u32(text));
const flag: ReadValue = (text) => text === "true";
const words: ReadValue = (text) => text;

const streams = ["tcp", "quic", "websocket"] as const;
const quic = ["quic"] as const;
const websocket = ["websocket"] as const;

const rules: readonly (readonly [key: string, rule: OptionRule])[] = [
  ["heartbeat_interval", { name: "heartbeatIntervalMs", transports: [...streams, "http"], read: positiveDurationMs }],
  ["max_pending_operations", { name: "maxPendingOperations", transports: streams, read: positive }],
  ["max_pending_operation_bytes", { name: "maxPendingOperationBytes", transports: streams, read: positive }],
  [
    "reconnection_retries",
    { name: "reconnectionRetries", transports: ["tcp"], read: retries, refusedWith: ErrorCode.InvalidNumberValue },
  ],
  ["reconnection_retries", { name: "reconnectionRetries", transports: websocket, read: retries }],
  [
    "reconnection_max_retries",
    { name: "reconnectionRetries", transports: quic, read: retries, refusedWith: ErrorCode.InvalidNumberValue },
  ],
  ["reconnection_interval", { name: "reconnectionIntervalMs", transports: streams, read: positiveDurationMs }],
  ["reestablish_after", { name: "reestablishAfterMs", transports: ["tcp", "websocket"], read: durationMs }],
  ["reconnection_reestablish_after", { name: "reestablishAfterMs", transports: quic, read: durationMs }],
  ["tls", { name: "tls", transports: ["tcp", "websocket"], read: flag }],
  ["tls_domain", { name: "tlsDomain", transports: ["tcp", "websocket"], read: words }],
  ["tls_ca_file", { name: "tlsCaFile", transports: ["tcp", "websocket"], read: words }],
  ["tls_validate_certificate", { name: "validateCertificate", transports: websocket, read: flag }],
  ["validate_certificate", { name: "validateCertificate", transports: quic, read: flag }],
  ["nodelay", { name: "noDelay", transports: ["tcp"], read: flag }],
  ["response_buffer_size", { name: "responseBufferSize", transports: quic, read: size }],
  ["max_concurrent_bidi_streams", { name: "maxConcurrentBidiStreams", transports: quic, read: size }],
  ["datagram_send_buffer_size", { name: "datagramSendBufferSize", transports: quic, read: size }],
  ["initial_mtu", { name: "initialMtu", transports: quic, read: wholeUpTo(0xffffn) }],
  ["send_window", { name: "sendWindow", transports: quic, read: size }],
  ["receive_window", { name: "receiveWindow", transports: quic, read: size }],
  ["keep_alive_interval", { name: "keepAliveIntervalMs", transports: quic, read: size }],
  ["max_idle_timeout", { name: "maxIdleTimeoutMs", transports: quic, read: size }],
  ["read_buffer_size", { name: "readBufferSize", transports: websocket, read: size }],
  ["write_buffer_size", { name: "writeBufferSize", transports: websocket, read: size }],
  ["max_write_buffer_size", { name: "maxWriteBufferSize", transports: websocket, read: size }],
  ["max_message_size", { name: "maxMessageSize", transports: websocket, read: size }],
  ["max_frame_size", { name: "maxFrameSize", transports: websocket, read: size }],
  ["accept_unmasked_frames", { name: "acceptUnmaskedFrames", transports: websocket, read: flag }],
  ["retries", { name: "retries", transports: ["http"], read: u32 }],
];

/** The options of a transport, by the key that a connection string uses. */
export function connectionOptionKeys(transport: ConnectionTransport): readonly string[] {
  return rules.filter(([, rule]) => rule.transports.includes(transport)).map(([key]) => key);
}

/** Reads `key=value` pairs. The last of two equal keys counts. Texts of refusals name the key and not the value. */
export function readConnectionOptions(transport: ConnectionTransport, pairs: readonly string[]): ConnectionOptions {
  return Object.fromEntries(pairs.map((pair) => readOption(transport, pair)));
}

function readOption(transport: ConnectionTransport, pair: string): [OptionName, number | string | boolean] {
  const [key = "", text, ...more] = pair.split("=");
  if (text === undefined || more.length > 0) throw refused(`option "${shown(key)}" takes one "="`);
  const rule = rules.find(([name, { transports }]) => name === key && transports.includes(transport))?.[1];
  if (rule === undefined) throw refused(`${transport} has no option "${shown(key)}"`);
  const value = rule.read(text);
  if (value === undefined) throw refused(`option "${key}" does not take its value`, rule.refusedWith);
  return [rule.name, value];
}

const shown = (key: string): string => key.slice(0, 64);

export const refused = (detail: string, code: number = ErrorCode.InvalidConnectionString): IggyError =>
  new IggyError(code, `connection string: ${detail}`);
