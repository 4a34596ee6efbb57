#include "xxh3.h"

#include "byte_order.h"
#include "xxh3_mixing.h"

namespace iggy::hash {

void startAccumulators(uint64_t* acc) {
  acc[0] = PRIME32_3;
  acc[1] = PRIME64_1;
  acc[2] = PRIME64_2;
  acc[3] = PRIME64_3;
  acc[4] = PRIME64_4;
  acc[5] = PRIME32_2;
  acc[6] = PRIME64_5;
  acc[7] = PRIME32_1;
}

void deriveSecret(uint8_t* secret, uint64_t seed) {
  for (size_t at = 0; at < SECRET_SIZE; at += 16) {
    store64(secret + at, load64(DEFAULT_SECRET + at) + seed);
    store64(secret + at + 8, load64(DEFAULT_SECRET + at + 8) - seed);
  }
}

uint64_t mergeAccumulators(const uint64_t* acc, uint64_t total, const uint8_t* secret) {
  const uint8_t* key = secret + MERGE_KEY;
  uint64_t sum = total * PRIME64_1;
  for (size_t i = 0; i < 8; i += 2) {
    sum += multiplyFold(acc[i] ^ load64(key + 8 * i), acc[i + 1] ^ load64(key + 8 * i + 8));
  }
  return avalanche(sum);
}

namespace {

uint64_t hashLong(const Kernel& kernel, const uint8_t* input, size_t length, const uint8_t* secret) {
  alignas(64) uint64_t acc[8];
  startAccumulators(acc);
  // The last block, whole or not, ends the input and is mixed in differently.
  const size_t blocks = (length - 1) / BLOCK_SIZE;
  if (blocks > 0) kernel.consumeBlocks(acc, input, blocks, secret);
  kernel.consumeTail(acc, input + blocks * BLOCK_SIZE, length - blocks * BLOCK_SIZE, secret);
  return mergeAccumulators(acc, length, secret);
}

}  // namespace

uint64_t xxh3By(const Kernel& kernel, const uint8_t* input, size_t length, uint64_t seed) {
  if (length <= SHORT_MAX) return xxh3Short(input, length, seed);
  if (seed == 0) return hashLong(kernel, input, length, DEFAULT_SECRET);
  alignas(64) uint8_t secret[SECRET_SIZE];
  deriveSecret(secret, seed);
  return hashLong(kernel, input, length, secret);
}

uint64_t xxh3(const uint8_t* input, size_t length, uint64_t seed) {
  return xxh3By(bestKernel(), input, length, seed);
}

}  // namespace iggy::hash
