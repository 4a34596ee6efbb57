import { decodeResponse, ErrorCode, getPartitionRoute, Operation, type PartitionRoute } from "@iggy/protocol";
import { Permits } from "../calls/permits.js";
import { type Scope, ScopeEnded } from "../calls/scope.js";
import { errorOf } from "../errors/index.js";
import { type FrameBuffers, RequestFrame } from "../link/index.js";
import type { RequestNumbers } from "../session/request-numbers.js";
import type { Session } from "../session/session.js";
import { type Random, retryPauseMs } from "../time/backoff.js";
import type { AskFirst, Route, RouteCache } from "./route-cache.js";
import type { Router, Slot } from "./router.js";
import { type PartitionName, partitionSpelling } from "./spelling.js";

/** Lookups in flight at once, when the partitions of a read are grouped. */
const maxLookups = 16;

export type Lookup =
  | { readonly kind: "route"; readonly route: Route }
  /** The error code that ended the lookup; 58 when no replica could tell. */
  | { readonly kind: "refused"; readonly code: number };

const notAccepted: Lookup = { kind: "refused", code: ErrorCode.TransientNotAccepted };

const missing: ReadonlySet<number> = new Set([
  ErrorCode.StreamIdNotFound,
  ErrorCode.StreamNameNotFound,
  ErrorCode.TopicIdNotFound,
  ErrorCode.TopicNameNotFound,
  ErrorCode.PartitionNotFound,
]);

/** Finds the primary of a partition: in the cache, else by asking replicas. */
export class PartitionRoutes {
  readonly cache: RouteCache;
  readonly #router: Router;
  readonly #session: Session;
  readonly #numbers: RequestNumbers;
  readonly #lookups = new Permits(maxLookups);
  /** One lookup per partition at a time: who comes later finds the answer in the cache. */
  readonly #turns = new Map<string, Permits>();

  readonly #random: Random;
  readonly #buffers: FrameBuffers;

  constructor(
    cache: RouteCache,
    router: Router,
    session: Session,
    numbers: RequestNumbers,
    random: Random,
    buffers: FrameBuffers,
  ) {
    this.#buffers = buffers;
    this.cache = cache;
    this.#random = random;
    this.#router = router;
    this.#session = session;
    this.#numbers = numbers;
  }

  usable(partition: PartitionName): Route | undefined {
    return this.cache.usable(partition, this.#session.watermark);
  }

  /** Asks again while no replica can tell. Refused for a final reason only. */
  async findInTime(partition: PartitionName, scope: Scope): Promise<Lookup> {
    for (let retry = 0; ; retry++) {
      await this.#router.whenReady(scope);
      const found = await this.find(partition, scope);
      if (found.kind === "route" || found.code !== ErrorCode.TransientNotAccepted) return found;
      const mayRetry = await scope.pause(retryPauseMs(retry, this.#random));
      if (!mayRetry) throw new ScopeEnded({ kind: "deadline" });
    }
  }

  /** One look at the cache, or one round of questions. */
  async find(partition: PartitionName, scope: Scope): Promise<Lookup> {
    const cached = this.usable(partition);
    if (cached !== undefined) return { kind: "route", route: cached };
    const key = partitionSpelling(partition);
    const turn = this.#turns.get(key) ?? new Permits(1);
    this.#turns.set(key, turn);
    await turn.take(scope);
    try {
      const found = this.usable(partition);
      if (found !== undefined) return { kind: "route", route: found };
      await this.#lookups.take(scope);
      try {
        return await this.#askReplicas(partition, scope);
      } finally {
        this.#lookups.give();
      }
    } finally {
      turn.give();
      if (turn.waiting === 0 && turn.free === 1) this.#turns.delete(key);
    }
  }

  /** One attempt per replica; an answer older than what is known goes on to the next. */
  async #askReplicas(partition: PartitionName, scope: Scope): Promise<Lookup> {
    const slots = inOrder(this.#router.readySlots(), this.cache.askFirst(partition), this.#router.metadataSlot());
    const { fence } = this.#session;
    for (const slot of slots) {
      const attempt = await slot.link.exchange(this.#request(partition), scope);
      // An answer to an earlier session may be about another history of the cluster.
      if (this.#session.fence !== fence && attempt.kind !== "ended") return notAccepted;
      switch (attempt.kind) {
        case "ended":
          throw new ScopeEnded(attempt.end);
        case "lost":
          continue;
        case "success": {
          const route = this.cache.merge(partition, decodeRoute(attempt.payload));
          if (route !== undefined) return { kind: "route", route };
          continue;
        }
        case "refused":
          if (attempt.code === ErrorCode.TransientNotAccepted || attempt.code === ErrorCode.NotPrimary) continue;
          if (attempt.code === ErrorCode.Unauthenticated || attempt.code === ErrorCode.StaleClient) {
            // The connection lost its session: only a bind tells whether the session itself is gone.
            slot.link.fail(errorOf(attempt.code, "the server does not know the session of this connection"));
            continue;
          }
          if (missing.has(attempt.code) && !(await this.#router.isMetadataPrimary(slot, scope))) continue;
          return { kind: "refused", code: attempt.code };
      }
    }
    return notAccepted;
  }

  #request(partition: PartitionName): RequestFrame {
    return new RequestFrame(
      {
        client: this.#session.clientId,
        request: this.#numbers.next(),
        session: this.#session.epoch,
        operation: Operation.NonReplicated,
        commandCode: getPartitionRoute.code,
        requestChecksum: 0n,
        partitionIncarnation: 0n,
        ownerGeneration: 0n,
        minimumMetadataOp: this.#session.watermark,
      },
      this.#buffers.encode(getPartitionRoute.request, partition),
    );
  }
}

const decodeRoute = (payload: Uint8Array): PartitionRoute => decodeResponse(getPartitionRoute, payload);

/** The slots in id order, turned so that the one to ask first comes first. */
function inOrder(slots: readonly Slot[], ask: AskFirst, metadata: Slot | undefined): readonly Slot[] {
  const isMetadata = ({ link }: Slot): boolean => link === metadata?.link;
  const first = slots.findIndex((slot) => {
    switch (ask.kind) {
      case "metadata-primary":
        return isMetadata(slot);
      case "replica":
        // When that one has no link the metadata primary comes first.
        return slots.some(({ replicaId }) => replicaId === ask.replicaId)
          ? slot.replicaId === ask.replicaId
          : isMetadata(slot);
      case "after-replica":
        return slot.replicaId !== undefined && slot.replicaId > ask.replicaId;
    }
  });
  return first <= 0 ? slots : [...slots.slice(first), ...slots.slice(0, first)];
}
