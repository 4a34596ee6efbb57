import {
  compareUtf8,
  decodeExact,
  encode,
  groupMaskBit,
  MetadataGroup,
  type MetadataChangesPage,
  type MetadataCursor,
  name,
  type PageToken,
  Reader,
  type StateItem,
  struct,
  u32,
  u64,
} from "@iggy/protocol";
import type { ConsumerGroup } from "../state/consumer-group.js";
import type { Topic } from "../state/resources.js";
import type { MetadataState } from "../state/state.js";
import {
  groupItem,
  memberItem,
  partitionsItem,
  sessionItem,
  streamItem,
  tokenItem,
  topicItem,
  userItem,
} from "./items.js";
import { page, type Query } from "./query.js";

/** One thing of the current state, with the key that a page token names it by. */
interface Keyed {
  readonly key: Uint8Array;
  readonly body: Uint8Array;
}

/** Walks the things of one group in key order, from behind a key on (from the first one without it). */
type Walk = (state: MetadataState, after: Uint8Array | undefined) => IterableIterator<Keyed>;

const walks: Readonly<Record<number, Walk>> = {
  [MetadataGroup.streams]: walkStreams,
  [MetadataGroup.topics]: walkTopics(topicItem),
  [MetadataGroup.partitions]: walkTopics(partitionsItem),
  [MetadataGroup.consumer_groups]: walkGroups,
  [MetadataGroup.consumer_group_members]: walkMembers,
  [MetadataGroup.users]: walkUsers,
  [MetadataGroup.personal_access_tokens]: walkTokens,
  [MetadataGroup.sessions]: walkSessions,
};

/** Fixed bytes of an item on the wire. */
const ITEM_OVERHEAD = 5;

/** One page of the current state. It is no picture of one moment: changes behind the anchor complete it. */
export function currentStatePage(query: Query, anchor: MetadataCursor, token: PageToken | null): MetadataChangesPage {
  const { state, request, config, mask } = query;
  const items: StateItem[] = [];
  let bytes = 0;
  let last: { readonly group: number; readonly lastKey: Uint8Array } | undefined;
  let hasMore = false;
  scan: for (const group of Object.values(MetadataGroup)) {
    if ((mask & groupMaskBit(group)) === 0 || group < (token?.group ?? 0)) continue;
    const after = token?.group === group ? token.lastKey : undefined;
    for (const { key, body } of walks[group]?.(state, after) ?? []) {
      bytes += ITEM_OVERHEAD + body.length;
      hasMore = items.length === request.limit || (items.length > 0 && bytes > config.changesPageBytesMax);
      if (hasMore) break scan;
      items.push({ group, body });
      last = { group, lastKey: key };
    }
  }
  const requiredHead = token?.requiredHead ?? BigInt(state.appliedOp);
  const next = hasMore && last !== undefined ? { anchor, requiredHead, groupsMask: mask, ...last } : null;
  return page(query, "ok", { next: anchor, items, hasMore, currentPageToken: next });
}

/** A key of u32 ids. */
function keyOf(...ids: readonly number[]): Uint8Array {
  const key = new Uint8Array(4 * ids.length);
  const view = new DataView(key.buffer);
  ids.forEach((id, index) => view.setUint32(4 * index, id, true));
  return key;
}

/** The ids of such a key; none without a key. */
function idsIn(key: Uint8Array | undefined): readonly number[] {
  if (key === undefined) return [];
  const reader = new Reader(key);
  const ids: number[] = [];
  while (reader.remaining >= 4) ids.push(reader.u32());
  return ids;
}

/** First id to visit behind a key: the one after its last id. */
const behind = (id: number | undefined): number => (id === undefined ? 0 : id + 1);

function* walkStreams(state: MetadataState, after: Uint8Array | undefined): IterableIterator<Keyed> {
  const [streamId] = idsIn(after);
  for (const stream of state.streams.values(behind(streamId))) {
    yield { key: keyOf(stream.id), body: streamItem(stream) };
  }
}

function* topicsFrom(state: MetadataState, streamId = 0, topicId = 0): IterableIterator<Topic> {
  for (const stream of state.streams.values(streamId)) {
    yield* stream.topics.values(stream.id === streamId ? topicId : 0);
  }
}

function walkTopics(item: (topic: Topic) => Uint8Array): Walk {
  return function* (state, after) {
    const [streamId, topicId] = idsIn(after);
    for (const topic of topicsFrom(state, streamId, behind(topicId))) {
      yield { key: keyOf(topic.stream.id, topic.id), body: item(topic) };
    }
  };
}

function* groupsFrom(
  state: MetadataState,
  streamId?: number,
  topicId?: number,
  groupId = 0,
): IterableIterator<ConsumerGroup> {
  for (const topic of topicsFrom(state, streamId, topicId)) {
    const isFirst = topic.stream.id === streamId && topic.id === topicId;
    for (const group of topic.groups.values()) if (!isFirst || group.id >= groupId) yield group;
  }
}

function* walkGroups(state: MetadataState, after: Uint8Array | undefined): IterableIterator<Keyed> {
  const [streamId, topicId, groupId] = idsIn(after);
  for (const group of groupsFrom(state, streamId, topicId, behind(groupId))) {
    yield { key: keyOf(group.topic.stream.id, group.topic.id, group.id), body: groupItem(group) };
  }
}

function* walkMembers(state: MetadataState, after: Uint8Array | undefined): IterableIterator<Keyed> {
  const [streamId, topicId, groupId, slot] = idsIn(after);
  for (const group of groupsFrom(state, streamId, topicId, groupId)) {
    const { topic } = group;
    const isFirst = topic.stream.id === streamId && topic.id === topicId && group.id === groupId;
    for (const member of group.members.values(isFirst ? behind(slot) : 0)) {
      yield { key: keyOf(topic.stream.id, topic.id, group.id, member.slot), body: memberItem(group, member) };
    }
  }
}

function* walkUsers(state: MetadataState, after: Uint8Array | undefined): IterableIterator<Keyed> {
  const [userId] = idsIn(after);
  for (const user of state.users.values(behind(userId))) yield { key: keyOf(user.id), body: userItem(user) };
}

const tokenKey = struct("token key", { userId: u32, name });

function* walkTokens(state: MetadataState, after: Uint8Array | undefined): IterableIterator<Keyed> {
  const last = after === undefined ? undefined : decodeExact(tokenKey, after);
  for (const user of state.users.values(last?.userId)) {
    const tokens = [...user.tokens.values()].sort((left, right) => compareUtf8(left.name, right.name));
    for (const token of tokens) {
      if (user.id === last?.userId && compareUtf8(token.name, last.name) <= 0) continue;
      yield { key: encode(tokenKey, { userId: user.id, name: token.name }), body: tokenItem(token) };
    }
  }
}

function* walkSessions(state: MetadataState, after: Uint8Array | undefined): IterableIterator<Keyed> {
  const last = after === undefined ? 0n : decodeExact(u64, after);
  for (const session of state.sessions.values()) {
    const epoch = BigInt(session.epoch);
    if (session.isLive && epoch > last) yield { key: encode(u64, epoch), body: sessionItem(session) };
  }
}
