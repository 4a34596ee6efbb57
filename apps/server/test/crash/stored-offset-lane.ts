import { deleteConsumerOffset, encodeRequest, ErrorCode, storeConsumerOffset } from "@iggy/protocol";
import { consumer, outcome, type RawPartition, type Seeded } from "../raw-client/index.js";
import type { Client } from "./client.js";
import { Lane, type Pending } from "./lane.js";
import type { Ledger } from "./ledger.js";

/** Stores offsets of one consumer, forth and back, and sometimes deletes it. */
export class StoredOffsetLane extends Lane {
  private readonly place: RawPartition;
  private readonly ledger: Ledger;
  private readonly random: Seeded;
  private readonly consumerId: number;
  private acknowledged: number | undefined;
  /** What the request under way makes of it. */
  private wanted: number | undefined;

  constructor(client: Client, place: RawPartition, ledger: Ledger, random: Seeded, consumerId: number) {
    super(client);
    this.place = place;
    this.ledger = ledger;
    this.random = random;
    this.consumerId = consumerId;
  }

  protected next(): Pending {
    if (this.acknowledged !== undefined && this.random.integer(9) === 0) return this.deletion();
    const offset = this.random.integer(Math.max(0, this.ledger.end - 1));
    this.wanted = offset;
    const request = { ...this.target(), offset: BigInt(offset), ack: "quorum" as const };
    return {
      frame: this.client.session.frame(
        storeConsumerOffset,
        encodeRequest(storeConsumerOffset, request),
        this.place.context,
      ),
      settle: (answer) => {
        if (answer.kind === "ok") this.acknowledged = offset;
        // Before the first message there is no offset to store.
        else if (answer.kind !== "refused" || answer.code !== ErrorCode.InvalidOffset)
          throw new Error(`an offset of ${this.ledger.title}: ${outcome(answer)}`);
        this.wanted = this.acknowledged;
      },
    };
  }

  protected renewed(): Pending | undefined {
    throw new Error("this lane keeps its session");
  }

  async faults(): Promise<string[]> {
    const found = await this.client.partition(this.place).stored(consumer(this.consumerId));
    const stored = found === null ? undefined : Number(found.storedOffset);
    if (stored === this.acknowledged || (this.pending !== undefined && stored === this.wanted)) return [];
    return [`${this.ledger.title}: offset ${stored} is stored, ${this.acknowledged} was acknowledged`];
  }

  private deletion(): Pending {
    this.wanted = undefined;
    const body = encodeRequest(deleteConsumerOffset, { ...this.target(), ack: "quorum" });
    return {
      frame: this.client.session.frame(deleteConsumerOffset, body, this.place.context),
      settle: (answer) => {
        if (answer.kind !== "ok") throw new Error(`a deleted offset of ${this.ledger.title}: ${outcome(answer)}`);
        this.acknowledged = undefined;
      },
    };
  }

  private target() {
    const { streamId, topicId, partitionId } = this.place;
    return { consumer: consumer(this.consumerId), streamId, topicId, partitionId };
  }
}
