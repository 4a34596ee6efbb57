import { ErrorCode } from "@iggy/protocol";
import type {
  DeleteOffsetCommand,
  FetchCommand,
  GetOffsetCommand,
  PartitionAddress,
  PartitionLimits,
  PartitionRequests,
  PartitionRouteFact,
  PollCommand,
  SendCommand,
  SessionParking,
  StoreOffsetCommand,
} from "../partitions/index.js";
import type { ClientRequest } from "../request.js";
import type { Mesh } from "./lanes/mesh.js";
import type { Outbox } from "./lanes/outbox.js";
import type { RecordReader, RecordWriter } from "./lanes/record.js";
import { type Importer, REFERENCE_BYTES_MAX } from "./lanes/transfer.js";
import { MainKind, ReplyKind } from "./messages/kinds.js";
import {
  encodeTargets,
  REQUEST_BYTES_MAX,
  writeDeleteOffset,
  writeFacts,
  writeFetch,
  writeOffsetTarget,
  writePoll,
  writeSend,
  writeStoreOffset,
} from "./messages/partition-request.js";
import { readCommitted } from "./messages/reply.js";
import { Pending } from "./pending.js";
import type { Placement } from "./placement.js";
import { ECHOED_INCARNATION } from "./remote-request.js";
import { SpreadFetch } from "./spread-fetch.js";

export interface ForwardingPlaneDeps {
  readonly mesh: Mesh;
  readonly placement: Placement;
  /** Partitions of this shard. */
  readonly own: PartitionRequests;
  readonly metadata: { readonly appliedOp: number };
  readonly limits: Pick<PartitionLimits, "deferredPollMaxWaitMicros" | "deferredPollMaxReadBytes">;
  /** The waiting reads of sessions on all shards. */
  readonly parking: SessionParking;
  readonly log: { error(fields: object, message: string): void };
  /** Requests of this shard's connections that one other shard may have at a time. */
  readonly pendingMax: number;
}

/**
 * The partitions of all shards: own ones are served here, requests for others travel to their owners. A request that finds
 * no room on the way was not admitted.
 */
export class ForwardingPlane implements PartitionRequests {
  private readonly deps: ForwardingPlaneDeps;
  private readonly pending = new Map<number, Pending<ClientRequest>>();

  constructor(deps: ForwardingPlaneDeps) {
    this.deps = deps;
    for (const shard of deps.mesh.others) this.pending.set(shard, new Pending(deps.pendingMax));
  }

  send(request: ClientRequest, command: SendCommand): void {
    const owner = this.ownerOf(command.address);
    if (owner === undefined) {
      this.deps.own.send(request, command);
      return;
    }
    this.forward(owner, request, MainKind.send, REFERENCE_BYTES_MAX, (record, outbox) => {
      writeSend(record, command);
      const { memory } = request;
      memory?.retain();
      outbox.body(record, [command.batch], memory === undefined ? [] : [memory]);
    });
  }

  poll(request: ClientRequest, command: PollCommand): void {
    const owner = this.ownerOf(command.address);
    if (owner === undefined) {
      this.deps.own.poll(request, command);
      return;
    }
    this.forwardRead(owner, request, MainKind.poll, 0, (record) => {
      writePoll(record, command);
    });
  }

  fetch(request: ClientRequest, command: FetchCommand): void {
    const { mesh, own } = this.deps;
    const owner = this.soleOwnerOf(command);
    if (owner === undefined) this.fetchFromAll(request, command);
    else if (owner === mesh.shard) own.fetch(request, command);
    else {
      this.forwardRead(owner, request, MainKind.fetch, REFERENCE_BYTES_MAX, (record, outbox) => {
        writeFetch(record, command);
        outbox.body(record, [encodeTargets(command.targets)]);
      });
    }
  }

  private fetchFromAll(request: ClientRequest, command: FetchCommand): void {
    const { placement, limits, log, parking } = this.deps;
    const { streamId, topicId } = command;
    const fetch = new SpreadFetch(
      {
        fetch: (part, partCommand) => {
          this.fetch(part, partCommand);
        },
        ownerOf: ({ partitionId }) => placement.shardOf({ streamId, topicId, partitionId }),
        nowMillis: () => performance.now(),
        waitMicrosMax: limits.deferredPollMaxWaitMicros,
        bytesMax: limits.deferredPollMaxReadBytes,
        parking,
      },
      request,
      command,
    );
    fetch.run().catch((error: unknown) => {
      log.error({ err: error }, "a fetch failed unexpectedly");
      request.deny(ErrorCode.Error);
    });
  }

