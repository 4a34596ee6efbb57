import { type GroupIdentity, type Prepare, Replica } from "@iggy/consensus";
import {
  type Account,
  type Authentication,
  bootstrap,
  everyNode,
  type MetadataApplied,
  type MetadataConfig,
  type MetadataEffect,
  MetadataMachine,
  type PartitionKey,
  type PartitionStats,
  registration,
  type ResolveInputs,
  type Secrets,
  type ServerOperation,
  type StoredReply,
} from "@iggy/engine";
import { encodeResult, ErrorCode, isResultFramed, METADATA_GROUP, PrepareHeader } from "@iggy/protocol";
import type { MetadataStore, RecoveredMetadata } from "@iggy/storage";
import { metadataSealer } from "../prepare-sealer.js";
import type { Clock } from "../request.js";
import type { RegistrationOutcome, Registry } from "../sessions/login-desk.js";
import { type CommittedOperation, MetadataGroup } from "./metadata-group.js";
import { MetadataView } from "./metadata-view.js";
import type { OperationRequest } from "./operation-request.js";

/**
 * Largest body of an operation: more than 100,000 grants on topics, the one thing without a bound of its own. Reading that
 * many takes some 40 ms, in which nothing else is served; and the log takes no entry above 64 MiB.
 */
const OPERATION_BYTES_MAX = 1024 * 1024;
/** What metadata asks of the partitions of this node. */
export interface MetadataNeighbours extends PartitionStats, Pick<ResolveInputs, "progressOf" | "deletableThrough"> {}

export interface MetadataPlaneDeps {
  readonly store: MetadataStore;
  readonly recovered: RecoveredMetadata;
  readonly config: MetadataConfig;
  readonly cluster: bigint;
  readonly replica: number;
  readonly prepareQueueDepth: number;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly neighbours: MetadataNeighbours;
  /** What an applied operation changed outside the metadata. Runs before the client is answered. */
  readonly onEffects: (effects: readonly MetadataEffect[]) => void;
  /** Learns every operation that is applied, in order, before its effects. */
  readonly onCommitted: (prepare: Prepare, effects: readonly MetadataEffect[]) => void;
  /** Others still have to take earlier commits: nothing new is ordered until they did. */
  readonly isBehind: () => boolean;
  readonly onFatal: (error: Error) => void;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/** The replicated metadata on this node: the one place where operations are ordered, of clients and of the server. */
export class MetadataPlane implements Registry {
  /** What is applied. */
  readonly view: MetadataView;
  readonly machine: MetadataMachine;
  private readonly deps: MetadataPlaneDeps;
  private readonly group: MetadataGroup<MetadataApplied>;
  private readonly inputs: ResolveInputs;
  /** Client operations that were taken and have no outcome yet, as client and request number. */
  private readonly underWay = new Set<string>();

  constructor(deps: MetadataPlaneDeps) {
    const { recovered, config, neighbours } = deps;
    this.deps = deps;
    this.machine =
      recovered.snapshot === undefined
        ? new MetadataMachine(config)
        : MetadataMachine.restore(recovered.snapshot, config);
    this.view = new MetadataView(this.machine, neighbours);
    const head = this.replay(recovered);
    const identity: GroupIdentity = {
      group: METADATA_GROUP,
      cluster: deps.cluster,
      replica: deps.replica,
      members: config.nodes,
      pipelineDepth: deps.prepareQueueDepth,
      retryCapacity: config.clientsTableMax,
    };
    const { view, logView } = recovered.frontier;
    this.inputs = {
      secrets: deps.secrets,
      placement: everyNode,
      progressOf: (partitions, groupId) => neighbours.progressOf(partitions, groupId),
      deletableThrough: (partition, count) => neighbours.deletableThrough(partition, count),
    };
    this.group = new MetadataGroup(
      {
        replica: new Replica(identity, { view, logView, ...head }, metadataSealer),
        store: deps.store,
        clock: deps.clock,
        apply: (prepare) => this.apply(prepare),
        snapshot: () => this.machine.snapshot(),
        requestQueueDepth: 2 * deps.prepareQueueDepth,
        onFatal: deps.onFatal,
        log: deps.log,
      },
      head.headChecksum,
    );
  }

