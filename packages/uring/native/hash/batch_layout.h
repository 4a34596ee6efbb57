#pragma once

#include <cstddef>
#include <cstdint>

namespace iggy::batch {

/**
 * Header of a message batch; frames follow it back to back.
 *
 *    0 partition_id u64       32 batch_length u64     52 producer flag u8, 3 zero bytes
 *    8 base_offset u64        40 batch_checksum u64   56 producer_id u64
 *   16 base_timestamp u64     48 message_count u32    64 producer epoch u16, 2 zero bytes
 *   24 origin_timestamp u64                           68 base_sequence u32
 *                                                     72 184 zero bytes
 */
constexpr size_t HEADER_SIZE = 256;
constexpr size_t PARTITION_ID = 0;
constexpr size_t BASE_OFFSET = 8;
constexpr size_t BASE_TIMESTAMP = 16;
constexpr size_t LENGTH = 32;
constexpr size_t CHECKSUM = 40;
constexpr size_t MESSAGE_COUNT = 48;
constexpr size_t PRODUCER = 52;
constexpr size_t PRODUCER_ID = 56;
constexpr size_t PRODUCER_EPOCH = 64;
constexpr size_t PRODUCER_SEQUENCE = 68;
constexpr size_t RESERVED = 72;

/**
 * Header of a message frame; payload, then user headers follow.
 *
 *    0 checksum u64    24 offset_delta u32          36 payload_length u32
 *    8 id u128         28 timestamp_delta u32       40 8 zero bytes
 *                      32 user_headers_length u32
 */
constexpr size_t FRAME_HEADER_SIZE = 48;
/** The stored checksum in front of a frame is not part of what it covers. */
constexpr size_t FRAME_HASHED_FROM = 8;
constexpr size_t FRAME_USER_HEADERS_LENGTH = 32;
constexpr size_t FRAME_PAYLOAD_LENGTH = 36;
constexpr size_t FRAME_RESERVED = 40;

/** What is wrong with a batch. The numbers are part of the interface to JavaScript. */
enum class Fault : uint32_t {
  None = 0,
  /** The batch is longer than the bytes that are there. */
  Cut = 1,
  /** A rule of the layout is broken. */
  Layout = 2,
  MessageChecksum = 3,
  BatchChecksum = 4,
};

struct Outcome {
  Fault fault = Fault::None;
  /** Where the fault is, counted from the first byte of the batch. */
  size_t position = 0;
  /** Length of the batch; 0 when its header is at fault. */
  size_t length = 0;
  /** Index of the message at fault, or the number of messages. */
  size_t index = 0;
};

/** Checks the header of a batch of which `available` bytes are there. */
Outcome checkHeader(const uint8_t* batch, size_t available);

/** Bounds of a message frame, or the place of the fault that it has. */
struct Frame {
  bool isSound;
  /** Where the frame ends, or where its fault is; counted from the first byte of the batch. */
  size_t end;
};

/** Checks the header of the frame at `at`, which must end by `length`, the length of the batch. */
Frame checkFrame(const uint8_t* batch, size_t at, size_t length);

}  // namespace iggy::batch
