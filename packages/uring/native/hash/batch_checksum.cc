#include "batch_checksum.h"

#include <cstring>

namespace iggy::batch {

BatchChecksum::BatchChecksum(const uint8_t* header) {
  std::memcpy(gathered_, header, CHECKSUM);
  store32(gathered_ + 40, load32(header + MESSAGE_COUNT));
  size_ = 44;
  if (header[PRODUCER] == 0) return;
  gathered_[44] = 1;
  store64(gathered_ + 45, load64(header + PRODUCER_ID));
  std::memcpy(gathered_ + 53, header + PRODUCER_EPOCH, 2);
  store32(gathered_ + 55, load32(header + PRODUCER_SEQUENCE));
  size_ = 59;
}

void BatchChecksum::flush() {
  if (!isStreaming_) stream_.start();
  isStreaming_ = true;
  stream_.update(gathered_, size_);
  size_ = 0;
}

uint64_t BatchChecksum::finish() {
  if (!isStreaming_) return hash::xxh3(gathered_, size_);
  flush();
  return stream_.digest();
}

}  // namespace iggy::batch
