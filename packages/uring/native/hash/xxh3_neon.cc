#if defined(__aarch64__)

#include <arm_neon.h>

#include "xxh3_constants.h"
#include "xxh3_kernel.h"

namespace iggy::hash {
namespace {

/** Eight accumulators in four registers of two. */
constexpr size_t VECTORS = 4;
constexpr size_t VECTOR_SIZE = STRIPE_SIZE / VECTORS;

inline uint64x2_t load(const uint8_t* at) { return vreinterpretq_u64_u8(vld1q_u8(at)); }

inline void accumulate(uint64x2_t* acc, const uint8_t* input, const uint8_t* key) {
  for (size_t i = 0; i < VECTORS; i++) {
    const uint64x2_t data = load(input + VECTOR_SIZE * i);
    const uint64x2_t keyed = veorq_u64(data, load(key + VECTOR_SIZE * i));
    // Data goes to the neighbouring lane; the halves of each keyed lane are multiplied.
    const uint64x2_t sum = vaddq_u64(acc[i], vextq_u64(data, data, 1));
    acc[i] = vmlal_u32(sum, vmovn_u64(keyed), vshrn_n_u64(keyed, 32));
  }
}

inline void scramble(uint64x2_t* acc, const uint8_t* key) {
  const uint32x2_t prime = vdup_n_u32(static_cast<uint32_t>(PRIME32_1));
  for (size_t i = 0; i < VECTORS; i++) {
    const uint64x2_t mixed = veorq_u64(acc[i], vshrq_n_u64(acc[i], 47));
    const uint64x2_t keyed = veorq_u64(mixed, load(key + VECTOR_SIZE * i));
    const uint64x2_t high = vshlq_n_u64(vmull_u32(vshrn_n_u64(keyed, 32), prime), 32);
    acc[i] = vmlal_u32(high, vmovn_u64(keyed), prime);
  }
}

inline void take(uint64x2_t* acc, const uint64_t* from) {
  for (size_t i = 0; i < VECTORS; i++) acc[i] = vld1q_u64(from + 2 * i);
}

inline void give(const uint64x2_t* acc, uint64_t* to) {
  for (size_t i = 0; i < VECTORS; i++) vst1q_u64(to + 2 * i, acc[i]);
}

void consumeBlocks(uint64_t* accumulators, const uint8_t* input, size_t blocks, const uint8_t* secret) {
  uint64x2_t acc[VECTORS];
  take(acc, accumulators);
  for (; blocks > 0; blocks--) {
    for (size_t n = 0; n < STRIPES_PER_BLOCK; n++, input += STRIPE_SIZE) accumulate(acc, input, secret + KEY_STEP * n);
    scramble(acc, secret + SCRAMBLE_KEY);
  }
  give(acc, accumulators);
}

void consumeTail(uint64_t* accumulators, const uint8_t* input, size_t remaining, const uint8_t* secret) {
  uint64x2_t acc[VECTORS];
  take(acc, accumulators);
  const size_t stripes = (remaining - 1) / STRIPE_SIZE;
  for (size_t n = 0; n < stripes; n++) accumulate(acc, input + STRIPE_SIZE * n, secret + KEY_STEP * n);
  accumulate(acc, input + remaining - STRIPE_SIZE, secret + LAST_STRIPE_KEY);
  give(acc, accumulators);
}

// Part of every 64-bit ARM processor.
bool isSupported() { return true; }

}  // namespace

const Kernel NEON_KERNEL = {"neon", isSupported, consumeBlocks, consumeTail};

}  // namespace iggy::hash

#endif
