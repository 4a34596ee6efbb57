#pragma once

#include <cstdint>
#include <cstring>

// Everything on the wire is little-endian, and so is every machine that this addon is built for.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the addon needs a little-endian machine");

namespace iggy {

inline uint32_t load32(const uint8_t* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline uint64_t load64(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline void store32(uint8_t* at, uint32_t word) { std::memcpy(at, &word, sizeof word); }

inline void store64(uint8_t* at, uint64_t word) { std::memcpy(at, &word, sizeof word); }

}  // namespace iggy
