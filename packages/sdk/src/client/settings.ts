import { ErrorCode, utf8Length } from "@iggy/protocol";
import { systemClock } from "../api/outgoing-messages.js";
import { ValidationError } from "../errors/index.js";
import type { ReconnectSettings } from "../session/reconnect-settings.js";
import type { Random } from "../time/backoff.js";
import type { Endpoint } from "../transport/index.js";
import { integer } from "../values/check.js";
import { milliseconds } from "../values/duration.js";
import { sdkVersion } from "../version.js";
import { checkedEndpoint, parseEndpoint } from "./address.js";
import {
  type ClientConfig,
  DEFAULT_HEARTBEAT_INTERVAL,
  DEFAULT_MAX_RESPONSE_FRAME_SIZE,
  MAX_HEARTBEAT_INTERVAL,
  type ReconnectConfig,
  type TransportName,
} from "./config.js";
import { webSocketAddress } from "./web-socket-config.js";

/** A checked configuration with every default filled in. It holds no credentials. */
export interface Settings {
  readonly transport: TransportName;
  readonly endpoints: readonly Endpoint[];
  readonly reconnect: ReconnectSettings;
  readonly heartbeatIntervalMs: number;
  readonly maxFrameSize: number;
  readonly verifyChecksums: boolean;
  readonly maxOperations: number;
  readonly maxBytes: number;
  readonly autoResolve: boolean;
  readonly sdk: { readonly name: string; readonly version: string };
  readonly clock: () => bigint;
  readonly random: Random;
}

const defaultPorts: Readonly<Record<TransportName, number>> = {
  TCP: 8090,
  TLS: 8090,
  WS: 8092,
  WSS: 8092,
  QUIC: 8080,
  HTTP: 3000,
  HTTPS: 3000,
};

const longestTimerMs = 2 ** 31 - 1;

export function settingsOf(config: ClientConfig): Settings {
  const transport = config.transport ?? "TCP";
  if (!Object.hasOwn(defaultPorts, transport)) {
    throw new ValidationError(
      ErrorCode.InvalidConfiguration,
      `transport takes ${Object.keys(defaultPorts).join(", ")}, got ${transport}`,
    );
  }
  const options = config.options ?? {};
  const { host = "127.0.0.1", port = defaultPorts[transport] } = webSocketAddress(transport, options) ?? options;
  checkPoolSize(config.poolSize);
  const { maxOperations = 256, maxBytes = 67_108_864 } = config.pendingOperations ?? {};
  return {
    transport,
    endpoints: [checkedEndpoint(host, port), ...(config.servers ?? []).map(parseEndpoint)],
    reconnect: reconnectOf(config.reconnect ?? {}),
    heartbeatIntervalMs: heartbeatInterval(config.heartbeatInterval ?? DEFAULT_HEARTBEAT_INTERVAL),
    maxFrameSize: integer(
      "maxResponseFrameSize",
      config.maxResponseFrameSize ?? DEFAULT_MAX_RESPONSE_FRAME_SIZE,
      256,
      0xffff_ffff,
    ),
    verifyChecksums: config.verifyChecksums ?? true,
    maxOperations: integer("pendingOperations.maxOperations", maxOperations, 1, 0xffff_ffff),
    maxBytes: integer("pendingOperations.maxBytes", maxBytes, 256, Number.MAX_SAFE_INTEGER),
    autoResolve: config.autoResolve ?? true,
    sdk: { name: sdkText("name", config.name ?? "ts-sdk"), version: sdkText("version", config.version ?? sdkVersion) },
    clock: config.clock ?? systemClock,
    random: config.random ?? Math.random,
  };
}

function reconnectOf(config: ReconnectConfig): ReconnectSettings {
  const { enabled = true, interval = 1000, maxInterval = 10_000, maxRetries = Infinity } = config;
  return {
    enabled,
    intervalMs: milliseconds("reconnect.interval", interval, 1, longestTimerMs),
    maxIntervalMs: milliseconds("reconnect.maxInterval", maxInterval, 1, longestTimerMs),
    maxRetries: maxRetries === Infinity ? Infinity : integer("reconnect.maxRetries", maxRetries, 0, 0xffff_ffff),
    reestablishAfterMs: milliseconds("reconnect.reestablishAfter", config.reestablishAfter ?? 5000),
  };
}

function heartbeatInterval(value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= MAX_HEARTBEAT_INTERVAL) return value;
  throw new ValidationError(
    ErrorCode.InvalidConfiguration,
    `heartbeatInterval takes 0 to ${String(MAX_HEARTBEAT_INTERVAL)} ms, got ${String(value)}`,
  );
}

function checkPoolSize(poolSize: ClientConfig["poolSize"]): void {
  const { min = 1, max = 1 } = poolSize ?? {};
  if (min === 1 && max === 1) return;
  throw new ValidationError(
    ErrorCode.InvalidConfiguration,
    "a Client is one session, so poolSize is 1; ClientPool has several",
  );
}

function sdkText(argument: string, value: string): string {
  const length = utf8Length(value);
  if (length >= 1 && length <= 255) return value;
  throw new ValidationError(ErrorCode.InvalidConfiguration, `${argument} takes 1 to 255 bytes, got ${String(length)}`);
}
