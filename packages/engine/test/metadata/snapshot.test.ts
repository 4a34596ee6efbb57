import { createConsumerGroup, decode, encode, IggyError, joinConsumerGroup } from "@iggy/protocol";
import { defaultMetadataConfig, MetadataMachine, SNAPSHOT_FORMAT } from "@iggy/engine";
import { describe, expect, it } from "vitest";
import { snapshotContent } from "../../src/metadata/snapshot/layout.js";
import { id, TestNode } from "./node.js";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

async function filled(): Promise<TestNode> {
  const node = new TestNode();
  const root = node.signIn();
  await node.stream(root, "s");
  await node.topic(root, 0, "t", 3);
  await node.do(root, createConsumerGroup, { streamId: id(0), topicId: id(0), name: "g" });
  await node.do(root, joinConsumerGroup, { streamId: id(0), topicId: id(0), groupId: id(0) });
  node.inFlight = () => true;
  await node.do(node.signIn(), joinConsumerGroup, { streamId: id(0), topicId: id(0), groupId: id(0) });
  return node;
}

describe("a metadata snapshot", () => {
  it("starts with its format, and of a fresh node has these bytes", () => {
    const bytes = new MetadataMachine(defaultMetadataConfig).snapshot();
    // format 10 · applied op and time · no log id · revisions · sessions max 8192 · three empty lists · two empty queues
    expect(hex(bytes)).toBe(
      `0a000000${"00".repeat(16)}00${"00".repeat(16)}00200000${"00".repeat(12)}${"0000000000".repeat(2)}`,
    );
    expect(SNAPSHOT_FORMAT).toBe(10);
  });

  it("restores everything, handovers in progress too", async () => {
    const node = await filled();
    const bytes = node.machine.snapshot();
    const restored = MetadataMachine.restore(bytes, node.config);
    expect(hex(restored.snapshot())).toBe(hex(bytes));
    expect(restored.appliedOp).toBe(node.machine.appliedOp);
    expect(restored.appliedAtMicros).toBe(node.nowMicros);
    expect(restored.logId).toBe(node.machine.logId);
    expect(restored.revision).toBe(node.machine.revision);
    const due = (machine: MetadataMachine) =>
      machine.dueRevocations({ isInFlight: () => false }, node.nowMicros, 1_000_000);
    expect(due(restored)).toEqual(due(node.machine));
    expect(due(restored)).toHaveLength(1);
  });

  it("does not share memory with the bytes it came from", async () => {
    const node = await filled();
    const bytes = node.machine.snapshot();
    const copy = bytes.slice();
    const restored = MetadataMachine.restore(copy, node.config);
    copy.fill(0xff);
    expect(hex(restored.snapshot())).toBe(hex(bytes));
  });

  it("of another format is refused", () => {
    const bytes = new MetadataMachine(defaultMetadataConfig).snapshot();
    bytes[0] = 9;
    expect(() => MetadataMachine.restore(bytes, defaultMetadataConfig)).toThrow(/format 9.*reads 10/);
  });

  it("that is cut short, too long or contradicts itself is refused with a typed error", async () => {
    const node = await filled();
    const bytes = node.machine.snapshot();
    for (let end = 0; end < bytes.length; end += 7) {
      expect(() => MetadataMachine.restore(bytes.subarray(0, end), node.config)).toThrow(IggyError);
    }
    expect(() => MetadataMachine.restore(new Uint8Array([...bytes, 0]), node.config)).toThrow(IggyError);
    const content = decode(snapshotContent, bytes.subarray(4));
    const twice = encode(snapshotContent, { ...content, users: [...content.users, ...content.users] });
    const contradiction = new Uint8Array([...bytes.subarray(0, 4), ...twice]);
    expect(() => MetadataMachine.restore(contradiction, node.config)).toThrow(/contradicts itself/);
  });

  it("cuts its change log to a smaller capacity", async () => {
    const node = await filled();
    const restored = MetadataMachine.restore(node.machine.snapshot(), { ...node.config, changeLogResourceCapacity: 1 });
    expect(restored.snapshot().length).toBeLessThan(node.machine.snapshot().length);
  });

  it("replaces a state that keeps nothing of the buffers that prepares came in", async () => {
    const node = await filled();
    const expected = hex(node.machine.snapshot());
    for (const prepare of node.log) prepare.body.fill(0xee);
    expect(hex(node.machine.snapshot())).toBe(expected);
  });
});
