import { type Command, partitionGroup } from "@iggy/protocol";
import type { PartitionAddress } from "../../partitions/index.js";
import type { Caller, CommandRunner, Fences } from "../commands/index.js";
import { within } from "./deadline.js";
import type { WriteLanes } from "./write-lanes.js";

/** How long an answer waits for the commit of a partition write. */
const WRITE_MILLIS = 10_000;

export interface PartitionWrite<Req, Res> {
  readonly caller: Caller;
  readonly address: PartitionAddress;
  readonly command: Command<Req, Res>;
  readonly request: Req;
  readonly fences: Fences;
  /** Bytes of what is written. */
  readonly sizeBytes: number;
  /** Code of the answer when the commit takes too long. */
  readonly timeoutCode: string;
  readonly signal: AbortSignal;
}

/** Writes to partitions, each behind the earlier ones of its session to the same partition. */
export class PartitionWrites {
  private readonly runner: Pick<CommandRunner, "start">;
  private readonly lanes: WriteLanes;
  private readonly waitMillis: number;

  constructor(runner: Pick<CommandRunner, "start">, lanes: WriteLanes, waitMillis = WRITE_MILLIS) {
    this.runner = runner;
    this.lanes = lanes;
    this.waitMillis = waitMillis;
  }

  /** Resolves with the committed answer. Rejects with 504 when it may still be committed, and with 503 when it never will. */
  async commit<Req, Res>(write: PartitionWrite<Req, Res>): Promise<Res> {
    const { settled } = await this.dispatch(write);
    return settled;
  }

  /** Resolves once the write is handed on. A refusal that is known by then rejects. */
  async handOn<Req, Res>(write: PartitionWrite<Req, Res>): Promise<void> {
    const { settled, isAnswered } = await this.dispatch(write);
    if (isAnswered) await settled;
    // Whoever asked does not want to know how it ends.
    else settled.catch(() => undefined);
  }

  private async dispatch<Req, Res>(
    write: PartitionWrite<Req, Res>,
  ): Promise<{ readonly isAnswered: boolean; readonly settled: Promise<Res> }> {
    const { caller, address, command, request, fences, sizeBytes, timeoutCode, signal } = write;
    const turn = await this.lanes.enter(caller.credential.key, partitionGroup(address), sizeBytes, signal);
    try {
      const { isAnswered, response } = await this.runner.start(caller, command, request, { fences });
      const reason = "the write was not committed in time; it still may be";
      return {
        isAnswered,
        settled: within(response, this.waitMillis, timeoutCode, reason).finally(() => turn.leave()),
      };
    } catch (error) {
      turn.leave();
      throw error;
    }
  }
}
