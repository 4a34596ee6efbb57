import { ErrorCode, type Identifier, isGranted, type Right, ROOT_USER_ID, type SessionIdentity } from "@iggy/protocol";
import { applyPrepare } from "./apply/apply.js";
import type { User } from "./state/accounts.js";
import { sessionToBind } from "./login/bind.js";
import type { MetadataConfig } from "./config.js";
import type { ConsumerGroup } from "./state/consumer-group.js";
import { resolveGroup, resolvePartition, resolveTopic } from "./data-plane.js";
import {
  dueRevocations,
  expiredTokens,
  finalizations,
  type GroupProgress,
  type Handover,
  handovers,
  type ServerOperation,
  sessionEnd,
} from "./housekeeping.js";
import {
  type Account,
  type Authentication,
  authenticatePassword,
  authenticateToken,
  registrationRefusal,
} from "./login/login.js";
import type { GroupOwner } from "./state/owner.js";
import { type PartitionStats, sumOf } from "./replies/partition-stats.js";
import type { MetadataApplied, MetadataPrepare } from "./prepare.js";
import { ReadContext } from "./reads/read.js";
import { reads } from "./reads/table.js";
import type { Refusal } from "./refusal.js";
import { checkRequest, type RequestCheck, type RequestIdentity } from "./request-check.js";
import type { ClientRequest, Resolution, ResolveInputs } from "./resolve/resolution.js";
import { resolveRequest } from "./resolve/table.js";
import { partitionsOf } from "./replies/records.js";
import type { Partition, Stream, Topic } from "./state/resources.js";
import type { Secrets } from "./login/secrets.js";
import type { Session } from "./state/session.js";
import { restoreState } from "./snapshot/restore.js";
import { writeSnapshot } from "./snapshot/write.js";
import { MetadataState } from "./state/state.js";

export type ReadResult = { readonly status: number } | { readonly payload: Uint8Array };

export interface GroupMembership {
  readonly streamId: number;
  readonly topicId: number;
  readonly groupId: number;
}

export interface MetadataTotals {
  readonly usersCount: number;
  readonly streamsCount: number;
  readonly topicsCount: number;
  readonly partitionsCount: number;
  readonly consumerGroupsCount: number;
  readonly messagesCount: number;
  readonly sizeBytes: number;
  readonly segmentsCount: number;
}

/**
 * The replicated metadata of a node: streams, topics, partitions, consumer groups, users, tokens and sessions, as the
 * committed operations of the metadata log made them. `apply` is the only way to change it, and a function of state and
 * prepare alone; what needs a clock, randomness or another part of the server is settled before, by `resolve`.
 */
export class MetadataMachine {
  private readonly state: MetadataState;
  private readonly config: MetadataConfig;

  /** Empty, or as a snapshot left it; bytes that are no snapshot of this release throw an `IggyError`. */
  constructor(config: MetadataConfig, snapshot?: Uint8Array) {
    this.config = config;
    this.state = snapshot === undefined ? new MetadataState(config) : restoreState(snapshot, config);
  }

  static restore(snapshot: Uint8Array, config: MetadataConfig): MetadataMachine {
    return new MetadataMachine(config, snapshot);
  }

  snapshot(): Uint8Array {
    return writeSnapshot(this.state);
  }

  /** Applies the next committed operation. Every body has an outcome; only a gap in the log throws. */
  apply(prepare: MetadataPrepare): MetadataApplied {
    return applyPrepare(this.state, this.config, prepare);
  }

  get appliedOp(): number {
    return this.state.appliedOp;
  }

  /** Prepare time of the last applied op, µs. */
  get appliedAtMicros(): number {
    return this.state.appliedAtMicros;
  }

  /** Names this history; undefined before its first op. */
  get logId(): bigint | undefined {
    return this.state.logId;
  }

  /** Grows with every change of the set of partitions or of the ownership of groups. */
  get revision(): number {
    return this.state.revision;
  }

  // The way of a client's operation into the log.

  checkRequest(identity: RequestIdentity): RequestCheck {
    return checkRequest(this.state, identity);
  }

  /** Turns an operation of a client into the one that is replicated, or refuses it before it is ordered. */
  resolve(request: ClientRequest, inputs: ResolveInputs): Resolution | Promise<Resolution> {
    return resolveRequest(this.state, this.config, request, inputs);
  }

  // Signing in.

  authenticatePassword(secrets: Secrets, username: string, password: string): Promise<Authentication> {
    return authenticatePassword(this.state, secrets, username, password);
  }

  authenticateToken(token: string, nowMicros: number): Authentication {
    return authenticateToken(this.state, token, nowMicros);
  }

  /** Code that registering would be refused with now; undefined when it should be ordered. */
  registrationRefusal(client: bigint, account: Account, bindSecret: Uint8Array): number | undefined {
    return registrationRefusal(this.state, client, account, bindSecret);
  }

