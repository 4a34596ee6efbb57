import {
  decodeRequest,
  encodeBatch,
  encodeResponse,
  type MessageInput,
  pollMessagesDeferred,
  sliceBatch,
  stampBatch,
} from "@iggy/protocol";
import { concat } from "./memory-network.js";
import type { Received, ScriptedNode } from "./scripted-node.js";

/** A partition that a scripted node serves: messages in batches, as they were stored. */
export class ScriptedPartition {
  readonly partitionId: number;
  readonly batches: { readonly base: number; readonly count: number; readonly bytes: Uint8Array }[] = [];
  next = 0;
  incarnation = 41n;
  ownerGeneration = 0n;

  constructor(partitionId = 0) {
    this.partitionId = partitionId;
  }

  append(messages: readonly MessageInput[]): void {
    const bytes = encodeBatch(messages);
    stampBatch(bytes, 0, { partitionId: this.partitionId, baseOffset: this.next, baseTimestamp: 1000 + this.next });
    this.batches.push({ base: this.next, count: messages.length, bytes });
    this.next += messages.length;
  }

  appendTexts(...texts: string[]): void {
    this.append(
      texts.map((text, i) => ({
        id: BigInt(this.next + i + 1),
        payload: new TextEncoder().encode(text),
        originTimestamp: 1000,
      })),
    );
  }

  /** At most `count` messages from `from` on, as batches and parts of batches. */
  reply(from: number, count: number): Uint8Array {
    return encodeResponse(pollMessagesDeferred, this.read(from, count));
  }

  /** What a read from `from` finds. */
  read(from: number, count: number) {
    const chosen = [];
    let messagesCount = 0;
    let nextOffset = from;
    for (const { base, count: size, bytes } of this.batches) {
      const first = Math.max(0, from - base);
      const last = Math.min(size, first + count - messagesCount);
      if (first >= last) continue;
      const { header, frames } = sliceBatch(bytes, 0, first, last);
      chosen.push(header, frames);
      messagesCount += last - first;
      nextOffset = base + last;
    }
    return {
      partitionId: this.partitionId,
      currentOffset: BigInt(Math.max(0, this.next - 1)),
      messagesCount,
      context: { incarnation: this.incarnation, ownerGeneration: this.ownerGeneration, metadataOp: 4711n },
      records: concat(chosen),
      nextOffset,
    };
  }

  /** Answers a poll that starts at an offset, or at `next` behind what is stored. */
  serve(node: ScriptedNode, received: Received, stored?: number): void {
    const { poll } = decodeRequest(pollMessagesDeferred, received.body);
    const from = poll.strategy.kind === "offset" ? Number(poll.strategy.value) : stored === undefined ? 0 : stored + 1;
    node.reply(received, this.reply(from, poll.count));
  }
}
