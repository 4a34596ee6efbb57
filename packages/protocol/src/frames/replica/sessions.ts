import { checked, listToEnd, strictBool, struct, u128, u64, type ValueOf } from "../../codec/index.js";
import { FrameCommand, limits } from "../../enums/index.js";
import { after, replicaFrame } from "./layout.js";

const ENTRY_SIZE = 24;
const isEntries = (length: number): boolean =>
  length % ENTRY_SIZE === 0 && length / ENTRY_SIZE <= limits.consumerSessionsPerHeartbeat;

const fields = struct("session report", { incomplete: strictBool, namespaceRevision: after(119, u64) });

/**
 * Sessions that a backup saw alive; the body is `reportedSessions`, up to 1024.
 *
 *   128 incomplete u8: some shard did not report · 248 namespace_revision u64, 0
 */
export const consumerSessionHeartbeat = replicaFrame({
  name: "ConsumerSessionHeartbeat",
  command: FrameCommand.ConsumerSessionHeartbeat,
  fields,
  body: isEntries,
  fault: ({ namespaceRevision }) => (namespaceRevision === 0n ? undefined : "a heartbeat has no namespace revision"),
});

/** Sessions that every partition here has retired at `namespace_revision`. The layout of a ConsumerSessionHeartbeat. */
export const sessionRetirementProgress = replicaFrame({
  name: "SessionRetirementProgress",
  command: FrameCommand.SessionRetirementProgress,
  fields,
  body: isEntries,
});

const reportedSession = checked(
  struct("reported session", { clientId: u128, session: u64 }),
  ({ clientId, session }) => (clientId === 0n || session === 0n ? "client id and session are not 0" : undefined),
  (s) => ({ clientId: s.bigint(128) | 1n, session: s.bigint(64) | 1n }),
);
export type ReportedSession = ValueOf<typeof reportedSession>;

/** `([client_id u128][session u64])` to the end, none of them 0. */
export const reportedSessions = listToEnd(reportedSession);
