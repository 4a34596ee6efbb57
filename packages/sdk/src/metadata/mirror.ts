import type { MetadataRecord } from "../api/metadata-changes.js";
import { TypedEmitter } from "../events/typed-emitter.js";
import type { Duration } from "../values/duration.js";
import { feedSettings, type MetadataEvent, metadataFeed, type ReadPage } from "./changes.js";
import { type MirroredStream, type MirroredUser, MirroredState } from "./mirrored-state.js";

export interface MetadataMirrorOptions {
  /** Pause between two looks, 1 s without it. */
  readonly interval?: Duration;
  /** Ends the mirror. */
  readonly signal?: AbortSignal;
}

export interface MetadataMirrorEvents {
  /** A change was applied. */
  change: { readonly record: MetadataRecord };
  /** The whole state was read anew. */
  rebuilt: object;
  /** A listener failed, or the mirror did: then it ends. */
  error: { readonly error: unknown };
}

export type MetadataMirrorEventName = keyof MetadataMirrorEvents;

/**
 * Streams, topics, groups and users in memory, about `interval` behind the node that answers. Its memory is that of
 * their names. Needs root or `manage_servers`.
 */
export class MetadataMirror implements AsyncDisposable {
  readonly #ended = new AbortController();
  readonly #emitter: TypedEmitter<MetadataMirrorEvents> = new TypedEmitter((name, error) => {
    // An error listener that throws has nobody left to tell.
    if (name !== "error") this.#emitter.emit("error", { error });
  });
  readonly #ready: Promise<void>;
  readonly #running: Promise<void>;
  #state = new MirroredState();
  #cursor: string | undefined;

  /** @internal */
  constructor(read: ReadPage, options: MetadataMirrorOptions, onClose: (mirror: MetadataMirror) => void) {
    const { signal = this.#ended.signal } = options;
    const settings = feedSettings({
      from: "current",
      groups: ["streams", "topics", "partitions", "consumer_groups", "users"],
      signal: AbortSignal.any([signal, this.#ended.signal]),
      ...(options.interval === undefined ? {} : { interval: options.interval }),
    });
    let onReady = (): void => undefined;
    let onFailed: (error: unknown) => void = () => undefined;
    this.#ready = new Promise((resolve, reject) => {
      onReady = resolve;
      onFailed = reject;
    });
    // Whoever waits for it learns of the failure; nobody has to wait.
    this.#ready.catch(() => undefined);
    this.#running = this.#follow(metadataFeed(read, settings), onReady).then(
      () => onFailed(new Error("the mirror was closed before it was ready")),
      (error: unknown) => {
        onFailed(error);
        this.#emitter.emit("error", { error });
      },
    );
    void this.#running.then(() => onClose(this));
  }

  /** Resolves when the state was read for the first time; rejects when that failed. */
  ready(): Promise<void> {
    return this.#ready;
  }

  /** By id. A view: it changes with the metadata, and is another one after `rebuilt`. */
  get streams(): ReadonlyMap<number, MirroredStream> {
    return this.#state.streams;
  }

  get users(): ReadonlyMap<number, MirroredUser> {
    return this.#state.users;
  }

  /** The position behind what is mirrored. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  on<Name extends MetadataMirrorEventName>(name: Name, listener: (event: MetadataMirrorEvents[Name]) => void): this {
    this.#emitter.on(name, listener);
    return this;
  }

  off<Name extends MetadataMirrorEventName>(name: Name, listener: (event: MetadataMirrorEvents[Name]) => void): this {
    this.#emitter.off(name, listener);
    return this;
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #follow(events: AsyncIterable<MetadataEvent>, onReady: () => void): Promise<void> {
    let next = new MirroredState();
    for await (const event of events) {
      switch (event.type) {
        case "snapshot-begin":
          next = new MirroredState();
          break;
        case "item":
          next.addItem(event.item);
          break;
        case "snapshot-end":
          // What was known stays visible until the new state is complete.
          this.#state = next;
          this.#cursor = event.cursor;
          onReady();
          this.#emitter.emit("rebuilt", {});
          break;
        case "change":
          if (event.record.change !== undefined) this.#state.apply(event.record.change);
          this.#cursor = event.cursor;
          this.#emitter.emit("change", { record: event.record });
      }
    }
  }
}
