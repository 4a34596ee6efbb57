#pragma once

#include "../hash/batch_layout.h"
#include "gcm_siv.h"

namespace iggy::siv {

/** Adds to batch::Fault: a section that the key did not seal. */
constexpr uint32_t NOT_SEALED = 5;

struct BatchOutcome {
  uint32_t fault;
  /** Where the fault is, counted from the first byte of the batch. */
  size_t position;
  size_t length;
  size_t sections;
};

/** Checks the layout of a batch and counts its sections: payloads, and user headers that are there. */
BatchOutcome measureBatch(const uint8_t* batch, size_t available);

/**
 * Writes the batch with every section sealed and its checksums recomputed. `measured` is what measureBatch told of the
 * same bytes; `nonces` has one for each section. Fails with a fault of the layout only when another thread changes the
 * batch meanwhile; it never leaves either range even then.
 */
BatchOutcome sealBatch(const Cipher& cipher, const uint8_t* nonces, const uint8_t* batch,
                       const BatchOutcome& measured, uint8_t* output);

/** Writes the batch with every section opened and its checksums recomputed. */
BatchOutcome openBatch(const Cipher& cipher, const uint8_t* batch, const BatchOutcome& measured, uint8_t* output);

}  // namespace iggy::siv
