#if defined(__x86_64__)

#if !defined(__clang__)
// The headers of GCC 12 read registers whose old content does not matter.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "xxh3_constants.h"
#include "xxh3_kernel.h"

#define KERNEL_TARGET __attribute__((target("avx512f")))

namespace iggy::hash {
namespace {

/** All eight accumulators in one register. */
constexpr size_t VECTORS = 1;
constexpr size_t VECTOR_SIZE = STRIPE_SIZE / VECTORS;

KERNEL_TARGET inline __m512i load(const void* at) { return _mm512_loadu_si512(static_cast<const __m512i*>(at)); }

KERNEL_TARGET inline void accumulate(__m512i* acc, const uint8_t* input, const uint8_t* key) {
  for (size_t i = 0; i < VECTORS; i++) {
    const __m512i data = load(input + VECTOR_SIZE * i);
    const __m512i keyed = _mm512_xor_si512(data, load(key + VECTOR_SIZE * i));
    // The upper half of each lane moves down to meet its lower half; data goes to the neighbouring lane.
    const __m512i product = _mm512_mul_epu32(keyed, _mm512_srli_epi64(keyed, 32));
    const __m512i neighbour = _mm512_shuffle_epi32(data, static_cast<_MM_PERM_ENUM>(0x4e));
    acc[i] = _mm512_add_epi64(product, _mm512_add_epi64(acc[i], neighbour));
  }
}

KERNEL_TARGET inline void scramble(__m512i* acc, const uint8_t* key) {
  const __m512i prime = _mm512_set1_epi32(static_cast<int>(PRIME32_1));
  for (size_t i = 0; i < VECTORS; i++) {
    const __m512i mixed = _mm512_xor_si512(acc[i], _mm512_srli_epi64(acc[i], 47));
    const __m512i keyed = _mm512_xor_si512(mixed, load(key + VECTOR_SIZE * i));
    const __m512i low = _mm512_mul_epu32(keyed, prime);
    const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(keyed, 32), prime);
    acc[i] = _mm512_add_epi64(low, _mm512_slli_epi64(high, 32));
  }
}

KERNEL_TARGET inline void take(__m512i* acc, const uint64_t* from) {
  for (size_t i = 0; i < VECTORS; i++) acc[i] = load(from + 8 / VECTORS * i);
}

KERNEL_TARGET inline void give(const __m512i* acc, uint64_t* to) {
  for (size_t i = 0; i < VECTORS; i++) _mm512_storeu_si512(reinterpret_cast<__m512i*>(to + 8 / VECTORS * i), acc[i]);
}

KERNEL_TARGET void consumeBlocks(uint64_t* accumulators, const uint8_t* input, size_t blocks, const uint8_t* secret) {
  __m512i acc[VECTORS];
  take(acc, accumulators);
  for (; blocks > 0; blocks--) {
#pragma GCC unroll 16
    for (size_t n = 0; n < STRIPES_PER_BLOCK; n++, input += STRIPE_SIZE) accumulate(acc, input, secret + KEY_STEP * n);
    scramble(acc, secret + SCRAMBLE_KEY);
  }
  give(acc, accumulators);
}

KERNEL_TARGET void consumeTail(uint64_t* accumulators, const uint8_t* input, size_t remaining, const uint8_t* secret) {
  __m512i acc[VECTORS];
  take(acc, accumulators);
  const size_t stripes = (remaining - 1) / STRIPE_SIZE;
  for (size_t n = 0; n < stripes; n++) accumulate(acc, input + STRIPE_SIZE * n, secret + KEY_STEP * n);
  accumulate(acc, input + remaining - STRIPE_SIZE, secret + LAST_STRIPE_KEY);
  give(acc, accumulators);
}

bool isSupported() { return __builtin_cpu_supports("avx512f"); }

}  // namespace

const Kernel AVX512_KERNEL = {"avx512", isSupported, consumeBlocks, consumeTail};

}  // namespace iggy::hash

#endif
