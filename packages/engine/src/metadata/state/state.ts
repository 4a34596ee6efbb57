import { idLimits, type Identifier } from "@iggy/protocol";
import type { AccessToken, User } from "./accounts.js";
import { ChangeLog } from "../changes/change-log.js";
import { type MetadataConfig, USERS_MAX } from "../config.js";
import type { ConsumerGroup } from "./consumer-group.js";
import type { Stream } from "./resources.js";
import type { Session } from "./session.js";
import { Slab } from "./slab.js";

/**
 * Everything that the metadata log decides. Handlers of operations change it, reads look at it; both go through the
 * methods here where an index has to stay true.
 */
export class MetadataState {
  /** Last applied op; 0 before the first. */
  appliedOp = 0;
  appliedAtMicros = 0;
  /** Checksum of op 1, which names this history; undefined before it. */
  logId: bigint | undefined;
  /** Grows with every op that changes the set of partitions or the ownership of groups. */
  revision = 0;
  /** Grows with every op that changes the set of partitions: what reports of retired sessions are checked against. */
  namespaceRevision = 0;
  /** Sessions that may exist at a time, fixed by the first op. */
  sessionsMax: number;

  readonly streams = new Slab<Stream>(idLimits.streams);
  readonly streamsByName = new Map<string, Stream>();
  readonly users = new Slab<User>(USERS_MAX);
  readonly usersByName = new Map<string, User>();
  readonly tokensByHash = new Map<string, AccessToken>();
  /** In order of registration, so by ascending epoch. */
  readonly sessions = new Map<bigint, Session>();
  /** Groups of each client id that is a member somewhere. */
  readonly memberships = new Map<bigint, Set<ConsumerGroup>>();
  /** Groups with a pending revocation. */
  readonly groupsInHandover = new Set<ConsumerGroup>();
  readonly changeLog: ChangeLog;

  topicsCount = 0;
  partitionsCount = 0;
  groupsCount = 0;

  constructor(config: MetadataConfig) {
    this.sessionsMax = config.clientsTableMax;
    this.changeLog = new ChangeLog({
      resource: config.changeLogResourceCapacity,
      activity: config.changeLogActivityCapacity,
    });
  }

  stream(id: Identifier): Stream | undefined {
    return id.kind === "numeric" ? this.streams.get(id.value) : this.streamsByName.get(id.value);
  }

  user(id: Identifier): User | undefined {
    return id.kind === "numeric" ? this.users.get(id.value) : this.usersByName.get(id.value);
  }

  addStream(stream: Stream): void {
    this.streams.insert(stream.id, stream);
    this.streamsByName.set(stream.name, stream);
  }

  removeStream(stream: Stream): void {
    this.streams.remove(stream.id);
    this.streamsByName.delete(stream.name);
  }

  renameStream(stream: Stream, name: string): void {
    this.streamsByName.delete(stream.name);
    stream.name = name;
    this.streamsByName.set(name, stream);
  }

  addUser(user: User): void {
    this.users.insert(user.id, user);
    this.usersByName.set(user.username, user);
  }

  removeUser(user: User): void {
    for (const token of [...user.tokens.values()]) this.removeToken(token);
    this.users.remove(user.id);
    this.usersByName.delete(user.username);
  }

  renameUser(user: User, username: string): void {
    this.usersByName.delete(user.username);
    user.username = username;
    this.usersByName.set(username, user);
  }

  addToken(token: AccessToken): void {
    token.user.tokens.set(token.name, token);
    this.tokensByHash.set(token.hash, token);
  }

  removeToken(token: AccessToken): void {
    token.user.tokens.delete(token.name);
    this.tokensByHash.delete(token.hash);
  }

  addMembership(clientId: bigint, group: ConsumerGroup): void {
    const groups = this.memberships.get(clientId);
    if (groups === undefined) this.memberships.set(clientId, new Set([group]));
    else groups.add(group);
  }

  removeMembership(clientId: bigint, group: ConsumerGroup): void {
    const groups = this.memberships.get(clientId);
    if (groups?.delete(group) === true && groups.size === 0) this.memberships.delete(clientId);
  }

  /** Groups of a client, by stream, topic and group id: an order that no history can change. */
  groupsOf(clientId: bigint): ConsumerGroup[] {
    return [...(this.memberships.get(clientId) ?? [])].sort(
      (left, right) =>
        left.topic.stream.id - right.topic.stream.id || left.topic.id - right.topic.id || left.id - right.id,
    );
  }
}
