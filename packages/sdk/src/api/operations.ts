import type { CallEngine } from "../calls/engine.js";
import { u64, type U64Like } from "../values/check.js";
import { type Duration, milliseconds } from "../values/duration.js";
import { type CallOptions, defaultTimeoutMs } from "./caller.js";

/** A write, or a committing read, whose outcome is unknown. */
export interface RetainedOperation {
  readonly operationId: bigint;
  /** Code of its command. */
  readonly code: number;
  readonly streamId?: number | string;
  readonly topicId?: number | string;
  readonly partitionId?: number;
  readonly since: Date;
}

/** What to do about operations with an unknown outcome. They block what must not overtake them. */
export class OperationApi {
  readonly #engine: CallEngine;

  constructor(engine: CallEngine) {
    this.#engine = engine;
  }

  /**
   * Sends the exact frame again until its committed result is proved. Resolves when it committed, rejects with the error
   * that it committed with, or with `OperationUncertainError` when it is still unknown.
   */
  async resolve(
    { operationId, timeout = defaultTimeoutMs }: { readonly operationId: U64Like; readonly timeout?: Duration },
    options: CallOptions = {},
  ): Promise<true> {
    const timeoutMs = milliseconds("timeout", options.timeout ?? timeout, 0, Infinity);
    await this.#engine.resolve(u64("operationId", operationId), timeoutMs, options.signal);
    return true;
  }

  /** Goes on; the outcome stays unknown. */
  abandon({ operationId }: { readonly operationId: U64Like }): Promise<true> {
    return Promise.resolve().then(() => {
      this.#engine.abandon(u64("operationId", operationId));
      return true;
    });
  }

  list(): readonly RetainedOperation[] {
    return this.#engine.operations.list().map((operation) => {
      const { target } = operation.call;
      const partition = target.kind === "partition" ? target.partition : undefined;
      return {
        operationId: operation.id,
        code: operation.code,
        since: operation.since,
        ...(partition === undefined
          ? {}
          : {
              streamId: partition.streamId.value,
              topicId: partition.topicId.value,
              partitionId: partition.partitionId,
            }),
      };
    });
  }
}
