import { isServerKey, serverKeyFingerprint } from "../encryption-key.js";
import type { ServerConfig } from "../keys.js";
import type { Secret } from "../secret.js";
import { rule, type Rule } from "./rule.js";

const MIB = 2 ** 20;
const ABOVE_ZERO = "must be above 0 while it is enabled";

const serverKeys = ({ encryption }: ServerConfig): readonly Secret[] => [encryption.key, ...encryption.previousKeys];
const hasRepeats = (texts: readonly string[]): boolean => new Set(texts).size !== texts.length;

/** Rules of single-node operation: jobs, logging, secrets. */
export const operationRules: readonly Rule[] = [
  rule(
    "memory_pool.size",
    ({ memoryPool }) => memoryPool.enabled && (memoryPool.sizeBytes < 512 * MIB || memoryPool.sizeBytes % 4096 !== 0),
    "must be at least 512 MiB and a multiple of 4096 bytes",
  ),
  rule(
    "memory_pool.bucket_capacity",
    ({ memoryPool: { enabled, bucketCapacity } }) =>
      enabled && (bucketCapacity < 128 || !Number.isInteger(Math.log2(bucketCapacity))),
    "must be a power of two of at least 128",
  ),
  rule(
    "runtime.path",
    ({ runtime, logging }) => `${logging.path}/`.startsWith(`${runtime.path}/`),
    "must not hold `logging.path`, because it is emptied at every start",
  ),
  rule(
    "data_maintenance.messages.interval",
    ({ dataMaintenance: { messages } }) => messages.cleanerEnabled && messages.intervalMillis === 0,
    "must be above 0 while the cleaner is enabled",
  ),
  rule(
    "personal_access_token.cleaner.interval",
    ({ personalAccessToken: { cleaner } }) => cleaner.enabled && cleaner.intervalMillis === 0,
    ABOVE_ZERO,
  ),
  rule("heartbeat.interval", ({ heartbeat }) => heartbeat.enabled && heartbeat.intervalMillis === 0, ABOVE_ZERO),
  rule(
    "telemetry.service_name",
    ({ telemetry }) => telemetry.enabled && telemetry.serviceName.trim() === "",
    "must not be blank while telemetry is enabled",
  ),
  rule(
    "telemetry.logs.endpoint",
    ({ telemetry }) => telemetry.enabled && telemetry.logs.endpoint === "",
    "must not be empty while telemetry is enabled",
  ),
  rule(
    "telemetry.traces.endpoint",
    ({ telemetry }) => telemetry.enabled && telemetry.traces.endpoint === "",
    "must not be empty while telemetry is enabled",
  ),
  rule(
    "logging.max_file_size",
    ({ logging }) => logging.maxTotalSizeBytes !== 0 && logging.maxFileSizeBytes > logging.maxTotalSizeBytes,
    "must be at most `logging.max_total_size`, unless that is 0",
  ),
  rule(
    "encryption.key",
    ({ encryption }) => encryption.enabled && encryption.key.isEmpty,
    "is needed while encryption is enabled (error 70, invalid encryption key)",
  ),
  rule(
    "encryption.key",
    ({ encryption }) => !encryption.key.isEmpty && !isServerKey(encryption.key),
    "must be the standard base64 of exactly 32 bytes (error 70, invalid encryption key)",
  ),
  rule(
    "encryption.previous_keys",
    ({ encryption }) => !encryption.previousKeys.every(isServerKey),
    "must each be the standard base64 of exactly 32 bytes (error 70, invalid encryption key)",
  ),
  rule(
    "encryption.previous_keys",
    (config) => hasRepeats(serverKeys(config).map((key) => key.reveal())),
    "must differ from each other and from `encryption.key` (error 70, invalid encryption key)",
  ),
  rule(
    "encryption.previous_keys",
    ({ encryption }) => encryption.key.isEmpty && encryption.previousKeys.length > 0,
    "needs `encryption.key` (error 70, invalid encryption key)",
  ),
  rule(
    "encryption.retired_kek_fingerprints",
    ({ encryption }) => encryption.key.isEmpty && encryption.retiredKekFingerprints.length > 0,
    "needs `encryption.key` (error 70, invalid encryption key)",
  ),
  rule(
    "encryption.retired_kek_fingerprints",
    ({ encryption: { retiredKekFingerprints } }) =>
      hasRepeats(retiredKekFingerprints) || !retiredKekFingerprints.every((text) => /^[0-9a-f]{16}$/.test(text)),
    "must each be 16 lower-case hex digits, none twice (error 70, invalid encryption key)",
  ),
  rule(
    "encryption.retired_kek_fingerprints",
    (config) => {
      const retired = config.encryption.retiredKekFingerprints;
      if (retired.length === 0) return false;
      return serverKeys(config).some((key) => isServerKey(key) && retired.includes(serverKeyFingerprint(key)));
    },
    "must not name `encryption.key` or one of `encryption.previous_keys` (error 70, invalid encryption key)",
  ),
  rule(
    "external_auth.url",
    ({ externalAuth }) => externalAuth.enabled && !/^https?:\/\/./.test(externalAuth.url.reveal()),
    "must be an https:// address while external authentication is enabled",
  ),
];
