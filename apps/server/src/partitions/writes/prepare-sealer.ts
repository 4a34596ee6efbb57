import type { PrepareSealer, SealFields } from "@iggy/consensus";
import { HEADER_SIZE, storedChecksum, writePrepareHeader } from "@iggy/protocol";

/** Headers of a partition's prepares. A batch carries its own checksum, so the body is not hashed again. */
export const partitionSealer: PrepareSealer = {
  seal(fields: SealFields) {
    const { identity } = fields;
    const header = new Uint8Array(HEADER_SIZE);
    writePrepareHeader(header, 0, {
      bodyLength: fields.body.length,
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
};
