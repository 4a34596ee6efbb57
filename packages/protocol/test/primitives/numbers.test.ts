import { describe, expect, it } from "vitest";
import {
  headerChecksum,
  idLimits,
  METADATA_GROUP,
  partitionGroup,
  prepareIdentity,
  semanticVersionNumber,
} from "../../src/index.js";
import { loadVectors, ruleBytes } from "../golden.js";

interface NumberVectors {
  readonly namespace_constants: {
    readonly max_streams: number;
    readonly max_topics: number;
    readonly max_partitions: number;
    readonly packed_max: string;
    readonly metadata_group: string;
  };
  readonly namespaces: readonly {
    readonly stream_id: number;
    readonly topic_id: number;
    readonly partition_id: number;
    readonly group: string;
  }[];
  readonly semantic_versions: readonly { readonly text: string; readonly numeric: number }[];
  readonly header_checksums: readonly {
    readonly name: string;
    readonly frame_checksum: string;
    readonly prepare_identity_checksum: string;
  }[];
}

const vectors: NumberVectors = loadVectors("hashes");

describe("ids of groups", () => {
  it.each(vectors.namespaces)("$stream_id/$topic_id/$partition_id is $group", (golden) => {
    const { stream_id: streamId, topic_id: topicId, partition_id: partitionId, group } = golden;
    expect(partitionGroup({ streamId, topicId, partitionId })).toBe(Number(group));
  });

  it("have the limits of the protocol, and stay exact as numbers", () => {
    const { max_streams, max_topics, max_partitions, packed_max, metadata_group } = vectors.namespace_constants;
    expect([idLimits.streams, idLimits.topicsPerStream, idLimits.partitionsPerTopic]).toEqual([
      max_streams,
      max_topics,
      max_partitions,
    ]);
    const last = { streamId: max_streams - 1, topicId: max_topics - 1, partitionId: 2 ** 20 - 1 };
    expect(partitionGroup(last)).toBe(Number(packed_max));
    expect(Number.isSafeInteger(Number(packed_max))).toBe(true);
    expect(METADATA_GROUP).toBe(BigInt(metadata_group));
  });
});

it.each(vectors.semantic_versions)("version $text counts as $numeric", ({ text, numeric }) => {
  expect(semanticVersionNumber(text)).toBe(numeric);
});

it.each(vectors.header_checksums)("checksums of the header $name", (golden) => {
  const header = golden.name === "zeros" ? new Uint8Array(256) : ruleBytes(256);
  expect(headerChecksum(header)).toBe(BigInt(golden.frame_checksum));
  expect(prepareIdentity(header)).toBe(BigInt(golden.prepare_identity_checksum));
});
