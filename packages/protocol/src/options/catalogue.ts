import type { HeaderKindName, OptionScopeName } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import type { OptionEntry } from "../primitives/index.js";
import { optionBool, optionString, optionU32, optionU64 } from "../primitives/option-value.js";
import { EXPIRY_NEVER, TOPIC_SIZE_UNLIMITED } from "../text/index.js";
import { optionValueLimits as limits } from "./limits.js";
import * as types from "./value-types.js";

/**
 * Where a value lives: a typed field of the resource that the key only changes (column), the resource's option map, or
 * nowhere, computed on each read.
 */
export type OptionStorage = "column" | "map" | "computed";
export type OptionMutability = "updatable" | "create_only" | "read_only";
/** Public: accepted and returned. Secret: accepted only. Internal: the server's own. Read-only: returned only. */
export type OptionVisibility = "public" | "secret" | "internal" | "read_only";

export interface OptionSpec {
  readonly key: string;
  readonly scopes: readonly OptionScopeName[];
  readonly kind: HeaderKindName;
  readonly storage: OptionStorage;
  readonly mutability: OptionMutability;
  readonly visibility: OptionVisibility;
  /** Whether a node that does not know the key must not serve a resource that holds it. */
  readonly critical: boolean;
  readonly default: OptionEntry | null;
  readonly description: string;
  /** What the key takes, per scope where scopes differ. */
  readonly type: (scope: OptionScopeName) => types.ValueType;
}

interface Row {
  readonly scopes?: readonly OptionScopeName[];
  readonly type: types.ValueType | ((scope: OptionScopeName) => types.ValueType);
  readonly storage?: OptionStorage;
  readonly mutability?: OptionMutability;
  readonly visibility?: OptionVisibility;
  readonly critical?: boolean;
  readonly default?: (key: string) => OptionEntry;
  readonly description: string;
}

/** A row says what differs from the common case: a public create-only value in a topic's map. */
function option(key: string, row: Row): OptionSpec {
  const { scopes = ["topic"], type } = row;
  const typeOf = typeof type === "function" ? type : (): types.ValueType => type;
  return {
    key,
    scopes,
    kind: typeOf(scopes[0] ?? "topic").kind,
    storage: row.storage ?? "map",
    mutability: row.mutability ?? "create_only",
    visibility: row.visibility ?? "public",
    critical: row.critical ?? false,
    default: row.default?.(key) ?? null,
    description: row.description,
    type: typeOf,
  };
}

const column = { storage: "column", mutability: "updatable" } as const;
const computed = { scopes: ["stream"], storage: "computed", mutability: "read_only", visibility: "read_only" } as const;
const text = (value: string) => (key: string) => optionString(key, value);
const u64 = (value: bigint) => (key: string) => optionU64(key, value);
const u32 = (value: number) => (key: string) => optionU32(key, value);

