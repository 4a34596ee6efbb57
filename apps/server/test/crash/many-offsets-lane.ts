import { encodeRequest, ErrorCode, storeConsumerOffset } from "@iggy/protocol";
import { consumer, outcome, type RawPartition, type Seeded } from "../raw-client/index.js";
import type { Client } from "./client.js";
import { Lane, type Pending } from "./lane.js";
import type { Ledger } from "./ledger.js";

/** More offsets than may wait for their files, so that they bring checkpoints about. */
const CONSUMERS = 3000;
const FIRST_CONSUMER = 10;
const CHECKED = 30;

/** Stores offsets of very many consumers, one after another. */
export class ManyOffsetsLane extends Lane {
  private readonly place: RawPartition;
  private readonly ledger: Ledger;
  private readonly random: Seeded;
  private readonly stored = new Map<number, number>();
  private turn = 0;
  private current: { readonly id: number; readonly offset: number } | undefined;

  constructor(client: Client, place: RawPartition, ledger: Ledger, random: Seeded) {
    super(client);
    this.place = place;
    this.ledger = ledger;
    this.random = random;
  }

  protected next(): Pending {
    const { streamId, topicId, partitionId } = this.place;
    const id = FIRST_CONSUMER + (this.turn++ % CONSUMERS);
    const offset = this.random.integer(Math.max(0, this.ledger.end - 1));
    this.current = { id, offset };
    const target = { consumer: consumer(id), streamId, topicId, partitionId };
    const body = encodeRequest(storeConsumerOffset, { ...target, offset: BigInt(offset), ack: "quorum" });
    return {
      frame: this.client.session.frame(storeConsumerOffset, body, this.place.context),
      settle: (answer) => {
        if (answer.kind === "ok") this.stored.set(id, offset);
        // Before the first message there is no offset to store.
        else if (answer.kind !== "refused" || answer.code !== ErrorCode.InvalidOffset)
          throw new Error(`an offset of ${this.ledger.title}: ${outcome(answer)}`);
        this.current = undefined;
      },
    };
  }

  protected renewed(): Pending | undefined {
    throw new Error("this lane keeps its session");
  }

  async faults(thorough: boolean): Promise<string[]> {
    const ids = [...this.stored.keys()];
    const checked = thorough ? ids : Array.from({ length: Math.min(CHECKED, ids.length) }, () => this.random.pick(ids));
    const partition = this.client.partition(this.place);
    const faults: string[] = [];
    for (const id of checked) {
      const found = await partition.stored(consumer(id));
      const offset = found === null ? undefined : Number(found.storedOffset);
      const isUnderWay = this.current?.id === id && this.current.offset === offset;
      if (offset !== this.stored.get(id) && !isUnderWay)
        faults.push(`${this.ledger.title}: consumer ${id} is at ${offset}, acknowledged was ${this.stored.get(id)}`);
    }
    return faults.slice(0, 3);
  }
}
