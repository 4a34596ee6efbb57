import { ErrorCode } from "@iggy/protocol";
import type { ClientRequest } from "../../request.js";
import type { PartitionShard } from "../shard.js";
import type { Wait } from "../waits.js";

/** Requests of one partition that may wait until it is there, and the bytes that they may hold. */
const REQUESTS_MAX = 128;
const PARTITION_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes that all of them may hold. */
const SHARD_BYTES_MAX = 16 * 1024 * 1024;
/** Three passes of the reconciler. */
const WAIT_MILLIS = 3_000;

interface EarlyRequest {
  readonly bytes: number;
  readonly serve: () => void;
  readonly refuse: (code: number) => void;
  readonly deadline: Wait;
}

/** Bytes held by early requests of the whole shard. */
export class EarlyBytes {
  held = 0;
}

/** Requests for a partition that metadata has and this node is still opening. */
export class EarlyRequests {
  private readonly shard: PartitionShard;
  private readonly shardBytes: EarlyBytes;
  private readonly waiting = new Set<EarlyRequest>();
  private bytes = 0;

  constructor(shard: PartitionShard, shardBytes: EarlyBytes) {
    this.shard = shard;
    this.shardBytes = shardBytes;
  }

  /** Serves the request when the partition is open, or refuses it: now with 58 when too much waits, later with why. */
  add(request: ClientRequest, serve: () => void): void {
    const refuse = (code: number): void => {
      request.deny(code);
    };
    if (!this.addTask(request.body.length, serve, refuse)) refuse(ErrorCode.TransientNotAccepted);
  }

  /** False when too much waits already. */
  addTask(bytes: number, serve: () => void, refuse: (code: number) => void): boolean {
    if (
      this.waiting.size >= REQUESTS_MAX ||
      this.bytes + bytes > PARTITION_BYTES_MAX ||
      this.shardBytes.held + bytes > SHARD_BYTES_MAX
    ) {
      return false;
    }
    const { waits } = this.shard;
    const entry: EarlyRequest = {
      bytes,
      serve,
      refuse,
      deadline: waits.at(waits.nowMillis + WAIT_MILLIS, () => {
        this.release(entry);
        refuse(ErrorCode.TransientNotAccepted);
      }),
    };
    this.waiting.add(entry);
    this.bytes += bytes;
    this.shardBytes.held += bytes;
    return true;
  }

  serveAll(): void {
    for (const entry of this.takeAll()) entry.serve();
  }

  refuseAll(code: number): void {
    for (const entry of this.takeAll()) entry.refuse(code);
  }

  private takeAll(): readonly EarlyRequest[] {
    const all = [...this.waiting];
    for (const entry of all) {
      this.release(entry);
      this.shard.waits.cancel(entry.deadline);
    }
    return all;
  }

  private release(entry: EarlyRequest): void {
    this.waiting.delete(entry);
    this.bytes -= entry.bytes;
    this.shardBytes.held -= entry.bytes;
  }
}
