#pragma once

#include <cstddef>
#include <cstdint>

#include "xxh3_constants.h"
#include "xxh3_kernel.h"

namespace iggy::hash {

/** XXH3-64 of `length` bytes with the default secret. */
uint64_t xxh3(const uint8_t* input, size_t length, uint64_t seed = 0);

/** The same by the kernel given. */
uint64_t xxh3By(const Kernel& kernel, const uint8_t* input, size_t length, uint64_t seed);

/** XXH3-64 of at most SHORT_MAX bytes. */
uint64_t xxh3Short(const uint8_t* input, size_t length, uint64_t seed);

/** The accumulators before any input. */
void startAccumulators(uint64_t* accumulators);

/** The secret of a long input under a seed. */
void deriveSecret(uint8_t* secret, uint64_t seed);

/** Folds the accumulators of a long input into its hash. */
uint64_t mergeAccumulators(const uint64_t* accumulators, uint64_t total, const uint8_t* secret);

}  // namespace iggy::hash
