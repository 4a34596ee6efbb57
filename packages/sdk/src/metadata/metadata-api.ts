import {
  feedSettings,
  type MetadataChangesOptions,
  type MetadataEvent,
  metadataFeed,
  type ReadPage,
} from "./changes.js";
import { MetadataMirror, type MetadataMirrorOptions } from "./mirror.js";

/** Mirrors that end with their client. */
interface OpenMirrors {
  add(mirror: MetadataMirror): unknown;
  delete(mirror: MetadataMirror): unknown;
}

/** Keeps up with what streams, topics, groups, users and sessions there are. Needs root or `manage_servers`. */
export class MetadataApi {
  readonly #read: ReadPage;
  readonly #open: OpenMirrors;

  constructor(read: ReadPage, open: OpenMirrors) {
    this.#read = read;
    this.#open = open;
  }

  /**
   * Every change from a position on, without end. It waits out what passes by itself; a refusal for good is thrown. Leave
   * the loop, or abort `signal`, to end it.
   */
  changes(options: MetadataChangesOptions = {}): AsyncIterable<MetadataEvent> {
    return metadataFeed(this.#read, feedSettings(options));
  }

  /** A copy of the metadata in memory that follows the changes. `await mirror.ready()` before it is looked at. */
  mirror(options: MetadataMirrorOptions = {}): MetadataMirror {
    const mirror = new MetadataMirror(this.#read, options, (closed) => this.#open.delete(closed));
    this.#open.add(mirror);
    return mirror;
  }
}
