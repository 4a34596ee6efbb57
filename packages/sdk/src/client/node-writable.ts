import { Writable } from "node:stream";
import type { MakeWritable } from "./platform.js";

export const nodeWritable: MakeWritable = (sink) =>
  new Writable({
    objectMode: true,
    write(item: unknown, _encoding, done) {
      sink.write(item).then(() => done(), done);
    },
    final(done) {
      sink.end().then(() => done(), done);
    },
  });
