import { type Codec, decodeExact, encode, type ValueOf, WireError } from "../codec/index.js";
import { keysOf } from "../codec/keys.js";
import * as bodies from "./bodies.js";
import { MetadataGroup, type MetadataGroupName, metadataGroupName } from "./groups.js";

interface Kind {
  readonly code: number;
  readonly group: MetadataGroupName;
  readonly body: Codec<unknown>;
}

/** What can change, with the group and the body of each kind. */
const kinds = {
  stream_created: { code: 1, group: "streams", body: bodies.streamBody },
  stream_updated: { code: 2, group: "streams", body: bodies.streamBody },
  stream_deleted: { code: 3, group: "streams", body: bodies.streamDeleted },
  topic_created: { code: 10, group: "topics", body: bodies.topicBody },
  topic_updated: { code: 11, group: "topics", body: bodies.topicBody },
  topic_deleted: { code: 12, group: "topics", body: bodies.topicDeleted },
  partitions_changed: { code: 20, group: "partitions", body: bodies.partitionsChanged },
  consumer_group_created: { code: 30, group: "consumer_groups", body: bodies.groupCreated },
  consumer_group_deleted: { code: 31, group: "consumer_groups", body: bodies.groupDeleted },
  consumer_group_member_joined: { code: 40, group: "consumer_group_members", body: bodies.memberJoined },
  consumer_group_member_left: { code: 41, group: "consumer_group_members", body: bodies.memberLeft },
  consumer_group_partition_handed_over: { code: 42, group: "consumer_group_members", body: bodies.handedOver },
  user_created: { code: 50, group: "users", body: bodies.userBody },
  user_updated: { code: 51, group: "users", body: bodies.userBody },
  user_deleted: { code: 52, group: "users", body: bodies.userIdentity },
  user_password_changed: { code: 53, group: "users", body: bodies.userIdentity },
  user_permissions_updated: { code: 54, group: "users", body: bodies.userPermissions },
  personal_access_token_created: { code: 60, group: "personal_access_tokens", body: bodies.tokenBody },
  personal_access_token_deleted: { code: 61, group: "personal_access_tokens", body: bodies.tokenDeleted },
  session_registered: { code: 70, group: "sessions", body: bodies.sessionBody },
  session_closed: { code: 71, group: "sessions", body: bodies.sessionClosed },
} as const satisfies Readonly<Record<string, Kind>>;

export type MetadataChangeName = keyof typeof kinds;
export type MetadataChangeBody<N extends MetadataChangeName> = ValueOf<(typeof kinds)[N]["body"]>;

/** A change of a known kind. */
export type MetadataChange = {
  [N in MetadataChangeName]: { readonly kind: N; readonly body: MetadataChangeBody<N> };
}[MetadataChangeName];

/** The part of a change record that its kind decides. */
export interface EncodedChange {
  readonly group: number;
  readonly kind: number;
  readonly body: Uint8Array;
}

export const metadataChangeNames: readonly MetadataChangeName[] = keysOf(kinds);

const nameByCode = new Map<number, MetadataChangeName>(metadataChangeNames.map((name) => [kinds[name].code, name]));

export const metadataChangeName = (code: number): MetadataChangeName | undefined => nameByCode.get(code);
export const metadataChangeCode = (name: MetadataChangeName): number => kinds[name].code;

/** The layout of a kind's body. */
export const metadataChangeLayout = (name: MetadataChangeName): Codec<unknown> => kinds[name].body;

export function encodeChange<N extends MetadataChangeName>(name: N, body: MetadataChangeBody<N>): EncodedChange {
  const { code, group, body: layout }: Kind = kinds[name];
  return { group: MetadataGroup[group], kind: code, body: encode(layout, body) };
}

/**
 * The typed change of a record; undefined for a group or kind that this release does not know, which a reader keeps as
 * bytes. A known kind under another known group is malformed.
 */
export function decodeChange({ group, kind, body }: EncodedChange): MetadataChange | undefined {
  const name = nameByCode.get(kind);
  const groupName = metadataGroupName(group);
  if (name === undefined || groupName === undefined) return undefined;
  const { group: ownGroup, body: layout }: Kind = kinds[name];
  if (ownGroup !== groupName) throw new WireError("Validation", `${name} is no change of ${groupName}`);
  return { kind: name, body: decodeExact(layout, body) } as MetadataChange;
}
