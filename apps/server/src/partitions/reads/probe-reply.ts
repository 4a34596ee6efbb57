/** What the partitions of a fetch hold that belong to one shard. */
export interface FetchProbe {
  readonly messages: number;
  /** As far as they were measured. */
  readonly bytes: number;
  /** The fetch must not wait: a partition is refused, or has more than it may give. */
  readonly isReady: boolean;
}

/** `[messages f64][bytes f64][is ready u8]` */
export function fetchProbeReply({ messages, bytes, isReady }: FetchProbe): Uint8Array {
  const reply = new Uint8Array(17);
  const view = new DataView(reply.buffer);
  view.setFloat64(0, messages, true);
  view.setFloat64(8, bytes, true);
  view.setUint8(16, isReady ? 1 : 0);
  return reply;
}

export function readFetchProbe(reply: Uint8Array): FetchProbe {
  const view = new DataView(reply.buffer, reply.byteOffset, reply.byteLength);
  return {
    messages: view.getFloat64(0, true),
    bytes: view.getFloat64(8, true),
    isReady: view.getUint8(16) !== 0,
  };
}
