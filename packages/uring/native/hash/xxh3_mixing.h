#pragma once

#include <cstdint>

#include "xxh3_constants.h"

namespace iggy::hash {

inline uint64_t rotate(uint64_t word, int bits) { return (word << bits) | (word >> (64 - bits)); }

/** The 128-bit product, its halves combined by exclusive or. */
inline uint64_t multiplyFold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/** Final mix of inputs from 9 bytes on. */
inline uint64_t avalanche(uint64_t word) {
  word ^= word >> 37;
  word *= PRIME_MX1;
  return word ^ (word >> 32);
}

}  // namespace iggy::hash
