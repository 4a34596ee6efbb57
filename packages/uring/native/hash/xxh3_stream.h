#pragma once

#include <cstddef>
#include <cstdint>

#include "xxh3.h"

namespace iggy::hash {

/**
 * XXH3-64 of input that arrives in pieces. Plain data: it may lie in memory that JavaScript owns, be copied and be
 * forgotten. Whatever its bytes are, once `isSound` holds no function reads or writes outside it.
 */
class Xxh3Stream {
 public:
  void start(uint64_t seed = 0);
  void update(const uint8_t* input, size_t length);
  /** Hash of everything so far; the stream may go on. */
  uint64_t digest() const;
  /** Whether the counters agree with each other. */
  bool isSound() const;
  uint64_t total() const { return total_; }

 private:
  void consume(const uint8_t* input, size_t blocks);
  const uint8_t* secret(uint8_t* room) const;

  uint64_t accumulators_[8];
  uint64_t seed_;
  uint64_t total_;
  /** Bytes not consumed yet, behind the last stripe that was: the last stripe of an input may span both. */
  uint64_t pending_;
  uint8_t bytes_[STRIPE_SIZE + BLOCK_SIZE];
};

}  // namespace iggy::hash
