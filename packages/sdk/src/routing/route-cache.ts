import type { PartitionRoute } from "@iggy/protocol";
import { partitionSpelling, topicSpelling, type PartitionName, type TopicName } from "./spelling.js";

/** Whom the next lookup of a stale route asks first. */
export type AskFirst =
  | { readonly kind: "metadata-primary" }
  | { readonly kind: "replica"; readonly replicaId: number }
  | { readonly kind: "after-replica"; readonly replicaId: number };

/** Where a partition is led, as one lookup answered. Immutable: a newer answer is another object. */
export interface Route {
  readonly partition: PartitionName;
  readonly incarnation: bigint;
  readonly metadataOp: bigint;
  readonly view: number;
  readonly partitionsCount: number;
  readonly primaryReplica: number;
}

interface Entry {
  readonly key: string;
  readonly route: Route;
  stale: boolean;
  /** Lowest view that a new answer may name, so that no lookup goes back to an older primary. */
  floor: number;
  ask: AskFirst;
}

/** The cached routes of one topic, and the one with the newest metadata facts. */
interface TopicRoutes {
  readonly entries: Set<Entry>;
  newest: Entry | undefined;
}

export const maxCachedRoutes = 4096;

export interface RouteCacheOptions {
  readonly capacity?: number;
  /** A partition that was looked up before has another primary. */
  readonly onMoved?: (route: Route, previousReplica: number) => void;
}

/**
 * Routes of one session, keyed by the caller's spelling. A route has no age limit: it is usable until something marks
 * it stale, or until the session has seen a metadata commit above the one that the route was answered at.
 */
export class RouteCache {
  // A map keeps the order of insertion, so the first entry is the oldest lookup.
  readonly #entries = new Map<string, Entry>();
  readonly #topics = new Map<string, TopicRoutes>();
  readonly #capacity: number;
  readonly #onMoved: (route: Route, previousReplica: number) => void;

  constructor({ capacity = maxCachedRoutes, onMoved = () => undefined }: RouteCacheOptions = {}) {
    this.#capacity = capacity;
    this.#onMoved = onMoved;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A new session may talk to another history of the cluster: nothing of the old one holds. */
  clear(): void {
    this.#entries.clear();
    this.#topics.clear();
  }

  /** The cached route, if it may be used by a session that has seen `watermark`. */
  usable(partition: PartitionName, watermark: bigint): Route | undefined {
    const entry = this.#entries.get(partitionSpelling(partition));
    return entry !== undefined && isUsable(entry, watermark) ? entry.route : undefined;
  }

  /** Partitions of a topic, by the newest of its usable routes. */
  partitionsCount(topic: TopicName, watermark: bigint): number | undefined {
    const routes = this.#topics.get(topicSpelling(topic));
    if (routes?.newest === undefined) return undefined;
    if (isUsable(routes.newest, watermark)) return routes.newest.route.partitionsCount;
    return newestOf([...routes.entries].filter((entry) => isUsable(entry, watermark)))?.route.partitionsCount;
  }

  askFirst(partition: PartitionName): AskFirst {
    return this.#entries.get(partitionSpelling(partition))?.ask ?? { kind: "metadata-primary" };
  }

  /** Takes an answer, or refuses it as older than what is known: then the next replica is asked. */
  merge(partition: PartitionName, answer: PartitionRoute): Route | undefined {
    const key = partitionSpelling(partition);
    const cached = this.#entries.get(key);
    const merged = cached === undefined ? answer : mergedAnswer(cached, answer);
    if (merged === undefined) return undefined;
    const route: Route = {
      partition,
      incarnation: merged.incarnation,
      metadataOp: merged.metadataOp,
      view: merged.view,
      partitionsCount: merged.partitionsCount,
      primaryReplica: merged.primaryReplica,
    };
    if (cached !== undefined) this.#remove(cached);
    this.#add({ key, route, stale: false, floor: merged.view, ask: { kind: "metadata-primary" } });
    for (const oldest of this.#entries.values()) {
      if (this.#entries.size <= this.#capacity) break;
      this.#remove(oldest);
    }
    if (cached !== undefined && cached.route.primaryReplica !== route.primaryReplica) {
      this.#onMoved(route, cached.route.primaryReplica);
    }
    return route;
  }

  /** The primary of the route said that it is none: only a newer view helps, and it should know. */
  notPrimary(route: Route): void {
    this.#spoil(route, { kind: "replica", replicaId: route.primaryReplica }, route.view + 1);
  }

  /** A grouped read met another primary: its routes are looked up again, each at its own primary first. */
  regroup(route: Route): void {
    this.#spoil(route, { kind: "replica", replicaId: route.primaryReplica }, route.view);
  }

  /** The primary did not take the request or could not be reached: another replica may know more. */
  unavailable(route: Route): void {
    this.#spoil(route, { kind: "after-replica", replicaId: route.primaryReplica }, route.view);
  }

  /** The partition is not the one that the route names, or not there. */
  historyLost(route: Route): void {
    this.#spoil(route, { kind: "metadata-primary" }, route.view);
  }

  #add(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    const topic = topicSpelling(entry.route.partition);
    const routes = this.#topics.get(topic) ?? { entries: new Set(), newest: undefined };
    routes.entries.add(entry);
    routes.newest = newestOf([entry, ...(routes.newest === undefined ? [] : [routes.newest])]);
    this.#topics.set(topic, routes);
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.key);
    const topic = topicSpelling(entry.route.partition);
    const routes = this.#topics.get(topic);
    if (routes === undefined) return;
    routes.entries.delete(entry);
    if (routes.entries.size === 0) this.#topics.delete(topic);
    else if (routes.newest === entry) routes.newest = newestOf([...routes.entries]);
  }

  /** Other spellings of one partition go stale with it: an incarnation and a partition id name it whatever the caller wrote. */
  #spoil(route: Route, ask: AskFirst, floor: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.route.incarnation !== route.incarnation) continue;
      if (entry.route.partition.partitionId !== route.partition.partitionId) continue;
      // A refusal of an older view says nothing about a newer one.
      if (entry.route.view > route.view) continue;
      entry.stale = true;
      entry.ask = ask;
      entry.floor = Math.max(entry.floor, floor);
    }
  }
}

const newestOf = (entries: readonly Entry[]): Entry | undefined =>
  entries.reduce<Entry | undefined>(
    (newest, entry) => (newest === undefined || entry.route.metadataOp > newest.route.metadataOp ? entry : newest),
    undefined,
  );

const isUsable = (entry: Entry, watermark: bigint): boolean => !entry.stale && entry.route.metadataOp >= watermark;

function mergedAnswer(cached: Entry, answer: PartitionRoute): PartitionRoute | undefined {
  const known = cached.route;
  if (answer.incarnation !== known.incarnation) return answer.metadataOp >= known.metadataOp ? answer : undefined;
  const newerView = answer.view > known.view;
  if (answer.view < cached.floor || !(newerView || answer.primaryReplica === known.primaryReplica)) return undefined;
  if (answer.metadataOp >= known.metadataOp) return answer;
  return { ...answer, metadataOp: known.metadataOp, partitionsCount: known.partitionsCount };
}
