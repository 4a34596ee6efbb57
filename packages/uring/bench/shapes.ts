/** A benchmark's traffic: requests of a size on some connections, so many of each under way, a small reply to each. */
export interface Shape {
  readonly name: string;
  readonly requestBytes: number;
  readonly replyBytes: number;
  readonly connections: number;
  readonly depth: number;
  /** Each request is appended to a file before it is answered. */
  readonly writes: boolean;
}

export const SHAPES: readonly Shape[] = [
  { name: "publish", requestBytes: 250_000, replyBytes: 256, connections: 4, depth: 2, writes: true },
  { name: "small", requestBytes: 300, replyBytes: 300, connections: 64, depth: 8, writes: false },
];

/** The file is written from the start again when it has this size, as segments that are used again would be. */
export const FILE_BYTES = 256 * 1024 * 1024;
