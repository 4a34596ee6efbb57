#if defined(__x86_64__)

#include <immintrin.h>

#include "xxh3_constants.h"
#include "xxh3_kernel.h"

#define KERNEL_TARGET __attribute__((target("avx2")))

namespace iggy::hash {
namespace {

/** Eight accumulators in two registers of four. */
constexpr size_t VECTORS = 2;
constexpr size_t VECTOR_SIZE = STRIPE_SIZE / VECTORS;

KERNEL_TARGET inline __m256i load(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }

KERNEL_TARGET inline void accumulate(__m256i* acc, const uint8_t* input, const uint8_t* key) {
  for (size_t i = 0; i < VECTORS; i++) {
    const __m256i data = load(input + VECTOR_SIZE * i);
    const __m256i keyed = _mm256_xor_si256(data, load(key + VECTOR_SIZE * i));
    // The upper half of each lane moves down to meet its lower half; data goes to the neighbouring lane.
    const __m256i product = _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32));
    acc[i] = _mm256_add_epi64(product, _mm256_add_epi64(acc[i], _mm256_shuffle_epi32(data, 0x4e)));
  }
}

KERNEL_TARGET inline void scramble(__m256i* acc, const uint8_t* key) {
  const __m256i prime = _mm256_set1_epi32(static_cast<int>(PRIME32_1));
  for (size_t i = 0; i < VECTORS; i++) {
    const __m256i mixed = _mm256_xor_si256(acc[i], _mm256_srli_epi64(acc[i], 47));
    const __m256i keyed = _mm256_xor_si256(mixed, load(key + VECTOR_SIZE * i));
    const __m256i low = _mm256_mul_epu32(keyed, prime);
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(keyed, 32), prime);
    acc[i] = _mm256_add_epi64(low, _mm256_slli_epi64(high, 32));
  }
}

KERNEL_TARGET inline void take(__m256i* acc, const uint64_t* from) {
  for (size_t i = 0; i < VECTORS; i++) acc[i] = load(from + 8 / VECTORS * i);
}

KERNEL_TARGET inline void give(const __m256i* acc, uint64_t* to) {
  for (size_t i = 0; i < VECTORS; i++) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8 / VECTORS * i), acc[i]);
}

KERNEL_TARGET void consumeBlocks(uint64_t* accumulators, const uint8_t* input, size_t blocks, const uint8_t* secret) {
  __m256i acc[VECTORS];
  take(acc, accumulators);
  for (; blocks > 0; blocks--) {
#pragma GCC unroll 16
    for (size_t n = 0; n < STRIPES_PER_BLOCK; n++, input += STRIPE_SIZE) accumulate(acc, input, secret + KEY_STEP * n);
    scramble(acc, secret + SCRAMBLE_KEY);
  }
  give(acc, accumulators);
}

KERNEL_TARGET void consumeTail(uint64_t* accumulators, const uint8_t* input, size_t remaining, const uint8_t* secret) {
  __m256i acc[VECTORS];
  take(acc, accumulators);
  const size_t stripes = (remaining - 1) / STRIPE_SIZE;
  for (size_t n = 0; n < stripes; n++) accumulate(acc, input + STRIPE_SIZE * n, secret + KEY_STEP * n);
  accumulate(acc, input + remaining - STRIPE_SIZE, secret + LAST_STRIPE_KEY);
  give(acc, accumulators);
}

bool isSupported() { return __builtin_cpu_supports("avx2"); }

}  // namespace

const Kernel AVX2_KERNEL = {"avx2", isSupported, consumeBlocks, consumeTail};

}  // namespace iggy::hash

#endif
