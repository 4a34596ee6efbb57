#pragma once

#include <cstddef>
#include <cstdint>

#include "batch_layout.h"

namespace iggy::batch {

/** What the server writes over the zeros of a producer. */
struct Stamp {
  uint64_t partitionId;
  uint64_t baseOffset;
  uint64_t baseTimestamp;
};

/**
 * Checks the layout, the checksum of every frame and the batch checksum in one pass. Of several faults the first of
 * these kinds is told: layout, message checksum, batch checksum; of one kind the one that comes first in the batch.
 */
Outcome verify(const uint8_t* batch, size_t available);

/**
 * Stamps a batch and recomputes its checksum from the stored frame checksums, so that bodies are not read. The layout
 * of header and frames is checked on the way, the frame checksums are taken as they are, frames are not counted.
 * Nothing is written when a fault is found.
 */
Outcome stamp(uint8_t* batch, size_t available, const Stamp& stamp);

/** Both, in one pass over the bytes. Nothing is written when a fault is found. */
Outcome verifyAndStamp(uint8_t* batch, size_t available, const Stamp& stamp);

/**
 * Computes and stores the checksum of every frame and of the batch. The layout is checked on the way; after a fault some
 * frame checksums are written.
 */
Outcome seal(uint8_t* batch, size_t available);

}  // namespace iggy::batch