  get appliedOp(): number {
    return this.machine.appliedOp;
  }

  /** View of the metadata group. */
  get viewNumber(): number {
    return this.group.viewNumber;
  }

  /** Creates the root user: the first operation of a history. */
  async createRoot(username: string, password: string): Promise<void> {
    const operation = bootstrap(username, await this.deps.secrets.hashPassword(password));
    const applied = await this.order(operation);
    if (applied?.code !== 0) throw new Error(`the root user could not be created (code ${applied?.code ?? 58})`);
  }

  /** Orders an operation of the server itself; undefined when there is no room for it now. */
  order(operation: ServerOperation): Promise<MetadataApplied | undefined> {
    if (!this.hasRoom) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.group.propose(
        { ...operation, request: 0, requestChecksum: 0n, userId: 0, partitionIncarnation: 0 },
        (committed) => resolve(committed?.applied),
      );
    });
  }

  close(): Promise<void> {
    this.view.close();
    return this.group.close();
  }

  private get hasRoom(): boolean {
    return this.group.hasRoom && !this.deps.isBehind();
  }

  // Operations of clients.

  submit(request: OperationRequest): void {
    if (request.body.length > OPERATION_BYTES_MAX) {
      request.deny(ErrorCode.InvalidSizeBytes);
      return;
    }
    const { client, session, operation } = request;
    const check = this.machine.checkRequest({ client, session, request: request.request, operation });
    switch (check.kind) {
      case "replay":
        this.replayReply(request, check.reply);
        return;
      case "deny":
        request.deny(check.code);
        return;
      case "evict":
        request.evict(check.reason);
        return;
      case "new":
        this.take(request);
    }
  }

  private take(request: OperationRequest): void {
    const key = `${request.client}/${request.request}`;
    if (this.underWay.has(key)) {
      request.deny(ErrorCode.TransientNotCommitted);
      return;
    }
    if (!this.hasRoom) {
      request.deny(ErrorCode.TransientNotAccepted);
      return;
    }
    this.underWay.add(key);
    const release = (): void => void this.underWay.delete(key);
    const fail = (error: unknown): void => {
      release();
      this.deps.log.error({ err: error, operation: request.operation }, "a metadata request failed unexpectedly");
      request.deny(ErrorCode.Error);
    };
    // The resolution runs at once where it needs no password hash, so that order of arrival is order of the log.
    try {
      const resolution = this.machine.resolve(request, this.inputs);
      if (resolution instanceof Promise) {
        resolution.then((resolved) => this.proposeResolved(request, resolved, release)).catch(fail);
      } else this.proposeResolved(request, resolution, release);
    } catch (error) {
      fail(error);
    }
  }

  private proposeResolved(
    request: OperationRequest,
    resolution: Awaited<ReturnType<MetadataMachine["resolve"]>>,
    release: () => void,
  ): void {
    if (resolution.kind === "deny" || !this.hasRoom) {
      release();
      request.deny(resolution.kind === "deny" ? resolution.code : ErrorCode.TransientNotAccepted);
      return;
    }
    const { client, session, requestChecksum, userId, partitionIncarnation } = request;
    const { operation, body, payloadOverride } = resolution;
    this.group.propose(
      { operation, client, session, request: request.request, requestChecksum, userId, partitionIncarnation, body },
      (committed) => {
        release();
        if (committed === undefined) request.deny(ErrorCode.TransientNotAccepted);
        else this.answer(request, committed, payloadOverride);
      },
    );
  }

  private answer(
    request: OperationRequest,
    { prepare, applied }: CommittedOperation<MetadataApplied>,
    payloadOverride?: Uint8Array,
  ): void {
    const payload = applied.code === 0 ? (payloadOverride ?? applied.payload) : applied.payload;
    this.committedReply(request, { ...prepare, code: applied.code, payload });
  }

  private replayReply(request: OperationRequest, reply: StoredReply): void {
    this.committedReply(request, { ...reply, partitionIncarnation: request.partitionIncarnation });
  }

  private committedReply(
    request: OperationRequest,
    { op, view, timestampMicros, operation, requestChecksum, partitionIncarnation, code, payload }: FinalReply,
  ): void {
    request.committed({
      op,
      view,
      timestampMicros,
      operation,
      request: request.request,
      requestChecksum,
      partitionIncarnation,
      body: isResultFramed(operation) ? [encodeResult(code, payload)] : [payload],
    });
  }

  // Sessions.

  authenticatePassword(username: string, password: string): Promise<Authentication> {
    return this.machine.authenticatePassword(this.deps.secrets, username, password);
  }

  authenticateToken(token: string): Authentication {
    return this.machine.authenticateToken(token, this.deps.clock.nowMicros());
  }

  register(
    client: bigint,
    requestChecksum: bigint,
    account: Account,
    bindSecret: Uint8Array,
  ): Promise<RegistrationOutcome> {
    const refused = (code: number): RegistrationOutcome => ({ code, session: 0, payload: new Uint8Array(0) });
    const refusal = this.machine.registrationRefusal(client, account, bindSecret);
    if (refusal !== undefined) return Promise.resolve(refused(refusal));
    if (!this.hasRoom) return Promise.resolve(refused(ErrorCode.TransientNotAccepted));
    return new Promise((resolve) => {
      this.group.propose(
        {
          ...registration(account, bindSecret),
          client,
          session: 0,
          request: 0,
          requestChecksum,
          partitionIncarnation: 0,
        },
        (committed) => {
          if (committed === undefined) resolve(refused(ErrorCode.TransientNotAccepted));
          else if (committed.applied.code !== 0) resolve(refused(committed.applied.code));
          else {
            // A repeated registration answers the session that the first one made.
            const session = this.machine.session(client)?.epoch ?? committed.prepare.op;
            resolve({ code: 0, session, payload: committed.applied.payload });
          }
        },
      );
    });
  }

  logout(request: OperationRequest): void {
    if (!this.hasRoom) {
      request.deny(ErrorCode.TransientNotAccepted);
      return;
    }
    const { operation, client, session, requestChecksum, userId } = request;
    // Only the server gives a reason, in the body.
    const body = new Uint8Array(0);
    this.group.propose(
      { operation, client, session, request: request.request, requestChecksum, userId, partitionIncarnation: 0, body },
      (committed) => {
        if (committed === undefined) request.deny(ErrorCode.TransientNotAccepted);
        else this.answer(request, committed);
      },
    );
  }

  // The log.

  private apply(prepare: Prepare): MetadataApplied {
    const { config, onCommitted, onEffects } = this.deps;
    return this.view.apply({ ...prepare, retryCapacity: config.clientsTableMax }, ({ effects }) => {
      onCommitted(prepare, effects);
      if (effects.length > 0) onEffects(effects);
    });
  }

  /** Applies what the journal holds above the snapshot: in a group of one it is all committed. */
  private replay({ snapshotOp, entries, frontier }: RecoveredMetadata): {
    op: number;
    commit: number;
    headChecksum: bigint;
    timestampMicros: number;
  } {
    let op = snapshotOp;
    let headChecksum = frontier.checkpointChecksum;
    let timestampMicros = this.machine.appliedAtMicros;
    const header = new PrepareHeader();
    for (const entry of entries) {
      header.at(entry.header, 0);
      if (entry.op > this.machine.appliedOp) {
        this.machine.apply({
          op: entry.op,
          timestampMicros: header.timestamp,
          checksum: header.checksum,
          operation: header.operation,
          client: header.client,
          session: header.session,
          request: header.request,
          requestChecksum: header.requestChecksum,
          userId: header.userId,
          view: header.view,
          retryCapacity: header.retryCapacity,
          body: entry.body,
        });
      }
      op = entry.op;
      headChecksum = header.checksum;
      timestampMicros = Math.max(timestampMicros, header.timestamp);
    }
    return { op, commit: op, headChecksum, timestampMicros };
  }
}

interface FinalReply {
  readonly op: number;
  readonly view: number;
  readonly timestampMicros: number;
  readonly operation: number;
  readonly requestChecksum: bigint;
  readonly partitionIncarnation: number;
  readonly code: number;
  readonly payload: Uint8Array;
}

/** Names a partition for the plane that holds it. */
export const addressOf = ({ streamId, topicId, partitionId }: PartitionKey): Omit<PartitionKey, "incarnation"> => ({
  streamId,
  topicId,
  partitionId,
});
