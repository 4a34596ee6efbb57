import { type Codec, decodeExact, encode, type ValueOf } from "../codec/index.js";
import * as bodies from "./bodies.js";
import { MetadataGroup, type MetadataGroupName, metadataGroupName } from "./groups.js";
import type { StateItem } from "./page.js";

/** What the current state holds, by group. */
const items = {
  streams: bodies.streamBody,
  topics: bodies.topicItem,
  partitions: bodies.partitionsItem,
  consumer_groups: bodies.groupItem,
  consumer_group_members: bodies.memberItem,
  users: bodies.userBody,
  personal_access_tokens: bodies.tokenBody,
  sessions: bodies.sessionBody,
} as const satisfies Readonly<Record<MetadataGroupName, Codec<unknown>>>;

export type MetadataItemBody<G extends MetadataGroupName> = ValueOf<(typeof items)[G]>;

/** An item of a known group. */
export type MetadataItem = {
  [G in MetadataGroupName]: { readonly group: G; readonly body: MetadataItemBody<G> };
}[MetadataGroupName];

export const metadataItemLayout = (group: MetadataGroupName): Codec<unknown> => items[group];

export function encodeItem<G extends MetadataGroupName>(group: G, body: MetadataItemBody<G>): StateItem {
  const layout: Codec<unknown> = items[group];
  return { group: MetadataGroup[group], body: encode(layout, body) };
}

/** The typed item; undefined for a group that this release does not know. */
export function decodeItem({ group, body }: StateItem): MetadataItem | undefined {
  const name = metadataGroupName(group);
  if (name === undefined) return undefined;
  const layout: Codec<unknown> = items[name];
  return { group: name, body: decodeExact(layout, body) } as MetadataItem;
}
