import { encodeSessionRetirement } from "@iggy/engine";
import { Operation } from "@iggy/protocol";
import type { LocalPartition } from "./local-partition.js";
import type { PartitionTable } from "./partition-table.js";
import type { EndedSession } from "../plane.js";
import type { PartitionShard } from "../shard.js";

/** A retirement that could not be ordered is offered again after this long. */
const RETRY_MILLIS = 1_000;

/** Sessions that one record of the log retires at most. */
const SESSIONS_PER_RECORD = 128;

/** Ends sessions in every partition that they wrote to, so that metadata may free their place. */
export class SessionRetirements {
  private readonly shard: PartitionShard;
  private readonly table: PartitionTable;

  constructor(shard: PartitionShard, table: PartitionTable) {
    this.shard = shard;
    this.table = table;
  }

  /**
   * Resolves when no partition of this node can be written to by these sessions any more. One that is not open takes no
   * writes, and when it opens none of sessions that have ended; so a disk that fails keeps nobody's place.
   */
  async retire(sessions: readonly EndedSession[]): Promise<void> {
    await Promise.all([...this.table.in()].map((local) => this.retireIn(local, sessions)));
  }

  /** Frees the places of writers whose sessions ended while the partition was not open. */
  async opened(local: LocalPartition): Promise<void> {
    const { catalog } = this.shard.environment;
    const ended: EndedSession[] = [];
    for (const { client, session } of local.group?.machine.writerSessions() ?? []) {
      if (catalog.isSessionLive(client, session)) continue;
      ended.push({ client, session, metadataWatermark: Math.max(session, catalog.appliedOp) });
    }
    for (let at = 0; at < ended.length; at += SESSIONS_PER_RECORD) {
      await this.retireIn(local, ended.slice(at, at + SESSIONS_PER_RECORD));
    }
  }

  private async retireIn(local: LocalPartition, sessions: readonly EndedSession[]): Promise<void> {
    // A partition without writes of the sessions has nothing to end: the session gate keeps them out. Neither has one
    // that serves nothing any more.
    for (let group = local.group; group !== undefined && !group.isClosed; group = local.group) {
      const writers = sessions.filter(({ client, session }) => local.group?.isWriter(client, session));
      if (writers.length === 0) return;
      const body = encodeSessionRetirement({ sessions: writers, paidThrough: 0 });
      if ((await group.order(Operation.RetireSession, body)) === 0) return;
      await new Promise<void>((resolve) => this.shard.waits.at(this.shard.waits.nowMillis + RETRY_MILLIS, resolve));
    }
  }
}
