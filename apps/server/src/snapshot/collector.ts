import { ErrorCode, IggyError, SnapshotCompression, SnapshotType, type GetSnapshotRequest } from "@iggy/protocol";
import type { Logger } from "../logging/index.js";
import { archive, type ArchiveEntry } from "./archive.js";
import { sections, type SectionSources } from "./sections.js";

/** What `all` stands for. */
const ALL_TYPES: readonly number[] = [
  SnapshotType.filesystem_overview,
  SnapshotType.process_list,
  SnapshotType.resource_usage,
  SnapshotType.server_logs,
  SnapshotType.server_config,
];

/** Makes the diagnostic archive of this node: a ZIP with one `<type>.txt` per asked section. One at a time. */
export class SnapshotCollector {
  readonly #sources: SectionSources;
  readonly #logger: Logger;
  #isCollecting = false;

  constructor(sources: SectionSources, logger: Logger) {
    this.#sources = sources;
    this.#logger = logger;
  }

  /**
   * A section that cannot be made is logged and left out.
   * @throws IggyError 3 when `all` has company, 5 for a compression other than stored and deflated, 9000 while another
   *   archive is being made and when the archive cannot be made.
   */
  async collect({ compression, snapshotTypes }: GetSnapshotRequest): Promise<Uint8Array> {
    if (snapshotTypes.includes(SnapshotType.all) && snapshotTypes.length > 1) {
      throw new IggyError(ErrorCode.InvalidCommand, "the snapshot type `all` must stand alone");
    }
    if (compression !== SnapshotCompression.stored && compression !== SnapshotCompression.deflated) {
      throw new IggyError(ErrorCode.FeatureUnavailable, "a snapshot is either stored or deflated");
    }
    if (this.#isCollecting) {
      throw new IggyError(
        ErrorCode.SnapshotFileCompletionFailed,
        "another snapshot is being collected; try again later",
      );
    }
    this.#isCollecting = true;
    try {
      const types = snapshotTypes.includes(SnapshotType.all) ? ALL_TYPES : [...new Set(snapshotTypes)];
      const entries: ArchiveEntry[] = [];
      for (const type of types) {
        const entry = await this.#collectSection(type);
        if (entry !== undefined) entries.push(entry);
      }
      return await archive(entries, compression === SnapshotCompression.deflated);
    } catch (error) {
      throw new IggyError(ErrorCode.SnapshotFileCompletionFailed, undefined, { cause: error });
    } finally {
      this.#isCollecting = false;
    }
  }

  async #collectSection(type: number): Promise<ArchiveEntry | undefined> {
    const section = sections.get(type);
    if (section === undefined) return undefined;
    try {
      return { name: `${section.name}.txt`, pieces: await section.collect(this.#sources) };
    } catch (error) {
      this.#logger.warn({ err: error, section: section.name }, "a section of the snapshot is left out");
      return undefined;
    }
  }
}
