#include "batch_siv.h"

#include <cstring>

#include "../hash/batch_checksum.h"
#include "../hash/byte_order.h"
#include "../hash/xxh3.h"

namespace iggy::siv {
namespace {

using batch::FRAME_HASHED_FROM;
using batch::FRAME_HEADER_SIZE;
using batch::FRAME_PAYLOAD_LENGTH;
using batch::FRAME_USER_HEADERS_LENGTH;
using batch::HEADER_SIZE;

constexpr uint32_t LAYOUT = static_cast<uint32_t>(batch::Fault::Layout);

/** Seals sections and takes a new nonce for each. */
class Sealing {
 public:
  Sealing(const Cipher& cipher, const uint8_t* nonces) : cipher_(cipher), nonces_(nonces) {}

  static bool fits(size_t) { return true; }
  static size_t resized(size_t length) { return length + OVERHEAD; }

  bool rewrite(Input section, uint8_t* output) {
    cipher_.seal(nonces_, {nullptr, 0}, section, output);
    nonces_ += NONCE_SIZE;
    return true;
  }

 private:
  const Cipher& cipher_;
  const uint8_t* nonces_;
};

class Opening {
 public:
  explicit Opening(const Cipher& cipher) : cipher_(cipher) {}

  static bool fits(size_t length) { return length >= OVERHEAD; }
  static size_t resized(size_t length) { return length - OVERHEAD; }

  bool rewrite(Input section, uint8_t* output) { return cipher_.open({nullptr, 0}, section, output); }

 private:
  const Cipher& cipher_;
};

/**
 * Copies header and frame headers and lets `action` rewrite each section. Lengths are read once, and every write is
 * checked against the size of the output, so that memory that changes meanwhile does no harm.
 */
template <typename Action>
BatchOutcome rewrite(Action action, const uint8_t* source, const BatchOutcome& measured, uint8_t* output,
                     size_t outputLength) {
  const auto fault = [&](uint32_t kind, size_t position) {
    std::memset(output, 0, outputLength);
    return BatchOutcome{kind, position, measured.length, 0};
  };
  std::memcpy(output, source, HEADER_SIZE);
  store64(output + batch::LENGTH, outputLength);
  batch::BatchChecksum sum(output);
  size_t at = HEADER_SIZE;
  size_t to = HEADER_SIZE;
  size_t left = measured.sections;
  while (at < measured.length) {
    const batch::Frame frame = batch::checkFrame(source, at, measured.length);
    if (!frame.isSound) return fault(LAYOUT, frame.end);
    const size_t payload = load32(source + at + FRAME_PAYLOAD_LENGTH);
    const size_t bodyAt = at + FRAME_HEADER_SIZE;
    // The frame was checked as a whole; what its lengths say now must still agree with that.
    if (payload > frame.end - bodyAt) return fault(LAYOUT, at);
    const size_t headers = frame.end - bodyAt - payload;
    const size_t sections = headers > 0 ? 2 : 1;
    if (!Action::fits(payload) || (headers > 0 && !Action::fits(headers))) return fault(NOT_SEALED, at);
    const size_t newPayload = Action::resized(payload);
    const size_t newHeaders = headers > 0 ? Action::resized(headers) : 0;
    // A section grows by far less than 2^32, but its length must still fit its field.
    if (newPayload > UINT32_MAX || newHeaders > UINT32_MAX) return fault(LAYOUT, at);
    const size_t newSize = FRAME_HEADER_SIZE + newPayload + newHeaders;
    if (sections > left || newSize > outputLength - to) return fault(LAYOUT, at);
    left -= sections;

    uint8_t* target = output + to;
    std::memcpy(target, source + at, FRAME_HEADER_SIZE);
    store32(target + FRAME_PAYLOAD_LENGTH, static_cast<uint32_t>(newPayload));
    store32(target + FRAME_USER_HEADERS_LENGTH, static_cast<uint32_t>(newHeaders));
    uint8_t* body = target + FRAME_HEADER_SIZE;
    if (!action.rewrite({source + bodyAt, payload}, body)) return fault(NOT_SEALED, at);
    if (headers > 0 && !action.rewrite({source + bodyAt + payload, headers}, body + newPayload)) {
      return fault(NOT_SEALED, at);
    }
    const uint64_t checksum = hash::xxh3(target + FRAME_HASHED_FROM, newSize - FRAME_HASHED_FROM);
    store64(target, checksum);
    sum.add(checksum);
    at = frame.end;
    to += newSize;
  }
  if (to != outputLength) return fault(LAYOUT, at);
  store64(output + batch::CHECKSUM, sum.finish());
  return {0, 0, outputLength, measured.sections};
}

}  // namespace

BatchOutcome measureBatch(const uint8_t* source, size_t available) {
  const batch::Outcome header = batch::checkHeader(source, available);
  if (header.fault != batch::Fault::None) return {static_cast<uint32_t>(header.fault), header.position, 0, 0};
  size_t sections = 0;
  size_t at = HEADER_SIZE;
  while (at < header.length) {
    const batch::Frame frame = batch::checkFrame(source, at, header.length);
    if (!frame.isSound) return {LAYOUT, frame.end, header.length, 0};
    sections += load32(source + at + FRAME_USER_HEADERS_LENGTH) > 0 ? 2 : 1;
    at = frame.end;
  }
  return {0, 0, header.length, sections};
}

BatchOutcome sealBatch(const Cipher& cipher, const uint8_t* nonces, const uint8_t* source,
                       const BatchOutcome& measured, uint8_t* output) {
  return rewrite(Sealing(cipher, nonces), source, measured, output, measured.length + OVERHEAD * measured.sections);
}

BatchOutcome openBatch(const Cipher& cipher, const uint8_t* source, const BatchOutcome& measured, uint8_t* output) {
  const size_t overhead = OVERHEAD * measured.sections;
  return rewrite(Opening(cipher), source, measured, output, measured.length - overhead);
}

}  // namespace iggy::siv
