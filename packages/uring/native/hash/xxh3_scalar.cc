#include "byte_order.h"
#include "xxh3_constants.h"
#include "xxh3_kernel.h"

namespace iggy::hash {
namespace {

inline void accumulate(uint64_t* acc, const uint8_t* input, const uint8_t* key) {
  for (size_t lane = 0; lane < 8; lane++) {
    const uint64_t data = load64(input + 8 * lane);
    const uint64_t keyed = data ^ load64(key + 8 * lane);
    acc[lane ^ 1] += data;
    acc[lane] += (keyed & 0xffffffff) * (keyed >> 32);
  }
}

inline void scramble(uint64_t* acc, const uint8_t* key) {
  for (size_t lane = 0; lane < 8; lane++) {
    acc[lane] = (acc[lane] ^ (acc[lane] >> 47) ^ load64(key + 8 * lane)) * PRIME32_1;
  }
}

void consumeBlocks(uint64_t* acc, const uint8_t* input, size_t blocks, const uint8_t* secret) {
  for (; blocks > 0; blocks--) {
    for (size_t n = 0; n < STRIPES_PER_BLOCK; n++, input += STRIPE_SIZE) accumulate(acc, input, secret + KEY_STEP * n);
    scramble(acc, secret + SCRAMBLE_KEY);
  }
}

void consumeTail(uint64_t* acc, const uint8_t* input, size_t remaining, const uint8_t* secret) {
  const size_t stripes = (remaining - 1) / STRIPE_SIZE;
  for (size_t n = 0; n < stripes; n++) accumulate(acc, input + STRIPE_SIZE * n, secret + KEY_STEP * n);
  accumulate(acc, input + remaining - STRIPE_SIZE, secret + LAST_STRIPE_KEY);
}

bool isSupported() { return true; }

}  // namespace

const Kernel SCALAR_KERNEL = {"scalar", isSupported, consumeBlocks, consumeTail};

}  // namespace iggy::hash
