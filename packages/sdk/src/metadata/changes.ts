import { ErrorCode, MetadataGroup, metadataGroupInfo, type MetadataGroupName } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import type { GetMetadataChanges, MetadataChangesPage, MetadataItem, MetadataRecord } from "../api/metadata-changes.js";
import { IggyError, MetadataHistoryError, ValidationError } from "../errors/index.js";
import { sleep } from "../time/sleep.js";
import { type Duration, milliseconds } from "../values/duration.js";

/** What a feed of metadata yields. */
export type MetadataEvent =
  | {
      readonly type: "change";
      readonly record: MetadataRecord;
      /** The position behind the change: `from: { after: cursor }` goes on there. */
      readonly cursor: string;
    }
  /** The current state follows, item by item. What is known from before no longer counts. */
  | { readonly type: "snapshot-begin" }
  | { readonly type: "item"; readonly item: MetadataItem }
  /** The state is complete; changes go on from its beginning, so some may repeat what it shows. */
  | { readonly type: "snapshot-end"; readonly cursor: string };

export interface MetadataChangesOptions {
  /** The newest change without it: what comes from now on. */
  readonly from?: "earliest" | "latest" | "current" | { readonly after: string };
  /** Every group without it. The groups that a state of these needs come with them. */
  readonly groups?: readonly MetadataGroupName[];
  /** Pause before the next question when there was nothing new, 1 s without it. */
  readonly interval?: Duration;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** When changes were evicted or belong to another history: read the current state (the default), or fail. */
  readonly rebuild?: boolean;
}

export interface FeedSettings {
  readonly from: NonNullable<MetadataChangesOptions["from"]>;
  readonly groups: readonly MetadataGroupName[];
  readonly intervalMs: number;
  readonly signal: AbortSignal | undefined;
  readonly rebuild: boolean;
}

export type ReadPage = (call: GetMetadataChanges, options: CallOptions) => Promise<MetadataChangesPage>;

/** Records or items of one question. */
const pageLimit = 1000;
const longestTimerMs = 2 ** 31 - 1;

export function feedSettings(options: MetadataChangesOptions): FeedSettings {
  const { from = "latest", groups = [], interval = 1000, signal, rebuild = true } = options;
  const isKnown =
    typeof from === "string" ? ["earliest", "latest", "current"].includes(from) : typeof from.after === "string";
  if (!isKnown) {
    throw new ValidationError(
      ErrorCode.InvalidCommand,
      'from takes "earliest", "latest", "current" or { after: cursor }',
    );
  }
  if (typeof rebuild !== "boolean") throw new TypeError("rebuild takes true or false");
  return {
    from,
    groups: withParents(groups),
    intervalMs: milliseconds("interval", interval, 1, longestTimerMs),
    signal,
    rebuild,
  };
}

/** A state can not be read without the groups that its items refer to, so changes come for the same ones. */
function withParents(names: readonly MetadataGroupName[]): readonly MetadataGroupName[] {
  const all = new Set<MetadataGroupName>();
  for (const name of names) {
    if (!Object.hasOwn(MetadataGroup, name)) {
      throw new ValidationError(ErrorCode.InvalidCommand, `groups: there is no metadata group ${name}`);
    }
    all.add(name);
    for (const parent of metadataGroupInfo(MetadataGroup[name])?.parents ?? []) all.add(parent);
  }
  return [...all];
}

/** Follows the metadata of the node that answers: changes, and the current state where those are not enough. */
export async function* metadataFeed(read: ReadPage, settings: FeedSettings): AsyncGenerator<MetadataEvent, undefined> {
  const feed = new Feed(read, settings);
  try {
    yield* feed.events();
  } catch (error) {
    // The end that was asked for is no failure.
    if (settings.signal?.aborted !== true) throw error;
  }
  return undefined;
}

class Feed {
  readonly #read: ReadPage;
  readonly #settings: FeedSettings;

  constructor(read: ReadPage, settings: FeedSettings) {
    this.#read = read;
    this.#settings = settings;
  }

  async *events(): AsyncGenerator<MetadataEvent, never> {
    let from = this.#settings.from;
    for (;;) {
      if (from === "current") from = { after: yield* this.#state() };
      const page: MetadataChangesPage = await this.#ask(from);
      switch (page.status) {
        case "behind":
          await this.#pause();
          continue;
        case "expired":
        case "reset":
          if (!this.#settings.rebuild) throw new MetadataHistoryError(page.status);
          from = "current";
          continue;
        case "ok":
          for (const record of page.records) {
            const cursor = record.cursor ?? page.next;
            if (cursor !== null) yield { type: "change", record, cursor };
          }
          if (page.next !== null) from = { after: page.next };
          if (!page.hasMore) await this.#pause();
      }
    }
  }

  /** Yields the current state; its cursor is where the changes go on. It begins anew when its pages were lost. */
  async *#state(): AsyncGenerator<MetadataEvent, string> {
    for (;;) {
      yield { type: "snapshot-begin" };
      const cursor = yield* this.#statePages();
      if (cursor === undefined) continue;
      yield { type: "snapshot-end", cursor };
      return cursor;
    }
  }

  async *#statePages(): AsyncGenerator<MetadataEvent, string | undefined> {
    let from: GetMetadataChanges["from"] = "current";
    for (;;) {
      const page: MetadataChangesPage = await this.#ask(from);
      if (page.status === "behind") {
        await this.#pause();
        continue;
      }
      if (page.status !== "ok") {
        await this.#pause();
        return undefined;
      }
      for (const item of page.items) yield { type: "item", item };
      if (page.currentPageToken !== null) from = { currentAfter: page.currentPageToken };
      else if (page.next !== null) return page.next;
      else return undefined;
    }
  }

  /** One page. What passes by itself is waited out: a feed outlives the outages of its servers. */
  async #ask(from: GetMetadataChanges["from"]): Promise<MetadataChangesPage> {
    const { groups, signal } = this.#settings;
    for (;;) {
      try {
        return await this.#read({ from, groups, limit: pageLimit }, signal === undefined ? {} : { signal });
      } catch (error) {
        if (!(error instanceof IggyError) || !error.retryable) throw error;
        await this.#pause();
      }
    }
  }

  async #pause(): Promise<void> {
    const { intervalMs, signal } = this.#settings;
    // A feed that only waits is no reason for a process to stay.
    await sleep(intervalMs, signal === undefined ? { background: true } : { signal, background: true });
  }
}