  /** The session that a connection may be bound to, or 40 or 58. */
  sessionToBind(identity: SessionIdentity, bindSecret: Uint8Array): Session | Refusal {
    return sessionToBind(this.state, identity, bindSecret);
  }

  /** The live session of a client id. */
  session(client: bigint): Session | undefined {
    const session = this.state.sessions.get(client);
    return session?.isLive === true ? session : undefined;
  }

  /** Whether a partition may still take writes of a session. */
  isLiveSession(client: bigint, epoch: number): boolean {
    return this.session(client)?.epoch === epoch;
  }

  // What the data plane asks.

  resolveTopic(streamId: Identifier, topicId: Identifier): Topic | Refusal {
    return resolveTopic(this.state, streamId, topicId);
  }

  resolvePartition(streamId: Identifier, topicId: Identifier, partitionId: number): Partition | Refusal {
    return resolvePartition(this.state, streamId, topicId, partitionId);
  }

  resolveGroup(topic: Topic, groupId: Identifier): ConsumerGroup | Refusal {
    return resolveGroup(topic, groupId);
  }

  /** The stream of a known id, whatever its incarnation. */
  stream(streamId: number): Stream | undefined {
    return this.state.streams.get(streamId);
  }

  /** Every stream, by ascending id. */
  streams(): Iterable<Stream> {
    return this.state.streams.values();
  }

  /** The partition of a known place, whatever its incarnation. */
  partition(streamId: number, topicId: number, partitionId: number): Partition | undefined {
    return this.state.streams.get(streamId)?.topics.get(topicId)?.partitions[partitionId];
  }

  *partitions(): IterableIterator<Partition> {
    for (const stream of this.state.streams.values()) yield* partitionsOf(stream);
  }

  /** Last decided owner of a group in a partition; generation 0 before the first. */
  owner(partition: Partition, groupId: number): GroupOwner | undefined {
    return partition.topic.groups.get(groupId)?.ownerOf(partition.partitionId);
  }

  /** Whether a member may poll the partition: it holds it, and it is not being revoked. */
  mayPoll(partition: Partition, groupId: number, client: bigint): boolean {
    const group = partition.topic.groups.get(groupId);
    const member = group?.membersByClient.get(client);
    return group !== undefined && member !== undefined && group.isPollable(member, partition.partitionId);
  }

  /** A user by id or name, with its permissions and tokens; undefined when there is none. */
  user(id: Identifier): User | undefined {
    return this.state.user(id);
  }

  /** Whether a user has a right; a user that does not exist has none. */
  mayDo(userId: number, right: Right, streamId?: number, topicId?: number): boolean {
    const user = this.state.users.get(userId);
    if (user === undefined) return false;
    return user.id === ROOT_USER_ID || isGranted(user.permissions, right, streamId, topicId);
  }

  // Reads.

  /** Whether metadata answers this read command. */
  answers(code: number): boolean {
    return reads.has(code);
  }

  /** Answers a read command of a signed-in user. `client` is 0 where there is no session to be a member with. */
  read(code: number, payload: Uint8Array, userId: number, client: bigint, stats: PartitionStats): ReadResult {
    const user = this.state.users.get(userId);
    if (user === undefined) return { status: ErrorCode.Unauthenticated };
    const answer = reads.get(code)?.(new ReadContext(this.state, this.config, user, client, stats), payload);
    if (answer === undefined) return { status: ErrorCode.InvalidCommand };
    return answer instanceof Uint8Array ? { payload: answer } : { status: answer.code };
  }

  memberships(client: bigint): GroupMembership[] {
    return this.state
      .groupsOf(client)
      .map(({ id, topic }) => ({ streamId: topic.stream.id, topicId: topic.id, groupId: id }));
  }

  totals(stats: PartitionStats): MetadataTotals {
    const { streams, topicsCount, partitionsCount, groupsCount, users } = this.state;
    return {
      usersCount: users.size,
      streamsCount: streams.size,
      topicsCount,
      partitionsCount,
      consumerGroupsCount: groupsCount,
      ...sumOf(this.partitions(), stats),
    };
  }

  // Work that the server orders itself.

  /** Handovers under way, about which `dueRevocations` will ask. */
  handovers(): Iterable<Handover> {
    return handovers(this.state);
  }

  dueRevocations(progress: GroupProgress, nowMicros: number, timeoutMicros: number, max = 128): ServerOperation[] {
    return dueRevocations(this.state, progress, nowMicros, timeoutMicros, max);
  }

  expiredTokens(nowMicros: number, max = 256): ServerOperation[] {
    return expiredTokens(this.state, nowMicros, max);
  }

  /** Ends a session whose lease ran out. */
  sessionExpiry(session: Session): ServerOperation {
    return sessionEnd(session, "expired");
  }

  /** Live sessions, oldest first. */
  *sessions(): IterableIterator<Session> {
    for (const session of this.state.sessions.values()) if (session.isLive) yield session;
  }

  finalizations(isRetired: (session: Session) => boolean, max = 128): ServerOperation[] {
    return finalizations(this.state, isRetired, max);
  }
}
