#include "batch.h"

#include <cstring>

#include "batch_checksum.h"
#include "byte_order.h"
#include "xxh3.h"

namespace iggy::batch {
namespace {

uint64_t frameChecksum(const uint8_t* batch, size_t at, size_t end) {
  return hash::xxh3(batch + at + FRAME_HASHED_FROM, end - at - FRAME_HASHED_FROM);
}

/** The first bytes of a header, up to its reserved ones, with a stamp on them. */
struct StampedHeader {
  StampedHeader(const uint8_t* header, const Stamp& stamp) {
    std::memcpy(bytes, header, RESERVED);
    store64(bytes + PARTITION_ID, stamp.partitionId);
    store64(bytes + BASE_OFFSET, stamp.baseOffset);
    store64(bytes + BASE_TIMESTAMP, stamp.baseTimestamp);
  }

  void writeTo(uint8_t* batch, uint64_t checksum) {
    store64(bytes + CHECKSUM, checksum);
    std::memcpy(batch, bytes, CHECKSUM + 8);
  }

  uint8_t bytes[RESERVED];
};

/**
 * Walks the frames, verifies them and feeds their checksums to `sum`, and to `second` when there is one. `header` is
 * the outcome of a sound header.
 */
Outcome verifyFrames(const uint8_t* batch, Outcome header, BatchChecksum& sum, BatchChecksum* second) {
  const size_t length = header.length;
  const uint32_t count = load32(batch + MESSAGE_COUNT);
  Outcome damaged = header;
  size_t at = HEADER_SIZE;
  // Each frame takes at least its header, so a false count ends at the bound of the batch.
  for (uint32_t i = 0; i < count; i++) {
    const Frame frame = checkFrame(batch, at, length);
    if (!frame.isSound) return {Fault::Layout, frame.end, length, i};
    // After a damaged message only the layout matters: its faults take precedence.
    if (damaged.fault == Fault::None) {
      const uint64_t stored = load64(batch + at);
      if (stored != frameChecksum(batch, at, frame.end)) damaged = {Fault::MessageChecksum, at, length, i};
      sum.add(stored);
      if (second != nullptr) second->add(stored);
    }
    at = frame.end;
  }
  if (at != length) return {Fault::Layout, at, length, count};
  if (damaged.fault != Fault::None) return damaged;
  return {Fault::None, 0, length, count};
}

Outcome verifyWith(const uint8_t* batch, Outcome header, BatchChecksum* second) {
  const uint64_t stored = load64(batch + CHECKSUM);
  BatchChecksum sum(batch);
  const Outcome frames = verifyFrames(batch, header, sum, second);
  if (frames.fault != Fault::None || sum.finish() == stored) return frames;
  return {Fault::BatchChecksum, CHECKSUM, frames.length, frames.index};
}

}  // namespace

Outcome verify(const uint8_t* batch, size_t available) {
  const Outcome header = checkHeader(batch, available);
  return header.fault == Fault::None ? verifyWith(batch, header, nullptr) : header;
}

Outcome stamp(uint8_t* batch, size_t available, const Stamp& stamp) {
  const Outcome header = checkHeader(batch, available);
  if (header.fault != Fault::None) return header;
  StampedHeader stamped(batch, stamp);
  BatchChecksum sum(stamped.bytes);
  size_t at = HEADER_SIZE;
  size_t count = 0;
  for (; at < header.length; count++) {
    const Frame frame = checkFrame(batch, at, header.length);
    if (!frame.isSound) return {Fault::Layout, frame.end, header.length, count};
    sum.add(load64(batch + at));
    at = frame.end;
  }
  stamped.writeTo(batch, sum.finish());
  return {Fault::None, 0, header.length, count};
}

Outcome verifyAndStamp(uint8_t* batch, size_t available, const Stamp& stamp) {
  const Outcome header = checkHeader(batch, available);
  if (header.fault != Fault::None) return header;
  StampedHeader stamped(batch, stamp);
  BatchChecksum restamped(stamped.bytes);
  const Outcome outcome = verifyWith(batch, header, &restamped);
  if (outcome.fault == Fault::None) stamped.writeTo(batch, restamped.finish());
  return outcome;
}

Outcome seal(uint8_t* batch, size_t available) {
  const Outcome header = checkHeader(batch, available);
  if (header.fault != Fault::None) return header;
  BatchChecksum sum(batch);
  size_t at = HEADER_SIZE;
  size_t count = 0;
  for (; at < header.length; count++) {
    const Frame frame = checkFrame(batch, at, header.length);
    if (!frame.isSound) return {Fault::Layout, frame.end, header.length, count};
    const uint64_t checksum = frameChecksum(batch, at, frame.end);
    store64(batch + at, checksum);
    sum.add(checksum);
    at = frame.end;
  }
  store64(batch + CHECKSUM, sum.finish());
  return {Fault::None, 0, header.length, count};
}

}  // namespace iggy::batch
