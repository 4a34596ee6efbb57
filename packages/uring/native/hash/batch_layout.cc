#include "batch_layout.h"

#include "byte_order.h"

namespace iggy::batch {
namespace {

constexpr uint32_t MAX_PRODUCER_EPOCH = 0x7fff;
constexpr uint32_t MAX_PRODUCER_SEQUENCE = 0x7fffffff;
constexpr uint64_t MAX_PRODUCER_ID = 0x7fffffffffffffff;

bool isZero(const uint8_t* at, size_t words) {
  uint64_t seen = 0;
  for (size_t i = 0; i < words; i++) seen |= load64(at + 8 * i);
  return seen == 0;
}

bool isProducerValid(const uint8_t* batch) {
  // The flag byte and its three bytes of padding, read as one word.
  const uint32_t flag = load32(batch + PRODUCER);
  if (flag == 0) return isZero(batch + PRODUCER_ID, (RESERVED - PRODUCER_ID) / 8);
  // The epoch and its two bytes of padding are one word, too.
  return flag == 1 && load64(batch + PRODUCER_ID) <= MAX_PRODUCER_ID &&
         load32(batch + PRODUCER_EPOCH) <= MAX_PRODUCER_EPOCH &&
         load32(batch + PRODUCER_SEQUENCE) <= MAX_PRODUCER_SEQUENCE;
}

Outcome fault(Fault kind, size_t position) { return {kind, position, 0, 0}; }

}  // namespace

Outcome checkHeader(const uint8_t* batch, size_t available) {
  if (available < HEADER_SIZE) return fault(Fault::Cut, 0);
  const uint64_t length = load64(batch + LENGTH);
  if (length < HEADER_SIZE) return fault(Fault::Layout, 0);
  if (length > available) return fault(Fault::Cut, 0);
  if (!isZero(batch + RESERVED, (HEADER_SIZE - RESERVED) / 8)) return fault(Fault::Layout, RESERVED);
  if (!isProducerValid(batch)) return fault(Fault::Layout, PRODUCER);
  if (load32(batch + MESSAGE_COUNT) == 0) return fault(Fault::Layout, MESSAGE_COUNT);
  return {Fault::None, 0, static_cast<size_t>(length), 0};
}

Frame checkFrame(const uint8_t* batch, size_t at, size_t length) {
  if (length - at < FRAME_HEADER_SIZE) return {false, at};
  const uint64_t body = static_cast<uint64_t>(load32(batch + at + FRAME_PAYLOAD_LENGTH)) +
                        load32(batch + at + FRAME_USER_HEADERS_LENGTH);
  if (body > length - at - FRAME_HEADER_SIZE) return {false, at};
  if (load64(batch + at + FRAME_RESERVED) != 0) return {false, at + FRAME_RESERVED};
  return {true, at + FRAME_HEADER_SIZE + static_cast<size_t>(body)};
}

}  // namespace iggy::batch
