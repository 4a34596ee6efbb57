#include "xxh3_stream.h"

#include <cstring>

namespace iggy::hash {

void Xxh3Stream::start(uint64_t seed) {
  startAccumulators(accumulators_);
  seed_ = seed;
  total_ = 0;
  pending_ = 0;
  std::memset(bytes_, 0, STRIPE_SIZE);
}

const uint8_t* Xxh3Stream::secret(uint8_t* room) const {
  if (seed_ == 0) return DEFAULT_SECRET;
  deriveSecret(room, seed_);
  return room;
}

void Xxh3Stream::consume(const uint8_t* input, size_t blocks) {
  alignas(64) uint8_t room[SECRET_SIZE];
  bestKernel().consumeBlocks(accumulators_, input, blocks, secret(room));
  std::memmove(bytes_, input + blocks * BLOCK_SIZE - STRIPE_SIZE, STRIPE_SIZE);
}

void Xxh3Stream::update(const uint8_t* input, size_t length) {
  if (length == 0) return;
  total_ += length;
  // A block is consumed only when a byte follows it, since the end of the input is mixed in differently.
  if (pending_ + length > BLOCK_SIZE) {
    if (pending_ > 0) {
      const size_t missing = BLOCK_SIZE - pending_;
      std::memcpy(bytes_ + STRIPE_SIZE + pending_, input, missing);
      consume(bytes_ + STRIPE_SIZE, 1);
      input += missing;
      length -= missing;
      pending_ = 0;
    }
    const size_t blocks = (length - 1) / BLOCK_SIZE;
    if (blocks > 0) {
      consume(input, blocks);
      input += blocks * BLOCK_SIZE;
      length -= blocks * BLOCK_SIZE;
    }
  }
  std::memcpy(bytes_ + STRIPE_SIZE + pending_, input, length);
  pending_ += length;
}

uint64_t Xxh3Stream::digest() const {
  if (total_ <= SHORT_MAX) return xxh3Short(bytes_ + STRIPE_SIZE, static_cast<size_t>(total_), seed_);
  alignas(64) uint8_t room[SECRET_SIZE];
  const uint8_t* key = secret(room);
  alignas(64) uint64_t acc[8];
  std::memcpy(acc, accumulators_, sizeof acc);
  bestKernel().consumeTail(acc, bytes_ + STRIPE_SIZE, pending_, key);
  return mergeAccumulators(acc, total_, key);
}

bool Xxh3Stream::isSound() const {
  if (pending_ > BLOCK_SIZE || total_ < pending_ || (total_ - pending_) % BLOCK_SIZE != 0) return false;
  // Only a stream without input has nothing pending.
  return pending_ > 0 || total_ == 0;
}

}  // namespace iggy::hash
