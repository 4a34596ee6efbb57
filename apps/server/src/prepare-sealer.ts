import type { PreparePlace, PrepareSealer, Proposal } from "@iggy/consensus";
import { HEADER_SIZE, storedChecksum, writePrepareHeader, xxh3_64 } from "@iggy/protocol";

/**
 * Writes the headers of prepares. Metadata bodies are hashed into the header; a batch carries its own checksum, so the
 * body of a partition's prepare is not hashed again.
 */
const sealerOf = (hashesBody: boolean): PrepareSealer => ({
  seal(proposal: Proposal, place: PreparePlace) {
    const { identity } = place;
    const header = new Uint8Array(HEADER_SIZE);
    writePrepareHeader(header, 0, {
      bodyLength: proposal.body.length,
      checksumBody: hashesBody ? xxh3_64(proposal.body) : 0n,
      cluster: identity.cluster,
      view: place.view,
      replica: identity.replica,
      client: proposal.client,
      parent: place.parent,
      requestChecksum: proposal.requestChecksum,
      op: place.op,
      commit: place.commit,
      timestamp: place.timestampMicros,
      request: proposal.request,
      operation: proposal.operation,
      group: identity.group,
      userId: proposal.userId,
      retryCapacity: identity.retryCapacity,
      partitionIncarnation: proposal.partitionIncarnation,
      session: proposal.session,
    });
    return { header, checksum: storedChecksum(header) };
  },
});

export const metadataSealer = sealerOf(true);
export const partitionSealer = sealerOf(false);
