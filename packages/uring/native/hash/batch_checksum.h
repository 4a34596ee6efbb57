#pragma once

#include <cstddef>
#include <cstdint>

#include "batch_layout.h"
#include "byte_order.h"
#include "xxh3_stream.h"

namespace iggy::batch {

/**
 * The checksum of a batch: one XXH3-64 over the header fields and the stored checksum of each frame, in order.
 *
 *   partition_id, base_offset, base_timestamp, origin_timestamp, batch_length (u64 each) · message_count u32
 *   only with a producer: 01 · producer_id u64 · epoch u16 · base_sequence u32
 *   checksum u64 of every frame
 */
class BatchChecksum {
 public:
  /** Takes the first RESERVED bytes of a header; nothing of it is needed afterwards. */
  explicit BatchChecksum(const uint8_t* header);

  void add(uint64_t frameChecksum) {
    if (size_ > sizeof gathered_ - 8) flush();
    store64(gathered_ + size_, frameChecksum);
    size_ += 8;
  }

  uint64_t finish();

 private:
  void flush();

  size_t size_;
  bool isStreaming_ = false;
  /** Checksums gathered before they are hashed in one go; longer batches stream. */
  uint8_t gathered_[64 + 8 * 512];
  hash::Xxh3Stream stream_;
};

}  // namespace iggy::batch
