import { type Command, deleteSegments, encodeRequest, getTopic } from "@iggy/protocol";
import { outcome, type RawPartition, type Seeded } from "../raw-client/index.js";
import type { Client } from "./client.js";
import { Lane, type Pending } from "./lane.js";

const SEGMENTS_MOST = 3;
/** Deletions are few among the requests, as segments are. */
const DELETE_ONE_IN = 20;

/** Deletes the oldest segments of a partition now and then, and looks at its topic meanwhile. */
export class TrimLane extends Lane {
  private readonly place: RawPartition;
  private readonly random: Seeded;

  constructor(client: Client, place: RawPartition, random: Seeded) {
    super(client);
    this.place = place;
    this.random = random;
  }

  protected next(): Pending {
    const { streamId, topicId, partitionId } = this.place;
    if (this.random.integer(DELETE_ONE_IN - 1) > 0) return this.request(getTopic, { streamId, topicId });
    const segmentsCount = 1 + this.random.integer(SEGMENTS_MOST - 1);
    return this.request(deleteSegments, { streamId, topicId, partitionId, segmentsCount });
  }

  protected renewed(): Pending | undefined {
    throw new Error("this lane keeps its session");
  }

  faults(): Promise<string[]> {
    return Promise.resolve([]);
  }

  private request<Req, Res>(command: Command<Req, Res>, request: Req): Pending {
    return {
      frame: this.client.session.frame(command, encodeRequest(command, request)),
      settle: (answer) => {
        if (answer.kind !== "ok") throw new Error(`${command.title}: ${outcome(answer)}`);
      },
    };
  }
}
