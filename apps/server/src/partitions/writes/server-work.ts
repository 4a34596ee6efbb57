import type { Proposal } from "@iggy/consensus";
import { type PartitionMachine, serverClient } from "@iggy/engine";
import { ErrorCode } from "@iggy/protocol";
import type { Work } from "./write-pipeline.js";

/** A decision of metadata to install in the log. It stands alone: what it changes is checked by every other write. */
export class ServerWork implements Work {
  readonly isExclusive = true;
  readonly showsEarly = false;
  private readonly machine: PartitionMachine;
  private readonly operation: number;
  private readonly body: Uint8Array;
  private readonly settle: (code: number) => void;

  /** `settle` learns 0 when the decision is committed, else why it is not. */
  constructor(machine: PartitionMachine, operation: number, body: Uint8Array, settle: (code: number) => void) {
    this.machine = machine;
    this.operation = operation;
    this.body = body;
    this.settle = settle;
  }

  admit(): Proposal | undefined {
    if (this.machine.isEnded) {
      this.settle(ErrorCode.HistoryUnavailable);
      return undefined;
    }
    return serverProposal(this.machine, serverClient, this.operation, this.body);
  }

  register(): void {
    // Nothing is checked against it before it commits, since nothing runs beside it.
  }

  committed(): void {
    this.settle(0);
  }

  refuse(code: number): void {
    this.settle(code);
  }

  attach(): boolean {
    return false;
  }
}

/** What the server itself orders: no session, nothing to retry. */
export function serverProposal(
  machine: PartitionMachine,
  client: bigint,
  operation: number,
  body: Uint8Array,
): Proposal {
  const { incarnation } = machine.facts;
  return {
    operation,
    client,
    session: 0,
    request: 0,
    requestChecksum: 0n,
    userId: 0,
    partitionIncarnation: incarnation,
    body,
  };
}