/** Every option, in the order in which a server describes them. */
export const optionCatalogue: readonly OptionSpec[] = [
  option("name", {
    ...column,
    scopes: ["stream", "topic"],
    type: (scope) => (scope === "stream" ? types.streamName : types.topicName),
    description: "Name of the resource: 1 to 255 bytes of UTF-8, unique among its siblings. Set it to rename.",
  }),
  option("username", {
    ...column,
    scopes: ["user"],
    type: types.username,
    description: "Name to sign in with: 3 to 50 bytes of UTF-8, unique.",
  }),
  option("status", {
    ...column,
    scopes: ["user"],
    type: types.userStatus,
    description: "active or inactive. Deactivation ends the sessions of the user.",
  }),
  option("compression_algorithm", {
    type: types.compression,
    mutability: "updatable",
    default: text("none"),
    description: "none or gzip. A hint for clients: stored and reported, never applied to messages.",
  }),
  option("message_expiry", {
    type: types.expiry,
    mutability: "updatable",
    default: u64(EXPIRY_NEVER),
    description:
      'Age in microseconds from which sealed segments are deleted; also a duration such as "7 days", "never_expire" or ' +
      '"server_default".',
  }),
  option("max_topic_size", {
    type: types.topicSize,
    mutability: "updatable",
    default: u64(TOPIC_SIZE_UNLIMITED),
    description:
      "Cap in bytes on the sealed data of the topic, split evenly over its partitions; at least segment_size. Also a " +
      'size such as "10 GiB", "unlimited" or "server_default".',
  }),
  option("segment_size", {
    type: types.byteSize(),
    default: u64(limits.maxSegmentSize),
    description:
      'Bytes after which a segment is sealed: 1 MiB to 1 GiB, a multiple of 512. Also a size such as "128 MiB".',
  }),
  option("durability", {
    type: types.choice("replicated", "persisted"),
    default: text("replicated"),
    description:
      "When a send completes: replicated, at the commit of a quorum; persisted, when copies of a quorum are recoverable " +
      "from stable storage.",
  }),
  option("consumer_offset_durability", {
    type: types.choice("replicated", "persisted"),
    default: text("replicated"),
    description: "When an explicit offset write completes: replicated or persisted, as for durability.",
  }),
  option("partition_resize_policy", {
    type: types.choice("mutable", "fixed"),
    default: text("mutable"),
    description: "mutable or fixed. With fixed, partitions can be neither added nor deleted.",
  }),
  option("messages_required_to_save", {
    type: types.count(1, limits.maxMessagesRequiredToSave),
    default: u32(1024),
    description: "Number of buffered messages that causes a write to disk: 1 to 16777216.",
  }),
  option("size_of_messages_required_to_save", {
    type: types.byteSize(limits.maxSizeOfMessagesRequiredToSave),
    default: u64(1_048_576n),
    description: 'Bytes of buffered messages that cause a write to disk: up to 1 GiB. Also a size such as "1 MiB".',
  }),
  option("preallocate_segments", {
    type: types.bool,
    default: (key) => optionBool(key, false),
    description:
      "true or false: reserve segment_size bytes on disk when a segment opens. All partitions of a create together " +
      "reserve up to 64 GiB.",
  }),
  option("replication_factor", {
    type: types.count(1, limits.maxReplicationFactor, ErrorCode.InvalidReplicationFactor),
    description: "Number of nodes that store each partition: 1 to 32, and no more than the cluster has.",
  }),
  option("encryption_key", {
    scopes: ["stream"],
    type: types.streamKey,
    visibility: "secret",
    critical: true,
    description: "Key that encrypts the messages of the stream: 32 bytes, or their standard base64 with padding.",
  }),
  option("encryption_key_wrapped", {
    scopes: ["stream"],
    type: types.serverBytes,
    visibility: "internal",
    critical: true,
    description: "Stream key, wrapped by the keys of the server.",
  }),
  option("encryption_key_source", {
    ...computed,
    type: types.serverText,
    description: "Where the key of the stream came from: stream (its creator), server, or none (plaintext).",
  }),
  option("encryption_key_fingerprint", {
    ...computed,
    type: types.serverText,
    description: "Fingerprint of the key of the stream: 16 hex digits.",
  }),
  option("encryption_kek_fingerprint", {
    ...computed,
    type: types.serverText,
    description: "Fingerprints of the server keys that wrap the key of the stream: 16 hex digits each, with commas.",
  }),
  option("critical_keys", {
    scopes: ["stream", "topic", "user"],
    type: types.serverText,
    visibility: "internal",
    description: "Names of the stored options without which the resource must not be served.",
  }),
];

const specs = new Map(optionCatalogue.map((spec) => [spec.key, spec]));

/** The option of a key in a scope; undefined when the scope does not have it. */
export function optionSpec(scope: OptionScopeName, key: string): OptionSpec | undefined {
  const spec = specs.get(key);
  return spec?.scopes.includes(scope) === true ? spec : undefined;
}

export const isUpdatable = (spec: OptionSpec): boolean => spec.mutability === "updatable";

/** A column keeps its value until another is set; a reset needs a default to go back to. */
export const isResettable = (spec: OptionSpec): boolean =>
  isUpdatable(spec) && spec.storage === "map" && spec.default !== null;

/** Whether clients may not send the key at all. */
export const isServerOnly = ({ visibility }: OptionSpec): boolean =>
  visibility === "internal" || visibility === "read_only";

/**
 * The canonical entry of a value: what the server stores. `null` for a value that sets nothing, such as 0 for "the
 * server's default". A value that the key does not take is an `OptionError`: `InvalidOptionValue` (4042) or the error of
 * its own that the key has.
 */
export const canonicalOption = (spec: OptionSpec, scope: OptionScopeName, entry: OptionEntry): OptionEntry | null =>
  spec.type(scope).canonical(entry);