  /** The shard that owns every partition of a fetch; undefined when there are several. */
  private soleOwnerOf({ streamId, topicId, targets }: FetchCommand): number | undefined {
    let sole: number | undefined;
    for (const { partitionId } of targets) {
      const owner = this.deps.placement.shardOf({ streamId, topicId, partitionId });
      if (sole !== undefined && sole !== owner) return undefined;
      sole = owner;
    }
    return sole;
  }

  getOffset(request: ClientRequest, command: GetOffsetCommand): void {
    const owner = this.ownerOf(command.address);
    if (owner === undefined) {
      this.deps.own.getOffset(request, command);
      return;
    }
    this.forward(owner, request, MainKind.getOffset, 0, (record) => {
      writeOffsetTarget(record, command);
    });
  }

  storeOffset(request: ClientRequest, command: StoreOffsetCommand): void {
    const owner = this.ownerOf(command.address);
    if (owner === undefined) {
      this.deps.own.storeOffset(request, command);
      return;
    }
    this.forward(owner, request, MainKind.storeOffset, 0, (record) => {
      writeStoreOffset(record, command);
    });
  }

  deleteOffset(request: ClientRequest, command: DeleteOffsetCommand): void {
    const owner = this.ownerOf(command.address);
    if (owner === undefined) {
      this.deps.own.deleteOffset(request, command);
      return;
    }
    this.forward(owner, request, MainKind.deleteOffset, 0, (record) => {
      writeDeleteOffset(record, command);
    });
  }

  /** Metadata says all of it, as long as one node is the whole group. */
  route(address: PartitionAddress): PartitionRouteFact | undefined {
    return this.deps.own.route(address);
  }

  /** Takes a record of a reply lane. */
  answer(shard: number, record: RecordReader, importer: Importer): void {
    const kind = record.u8();
    const request = this.pendingOf(shard).take(record.u32());
    if (kind === ReplyKind.deny) request.deny(record.u32());
    else if (kind === ReplyKind.committed) {
      const facts = readCommitted(record);
      request.committed({ ...facts, body: importer.receive(record).pieces });
    } else {
      const incarnation = record.f64();
      const { pieces, memory } = importer.receive(record);
      request.ok(pieces, {
        memory,
        ...(incarnation === ECHOED_INCARNATION ? {} : { partitionIncarnation: incarnation }),
      });
    }
  }

  /** Undefined for partitions of this shard. */
  private ownerOf(address: PartitionAddress): number | undefined {
    const { placement, mesh } = this.deps;
    const owner = placement.shardOf(address);
    return owner === mesh.shard ? undefined : owner;
  }

  /** A read may wait at its owner: that it is given up has to reach it there. */
  private forwardRead(
    shard: number,
    request: ClientRequest,
    kind: number,
    bodyBytesMax: number,
    write: (record: RecordWriter, outbox: Outbox) => void,
  ): void {
    const token = this.forward(shard, request, kind, bodyBytesMax, write);
    if (token === undefined) return;
    const outbox = this.deps.mesh.main(shard);
    request.onCancel((code) => {
      const record = outbox.begin(CANCEL_BYTES);
      record.u8(MainKind.cancel);
      record.u32(token);
      record.u32(code);
      outbox.commit();
    });
  }

  /** Undefined when there was no room for the request, which is refused then. */
  private forward(
    shard: number,
    request: ClientRequest,
    kind: number,
    bodyBytesMax: number,
    write: (record: RecordWriter, outbox: Outbox) => void,
  ): number | undefined {
    const outbox = this.deps.mesh.main(shard);
    const pending = this.pendingOf(shard);
    const record = pending.isFull ? undefined : outbox.offer(REQUEST_BYTES_MAX + bodyBytesMax);
    if (record === undefined) {
      request.deny(ErrorCode.TransientNotAccepted);
      return undefined;
    }
    const token = pending.add(request);
    record.u8(kind);
    writeFacts(record, {
      token,
      client: request.client,
      session: request.session,
      userId: request.userId,
      request: request.request,
      requestChecksum: request.requestChecksum,
      operation: request.operation,
      partitionIncarnation: request.partitionIncarnation,
      ownerGeneration: request.ownerGeneration,
      minimumMetadataOp: this.deps.metadata.appliedOp,
    });
    write(record, outbox);
    outbox.commit();
    return token;
  }

  private pendingOf(shard: number): Pending<ClientRequest> {
    const pending = this.pending.get(shard);
    if (pending === undefined) throw new RangeError(`shard ${shard} gets no requests of this one`);
    return pending;
  }
}

const CANCEL_BYTES = 16;
