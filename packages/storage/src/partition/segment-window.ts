import type { IoFile, Io } from "../io/io.js";
import { isMissing } from "../io/os-error.js";
import { CHUNK_BYTES } from "./record-scanner.js";

/** A moving view of log files, for reads that mostly go forward. One file is open at a time. */
export class SegmentWindow {
  private readonly io: Io;
  private readonly pathOf: (startOffset: number) => string;
  private open: { readonly startOffset: number; readonly file: IoFile | undefined } | undefined;
  private chunk: Uint8Array = NOTHING;
  private chunkStart = 0;

  constructor(io: Io, pathOf: (startOffset: number) => string) {
    this.io = io;
    this.pathOf = pathOf;
  }

  /** The bytes there, or undefined when the file has no such range. They are a view of a buffer that is not reused. */
  async bytes(startOffset: number, position: number, length: number): Promise<Uint8Array | undefined> {
    const file = await this.fileOf(startOffset);
    if (file === undefined) return undefined;
    const isInside = position >= this.chunkStart && position + length <= this.chunkStart + this.chunk.length;
    if (!isInside) {
      const chunk = Buffer.allocUnsafeSlow(Math.max(length, CHUNK_BYTES));
      this.chunk = chunk.subarray(0, await file.read(chunk, position));
      this.chunkStart = position;
    }
    const at = position - this.chunkStart;
    return at + length <= this.chunk.length ? this.chunk.subarray(at, at + length) : undefined;
  }

  async close(): Promise<void> {
    const file = this.open?.file;
    this.open = undefined;
    this.chunk = NOTHING;
    await file?.close();
  }

  private async fileOf(startOffset: number): Promise<IoFile | undefined> {
    if (this.open?.startOffset !== startOffset) {
      await this.close();
      this.open = { startOffset, file: await this.openFile(startOffset) };
    }
    return this.open.file;
  }

  private async openFile(startOffset: number): Promise<IoFile | undefined> {
    try {
      return await this.io.open(this.pathOf(startOffset), "read");
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}

const NOTHING = new Uint8Array(0);
