import type { PrepareSealer, SealFields } from "@iggy/consensus";
import { HEADER_SIZE, storedChecksum, writePrepareHeader, xxh3_64 } from "@iggy/protocol";

/**
 * Writes the headers of prepares. Metadata bodies are hashed into the header; a batch carries its own checksum, so the
 * body of a partition's prepare is not hashed again.
 */
const sealerOf = (hashesBody: boolean): PrepareSealer => ({
  seal(fields: SealFields) {
    const { identity } = fields;
    const header = new Uint8Array(HEADER_SIZE);
    writePrepareHeader(header, 0, {
      bodyLength: fields.body.length,
      ...(hashesBody ? { checksumBody: xxh3_64(fields.body) } : {}),
      cluster: identity.cluster,
      view: fields.view,
      replica: identity.replica,
      client: fields.client,
      parent: fields.parent,
      requestChecksum: fields.requestChecksum,
      op: fields.op,
      commit: fields.commit,
      timestamp: fields.timestampMicros,
      request: fields.request,
      operation: fields.operation,
      group: identity.group,
      userId: fields.userId,
      retryCapacity: identity.retryCapacity,
      partitionIncarnation: fields.partitionIncarnation,
      session: fields.session,
    });
    return { header, checksum: storedChecksum(header) };
  },
});

export const metadataSealer = sealerOf(true);
export const partitionSealer = sealerOf(false);
