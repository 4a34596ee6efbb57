import { codeOf, strictBool, struct, u128, u32, u64, u8 } from "../../codec/index.js";
import { FrameCommand } from "../../enums/index.js";
import { HEADER_SIZE } from "../size.js";
import { noBody, replicaFrame } from "./layout.js";

/** What a node does not know: the age of quorum evidence outside a metadata probe. */
export const NO_QUORUM_AGE = 0xffff_ffff_ffff_ffffn;
const STATUS_SIZE = 60;

/** Steps of moving primaries. */
export const RebalanceKind = {
  MetadataProbe: 0,
  MetadataReply: 1,
  PartitionProbe: 2,
  PartitionReply: 3,
  SourceProbe: 4,
  SourceReply: 5,
  PrimaryTransfer: 6,
} as const;
export type RebalanceKindName = keyof typeof RebalanceKind;

/**
 * Coordinator and nodes agree on where primaries run. Metadata kinds carry `partitionStatuses` in the body. `view` is that
 * of the metadata coordinator.
 *
 *   128 nonce u128, not 0 · 144 namespace u64 · 152 created_revision u64: both 0 in metadata kinds, else a partition's
 *   160 commit u64, 0 in MetadataReply · 168 quorum_age_ns u64, 2^64 - 1 outside MetadataProbe
 *   176 partition_view u32, 0 in metadata kinds · 180 kind u8 · 181 ready u8, 0 or 1, 1 in replies only
 *   182 target u8, only in PrimaryTransfer
 */
export const primaryRebalance = replicaFrame({
  name: "PrimaryRebalance",
  command: FrameCommand.PrimaryRebalance,
  fields: struct("PrimaryRebalance", {
    nonce: u128,
    namespace: u64,
    createdRevision: u64,
    commit: u64,
    quorumAgeNs: u64,
    partitionView: u32,
    kind: codeOf("rebalance kind", u8, RebalanceKind),
    ready: strictBool,
    target: u8,
  }),
  body: (length) => length % STATUS_SIZE === 0,
  fault: (header) => {
    const { kind } = header;
    const isMetadata = kind === "MetadataProbe" || kind === "MetadataReply";
    const isReply = kind === "MetadataReply" || kind === "PartitionReply" || kind === "SourceReply";
    if (header.nonce === 0n) return "nonce is 0";
    if (isMetadata) {
      if (header.namespace !== 0n || header.createdRevision !== 0n || header.partitionView !== 0) {
        return "a metadata kind names a partition";
      }
    } else if (header.createdRevision === 0n) return "created revision is 0";
    if (kind === "MetadataReply" && header.commit !== 0n) return "a metadata reply has a commit";
    if (kind !== "MetadataProbe" && header.quorumAgeNs !== NO_QUORUM_AGE) return "quorum evidence outside a probe";
    if (header.ready && !isReply) return "only replies are ready";
    if (header.target !== 0 && kind !== "PrimaryTransfer") return "only a transfer has a target";
    return !isMetadata && header.size !== HEADER_SIZE ? "a partition kind has a body" : undefined;
  },
});

/**
 * The metadata primary asks a partition's primary to turn a number of segments into an offset.
 *
 *   128 nonce u128, not 0 · 144 namespace u64 · 152 created_revision u64, not 0 · 160 minimum_metadata_op u64
 *   168 up_to_offset u64, only when resolved · 176 segments_count u32 · 180 kind u8 (0 query, 1 resolved, 2 retry)
 */
export const segmentDelete = replicaFrame({
  name: "SegmentDelete",
  command: FrameCommand.SegmentDelete,
  fields: struct("SegmentDelete", {
    nonce: u128,
    namespace: u64,
    createdRevision: u64,
    minimumMetadataOp: u64,
    upToOffset: u64,
    segmentsCount: u32,
    kind: codeOf("segment delete kind", u8, { Query: 0, Resolved: 1, Retry: 2 }),
  }),
  body: noBody,
  fault: ({ nonce, createdRevision, upToOffset, kind }) => {
    if (nonce === 0n) return "nonce is 0";
    if (createdRevision === 0n) return "created revision is 0";
    return kind !== "Resolved" && upToOffset !== 0n ? "only a resolved one has an offset" : undefined;
  },
});
