import { describe, expect, it } from "vitest";
import {
  ClientTransport,
  CompressionAlgorithm,
  commandByOperation,
  ConsumerKind,
  EvictionReason,
  evictionReasonName,
  FrameCommand,
  frameCommandName,
  HeaderKind,
  isClientAllowed,
  isInternalOperation,
  isKnownOperation,
  isMetadataOperation,
  isMetadataPlaneOperation,
  isPartitionLifecycleOperation,
  isPartitionOperation,
  isPlaneRoutable,
  isResultFramed,
  isSessionOperation,
  limits,
  nameOf,
  NO_ASSIGNED_PARTITION,
  NodeRole,
  NodeStatus,
  Operation,
  operationName,
  operationOf,
  PartitioningKind,
  PollingKind,
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_MIN,
  REPLICA_WIRE_REVISION,
  requestOperation,
  RESYNC_REQUIRED_PARTITION,
  SnapshotCompression,
  SnapshotType,
  UserStatus,
  versionText,
} from "../../src/index.js";
import { loadVectors } from "../golden.js";

interface Named {
  readonly code: number;
  readonly name: string;
}

interface GoldenOperation extends Named {
  readonly internal: boolean;
  readonly metadata: boolean;
  readonly partition: boolean;
  readonly partition_lifecycle: boolean;
  readonly vsr_reserved: boolean;
  readonly result_framed: boolean;
  readonly metadata_plane: boolean;
  readonly plane_routable: boolean;
  readonly client_allowed: boolean;
  readonly command_code: number | null;
  readonly request_operation: number;
}

interface Vectors {
  readonly versions: Record<string, unknown>;
  readonly operations: GoldenOperation[];
  readonly client_transports: { code: number; client_shows: string }[];
  readonly limits: Record<string, number | string>;
  readonly [table: string]: unknown;
}

const golden = loadVectors<Vectors>("enums");

const tableOf = (table: Readonly<Record<string, number>>): Named[] =>
  Object.entries(table).map(([name, code]) => ({ code, name }));

describe("operations", () => {
  it("has every operation and no other", () => {
    expect(tableOf(Operation)).toEqual(golden.operations.map(({ code, name }) => ({ code, name })));
    for (let code = 0; code < 256; code++) {
      expect(isKnownOperation(code)).toBe(golden.operations.some((operation) => operation.code === code));
    }
  });

  it.each(golden.operations)("classifies $name", (operation) => {
    const { code } = operation;
    expect({
      code,
      name: operationName(code),
      internal: isInternalOperation(code),
      metadata: isMetadataOperation(code),
      partition: isPartitionOperation(code),
      partition_lifecycle: isPartitionLifecycleOperation(code),
      vsr_reserved: isSessionOperation(code),
      result_framed: isResultFramed(code),
      metadata_plane: isMetadataPlaneOperation(code),
      plane_routable: isPlaneRoutable(code),
      client_allowed: isClientAllowed(code),
      request_operation: requestOperation(code),
      // The vectors name no command for a logout; here its own operation leads to it.
      command_code: code === Operation.Logout ? null : (commandByOperation(code)?.code ?? null),
    }).toEqual(operation);
    expect(operationOf(operation.name)).toBe(code);
  });

  it("gives numbers that are no operation to no class", () => {
    for (let code = 0; code < 256; code++) {
      if (isKnownOperation(code)) continue;
      const classes = [
        isInternalOperation,
        isMetadataOperation,
        isPartitionOperation,
        isPartitionLifecycleOperation,
        isSessionOperation,
        isResultFramed,
        isPlaneRoutable,
        isClientAllowed,
      ];
      expect(classes.filter((holds) => holds(code))).toEqual([]);
    }
  });
});

describe("code tables", () => {
  it.each([
    ["frame_commands", FrameCommand],
    ["eviction_reasons", EvictionReason],
    ["header_kinds", HeaderKind],
    ["user_statuses", UserStatus],
    ["compression_algorithms", CompressionAlgorithm],
    ["snapshot_types", SnapshotType],
    ["snapshot_compressions", SnapshotCompression],
    ["cluster_node_roles", NodeRole],
    ["cluster_node_statuses_the_client_accepts", NodeStatus],
    ["consumer_kinds", ConsumerKind],
    ["polling_kinds", PollingKind],
    ["partitioning_kinds", PartitioningKind],
  ] as const)("%s", (name, table) => {
    expect(tableOf(table)).toEqual(golden[name]);
  });

  it("names codes and leaves unknown ones unnamed", () => {
    expect(frameCommandName(13)).toBe("Eviction");
    expect(frameCommandName(200)).toBeUndefined();
    expect(evictionReasonName(15)).toBe("MalformedLogin");
    expect(nameOf(PollingKind, 5)).toBe("next");
    expect(nameOf(PollingKind, 6)).toBeUndefined();
  });

  it("shows transports beyond the known ones as unknown", () => {
    for (const { code, client_shows } of golden.client_transports) {
      expect(nameOf(ClientTransport, code) ?? "unknown").toBe(client_shows.toLowerCase());
    }
  });
});

describe("versions and limits", () => {
  it("speaks one protocol version", () => {
    expect({
      protocol: PROTOCOL_VERSION,
      protocol_text: versionText(PROTOCOL_VERSION),
      protocol_min: PROTOCOL_VERSION_MIN,
      replica_wire_revision: REPLICA_WIRE_REVISION,
    }).toEqual(golden.versions);
  });

  it("shares the limits of the official library", () => {
    expect({
      header_size: limits.headerSize,
      size_field_offset: limits.sizeFieldOffset,
      max_name_bytes: limits.nameBytes,
      max_messages_key_bytes: limits.messagesKeyBytes,
      max_partitions_per_request: limits.partitionsPerRequest,
      max_message_payload: limits.messagePayload,
      max_message_user_headers: limits.messageUserHeaders,
      dvc_headers_max: limits.doViewChangeHeaders,
      lifecycle_completions_max: limits.lifecycleCompletions,
      lifecycle_batch_header_size: limits.lifecycleBatchHeaderSize,
      lifecycle_completion_size: limits.lifecycleCompletionSize,
      max_consumer_sessions_per_heartbeat: limits.consumerSessionsPerHeartbeat,
      max_sessions_per_retirement: limits.sessionsPerRetirement,
      resync_required_partition_sentinel: RESYNC_REQUIRED_PARTITION,
      no_assigned_partition: NO_ASSIGNED_PARTITION,
      max_message_size_upper_bytes: String(limits.messageSizeCeiling),
      consumer_group_owners_max: limits.consumerGroupOwners,
      rejection_section_len: limits.rejectionSectionSize,
    }).toEqual(golden.limits);
  });
});
