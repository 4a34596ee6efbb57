#include "byte_order.h"
#include "xxh3.h"
#include "xxh3_mixing.h"

namespace iggy::hash {
namespace {

/** Two neighbouring words of the secret, combined. */
inline uint64_t flip(size_t at) { return load64(DEFAULT_SECRET + at) ^ load64(DEFAULT_SECRET + at + 8); }

/** Final mix of inputs below 4 bytes. */
inline uint64_t avalancheTiny(uint64_t word) {
  word ^= word >> 33;
  word *= PRIME64_2;
  word ^= word >> 29;
  word *= PRIME64_3;
  return word ^ (word >> 32);
}

inline uint64_t hashTo3(const uint8_t* input, size_t length, uint64_t seed) {
  const uint32_t first = input[0];
  const uint32_t middle = input[length >> 1];
  const uint32_t last = input[length - 1];
  const uint32_t combined = (first << 16) | (middle << 24) | last | (static_cast<uint32_t>(length) << 8);
  const uint64_t key = (load32(DEFAULT_SECRET) ^ load32(DEFAULT_SECRET + 4)) + seed;
  return avalancheTiny(combined ^ key);
}

inline uint64_t hashTo8(const uint8_t* input, size_t length, uint64_t seed) {
  seed ^= static_cast<uint64_t>(__builtin_bswap32(static_cast<uint32_t>(seed))) << 32;
  uint64_t word = load32(input + length - 4) | (static_cast<uint64_t>(load32(input)) << 32);
  word ^= flip(8) - seed;
  word ^= rotate(word, 49) ^ rotate(word, 24);
  word *= PRIME_MX2;
  word ^= (word >> 35) + length;
  word *= PRIME_MX2;
  return word ^ (word >> 28);
}

inline uint64_t hashTo16(const uint8_t* input, size_t length, uint64_t seed) {
  const uint64_t left = load64(input) ^ (flip(24) + seed);
  const uint64_t right = load64(input + length - 8) ^ (flip(40) - seed);
  return avalanche(length + __builtin_bswap64(left) + right + multiplyFold(left, right));
}

/** 16 input bytes, mixed with 16 bytes of the secret. */
inline uint64_t mix(const uint8_t* input, size_t key, uint64_t seed) {
  return multiplyFold(load64(input) ^ (load64(DEFAULT_SECRET + key) + seed),
                      load64(input + 8) ^ (load64(DEFAULT_SECRET + key + 8) - seed));
}

inline uint64_t hashTo128(const uint8_t* input, size_t length, uint64_t seed) {
  uint64_t sum = length * PRIME64_1;
  // Pairs from the outside inwards, as many as the length covers.
  const size_t pairs = (length - 1) / 32 + 1;
  for (size_t pair = 0; pair < pairs; pair++) {
    sum += mix(input + 16 * pair, 32 * pair, seed);
    sum += mix(input + length - 16 * (pair + 1), 32 * pair + 16, seed);
  }
  return avalanche(sum);
}

inline uint64_t hashTo240(const uint8_t* input, size_t length, uint64_t seed) {
  uint64_t sum = length * PRIME64_1;
  for (size_t i = 0; i < 8; i++) sum += mix(input + 16 * i, 16 * i, seed);
  sum = avalanche(sum);
  const size_t rounds = length / 16;
  // The second turn reads the secret three bytes further on, the last piece at its own place.
  for (size_t i = 8; i < rounds; i++) sum += mix(input + 16 * i, 16 * (i - 8) + 3, seed);
  sum += mix(input + length - 16, 136 - 17, seed);
  return avalanche(sum);
}

}  // namespace

uint64_t xxh3Short(const uint8_t* input, size_t length, uint64_t seed) {
  if (length > 128) return hashTo240(input, length, seed);
  if (length > 16) return hashTo128(input, length, seed);
  if (length > 8) return hashTo16(input, length, seed);
  if (length > 3) return hashTo8(input, length, seed);
  if (length > 0) return hashTo3(input, length, seed);
  return avalancheTiny(seed ^ flip(56));
}

}  // namespace iggy::hash
