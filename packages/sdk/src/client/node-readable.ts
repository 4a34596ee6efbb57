import { Readable } from "node:stream";
import type { MakeReadable } from "./platform.js";

export const nodeReadable: MakeReadable = (source) => {
  const iterator = source[Symbol.asyncIterator]();
  return new Readable({
    objectMode: true,
    // Nothing is taken ahead of the reader: what was taken would count as handed over.
    highWaterMark: 0,
    read() {
      iterator.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error: unknown) => this.destroy(asError(error)),
      );
    },
    destroy(error, done) {
      source.close().then(
        () => done(error),
        (failure: unknown) => done(error ?? asError(failure)),
      );
    },
  });
};

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
