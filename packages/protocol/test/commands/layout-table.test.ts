import { describe, expect, it } from "vitest";
import {
  commands,
  layoutTable,
  pollMessagesDeferred,
  sendMessages,
  storeConsumerOffset,
  ping,
} from "../../src/index.js";

describe("layout tables", () => {
  it("list the fields of a body in wire order", () => {
    expect(layoutTable(storeConsumerOffset).split("\n")).toEqual([
      "| Field | Type |",
      "| --- | --- |",
      "| consumer.kind | u8 consumer kind |",
      "| consumer.id | identifier |",
      "| streamId | identifier |",
      "| topicId | identifier |",
      "| partitionId | [flag u8][partition id u32] |",
      "| offset | u64 |",
      "| ack | u8 acknowledgement level |",
    ]);
  });

  it("show nested layouts and implicit lengths", () => {
    expect(layoutTable(pollMessagesDeferred)).toContain("| poll.strategy.value | u64 |");
    expect(layoutTable(sendMessages)).toContain("| metadataLength | u32 |");
    expect(layoutTable(storeConsumerOffset, "response")).toBe("empty");
    expect(layoutTable(ping)).toBe("empty");
  });

  it("exist for every body, without a row twice", () => {
    for (const command of commands) {
      for (const body of ["request", "response"] as const) {
        const rows = layoutTable(command, body).split("\n");
        expect(new Set(rows).size).toBe(rows.length);
        expect(rows.join()).not.toContain("undefined");
      }
    }
  });
});
