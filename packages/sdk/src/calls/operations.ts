import type { PartitionContext } from "@iggy/protocol";
import { OperationNotRetainedError } from "../errors/index.js";
import type { RequestFrame } from "../link/index.js";
import type { Call } from "./call.js";
import type { LaneKey } from "./lanes.js";

/** A request whose outcome is unknown, with everything that a replay needs. */
export interface Operation {
  /** Number of the request: unique in the life of the client. */
  readonly id: bigint;
  readonly code: number;
  readonly title: string;
  /** A write blocks its lane; a read that stored the offset, perhaps, blocks progress on its partition. */
  readonly kind: "write" | "committing-read";
  readonly lanes: readonly LaneKey[];
  readonly frame: RequestFrame;
  /** Session that the frame belongs to. */
  readonly fence: number;
  readonly call: Call;
  readonly context: PartitionContext | undefined;
  readonly since: Date;
  /** Producer or consumer that made the call. */
  readonly owner: object | undefined;
  /** Gives the budget of the operation back. */
  readonly release: () => void;
}

/** Proved outcome of a replay: the code of the refusal, 0 for success. */
interface Outcome {
  readonly code: number;
}

/** Operations with an unknown outcome, and the outcomes that replays proved lately. */
export class Operations {
  readonly #retained = new Map<bigint, Operation>();
  readonly #proved = new Map<bigint, Outcome>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  retain(operation: Operation): void {
    this.#retained.set(operation.id, operation);
  }

  get(id: bigint): Operation {
    const operation = this.#retained.get(id);
    if (operation !== undefined) return operation;
    throw new OperationNotRetainedError(`operation ${String(id)} is not retained`, { operationId: id });
  }

  find(id: bigint): Operation | undefined {
    return this.#retained.get(id);
  }

  list(): readonly Operation[] {
    return [...this.#retained.values()];
  }

  /** Lets go of an operation. False when it was let go of before. */
  drop(operation: Operation): boolean {
    if (!this.#retained.delete(operation.id)) return false;
    operation.release();
    return true;
  }

  /** A replay proved the outcome: 0, or the code of the refusal. */
  prove(operation: Operation, code: number): void {
    this.#proved.delete(operation.id);
    this.#proved.set(operation.id, { code });
    for (const oldest of this.#proved.keys()) {
      if (this.#proved.size <= this.#capacity) break;
      this.#proved.delete(oldest);
    }
  }

  proved(id: bigint): Outcome | undefined {
    return this.#proved.get(id);
  }
}
