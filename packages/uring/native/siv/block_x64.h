#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// The file is compiled for any processor; what is marked so runs only where `isSupported` said yes.
#define SIV_TARGET __attribute__((target("aes,pclmul,sse4.1")))

namespace iggy::siv {

/** 16 bytes in a register. */
using Block = __m128i;

inline bool isSupported() {
  return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

SIV_TARGET inline Block zeroBlock() { return _mm_setzero_si128(); }
SIV_TARGET inline Block loadBlock(const void* at) { return _mm_loadu_si128(static_cast<const Block*>(at)); }
SIV_TARGET inline void storeBlock(void* at, Block block) { _mm_storeu_si128(static_cast<Block*>(at), block); }
SIV_TARGET inline Block blockOf(uint64_t low, uint64_t high) {
  return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
}
/** The first halves of both. */
SIV_TARGET inline Block joinLow(Block a, Block b) { return _mm_unpacklo_epi64(a, b); }
SIV_TARGET inline Block exclusiveOr(Block a, Block b) { return _mm_xor_si128(a, b); }
SIV_TARGET inline Block bitAnd(Block a, Block b) { return _mm_and_si128(a, b); }
SIV_TARGET inline Block bitOr(Block a, Block b) { return _mm_or_si128(a, b); }
/** Adds to the first 32 bits, which wrap. */
SIV_TARGET inline Block addToCounter(Block block, uint32_t n) {
  return _mm_add_epi32(block, _mm_cvtsi32_si128(static_cast<int>(n)));
}

/** Each word exclusive-ored with all words before it. */
SIV_TARGET inline Block prefixes(Block block) {
  block = _mm_xor_si128(block, _mm_slli_si128(block, 4));
  return _mm_xor_si128(block, _mm_slli_si128(block, 8));
}

/** The last word of `block`, substituted, in all four places. With four equal columns the row shift does nothing. */
SIV_TARGET inline Block substitutedLastWord(Block block) {
  return _mm_aesenclast_si128(_mm_shuffle_epi32(block, 0xff), _mm_setzero_si128());
}

/** The same word rotated by one byte first, and the round constant. */
SIV_TARGET inline Block rotatedLastWord(Block block, uint32_t constant) {
  const Block rotated = _mm_shuffle_epi8(block, _mm_set1_epi32(0x0c0f0e0d));
  return _mm_aesenclast_si128(rotated, _mm_set1_epi32(static_cast<int>(constant)));
}

constexpr size_t ROUND_KEYS = 15;

/** Encrypts N blocks side by side, so that the rounds of one hide the latency of the others. */
template <size_t N>
SIV_TARGET inline void encryptBlocks(const uint8_t* keys, Block* blocks) {
  Block key = loadBlock(keys);
#pragma GCC unroll 8
  for (size_t i = 0; i < N; i++) blocks[i] = _mm_xor_si128(blocks[i], key);
  for (size_t round = 1; round < ROUND_KEYS - 1; round++) {
    key = loadBlock(keys + 16 * round);
#pragma GCC unroll 8
    for (size_t i = 0; i < N; i++) blocks[i] = _mm_aesenc_si128(blocks[i], key);
  }
  key = loadBlock(keys + 16 * (ROUND_KEYS - 1));
#pragma GCC unroll 8
  for (size_t i = 0; i < N; i++) blocks[i] = _mm_aesenclast_si128(blocks[i], key);
}

/** A product of two polynomials of degree below 128, not reduced; its middle part still stands apart. */
struct Product {
  Block low;
  Block middle;
  Block high;
};

SIV_TARGET inline Product zeroProduct() { return {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()}; }

SIV_TARGET inline void addProduct(Product& sum, Block a, Block b) {
  sum.low = _mm_xor_si128(sum.low, _mm_clmulepi64_si128(a, b, 0x00));
  sum.high = _mm_xor_si128(sum.high, _mm_clmulepi64_si128(a, b, 0x11));
  const Block crossed = _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10));
  sum.middle = _mm_xor_si128(sum.middle, crossed);
}

/**
 * The product divided by x^128, modulo x^128 + x^127 + x^126 + x^121 + 1. Twice, the lowest 64 bits are cancelled by
 * adding as many multiples of the polynomial, whose low half is 1.
 */
SIV_TARGET inline Block reduce(const Product& product) {
  const Block polynomial = _mm_set_epi64x(0, static_cast<int64_t>(0xc200000000000000));
  Block low = _mm_xor_si128(product.low, _mm_slli_si128(product.middle, 8));
  const Block high = _mm_xor_si128(product.high, _mm_srli_si128(product.middle, 8));
  low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, polynomial, 0x00));
  low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, polynomial, 0x00));
  return _mm_xor_si128(high, low);
}

}  // namespace iggy::siv

#endif
