#pragma once

#if defined(__aarch64__)

#include <arm_neon.h>
#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>

// The file is compiled for any processor; what is marked so runs only where `isSupported` said yes.
#if defined(__clang__)
#define SIV_TARGET __attribute__((target("aes")))
#else
#define SIV_TARGET __attribute__((target("+crypto")))
#endif

namespace iggy::siv {

/** 16 bytes in a register. */
using Block = uint8x16_t;

inline bool isSupported() {
  // Bits of AT_HWCAP on Linux: AES instructions, 64-bit polynomial products.
  constexpr unsigned long AES = 1UL << 3;
  constexpr unsigned long PMULL = 1UL << 4;
  return (getauxval(AT_HWCAP) & (AES | PMULL)) == (AES | PMULL);
}

SIV_TARGET inline Block zeroBlock() { return vdupq_n_u8(0); }
SIV_TARGET inline Block loadBlock(const void* at) { return vld1q_u8(static_cast<const uint8_t*>(at)); }
SIV_TARGET inline void storeBlock(void* at, Block block) { vst1q_u8(static_cast<uint8_t*>(at), block); }
SIV_TARGET inline Block blockOf(uint64_t low, uint64_t high) {
  return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
}
/** The first halves of both. */
SIV_TARGET inline Block joinLow(Block a, Block b) {
  return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}
SIV_TARGET inline Block exclusiveOr(Block a, Block b) { return veorq_u8(a, b); }
SIV_TARGET inline Block bitAnd(Block a, Block b) { return vandq_u8(a, b); }
SIV_TARGET inline Block bitOr(Block a, Block b) { return vorrq_u8(a, b); }
/** Adds to the first 32 bits, which wrap. */
SIV_TARGET inline Block addToCounter(Block block, uint32_t n) {
  return vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(block), vsetq_lane_u32(n, vdupq_n_u32(0), 0)));
}

/** Each word exclusive-ored with all words before it. */
SIV_TARGET inline Block prefixes(Block block) {
  const Block zero = vdupq_n_u8(0);
  block = veorq_u8(block, vextq_u8(zero, block, 12));
  return veorq_u8(block, vextq_u8(zero, block, 8));
}

/** The last word of `block`, substituted, in all four places. With four equal columns the row shift does nothing. */
SIV_TARGET inline Block substitutedLastWord(Block block) {
  const Block last = vreinterpretq_u8_u32(vdupq_laneq_u32(vreinterpretq_u32_u8(block), 3));
  return vaeseq_u8(last, vdupq_n_u8(0));
}

/** The same word rotated by one byte first, and the round constant. */
SIV_TARGET inline Block rotatedLastWord(Block block, uint32_t constant) {
  const uint32x4_t word = vreinterpretq_u32_u8(substitutedLastWord(block));
  const uint32x4_t rotated = vorrq_u32(vshrq_n_u32(word, 8), vshlq_n_u32(word, 24));
  return vreinterpretq_u8_u32(veorq_u32(rotated, vdupq_n_u32(constant)));
}

constexpr size_t ROUND_KEYS = 15;

/** Encrypts N blocks side by side, so that the rounds of one hide the latency of the others. */
template <size_t N>
SIV_TARGET inline void encryptBlocks(const uint8_t* keys, Block* blocks) {
  // The instruction adds its key first, so the last key is added apart.
  for (size_t round = 0; round < ROUND_KEYS - 2; round++) {
    const Block key = loadBlock(keys + 16 * round);
#pragma GCC unroll 8
    for (size_t i = 0; i < N; i++) blocks[i] = vaesmcq_u8(vaeseq_u8(blocks[i], key));
  }
  const Block beforeLast = loadBlock(keys + 16 * (ROUND_KEYS - 2));
  const Block last = loadBlock(keys + 16 * (ROUND_KEYS - 1));
#pragma GCC unroll 8
  for (size_t i = 0; i < N; i++) blocks[i] = veorq_u8(vaeseq_u8(blocks[i], beforeLast), last);
}

/** A product of two polynomials of degree below 128, not reduced; its middle part still stands apart. */
struct Product {
  Block low;
  Block middle;
  Block high;
};

SIV_TARGET inline Product zeroProduct() { return {vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)}; }

SIV_TARGET inline Block multiplyWords(poly64_t a, poly64_t b) { return vreinterpretq_u8_p128(vmull_p64(a, b)); }

SIV_TARGET inline void addProduct(Product& sum, Block a, Block b) {
  const poly64x2_t left = vreinterpretq_p64_u8(a);
  const poly64x2_t right = vreinterpretq_p64_u8(b);
  const poly64_t leftLow = vgetq_lane_p64(left, 0);
  const poly64_t leftHigh = vgetq_lane_p64(left, 1);
  const poly64_t rightLow = vgetq_lane_p64(right, 0);
  const poly64_t rightHigh = vgetq_lane_p64(right, 1);
  sum.low = veorq_u8(sum.low, multiplyWords(leftLow, rightLow));
  sum.high = veorq_u8(sum.high, vreinterpretq_u8_p128(vmull_high_p64(left, right)));
  const Block crossed = veorq_u8(multiplyWords(leftLow, rightHigh), multiplyWords(leftHigh, rightLow));
  sum.middle = veorq_u8(sum.middle, crossed);
}

/**
 * The product divided by x^128, modulo x^128 + x^127 + x^126 + x^121 + 1. Twice, the lowest 64 bits are cancelled by
 * adding as many multiples of the polynomial, whose low half is 1.
 */
SIV_TARGET inline Block reduce(const Product& product) {
  const Block zero = vdupq_n_u8(0);
  const poly64_t polynomial = static_cast<poly64_t>(0xc200000000000000);
  Block low = veorq_u8(product.low, vextq_u8(zero, product.middle, 8));
  const Block high = veorq_u8(product.high, vextq_u8(product.middle, zero, 8));
  for (int turn = 0; turn < 2; turn++) {
    const Block multiple = multiplyWords(vgetq_lane_p64(vreinterpretq_p64_u8(low), 0), polynomial);
    low = veorq_u8(vextq_u8(low, low, 8), multiple);
  }
  return veorq_u8(high, low);
}

}  // namespace iggy::siv

#endif
