#include "siv_binding.h"

#include "../hash/call_arguments.h"
#include "batch_siv.h"
#include "gcm_siv.h"

namespace {

using iggy::Bytes;
using iggy::CallArguments;
using iggy::siv::BatchOutcome;
using iggy::siv::Cipher;
using iggy::siv::Input;
using iggy::siv::KEY_SIZE;
using iggy::siv::NONCE_SIZE;
using iggy::siv::OVERHEAD;

constexpr size_t OUTCOME_SIZE = 3;

Input inputOf(const Bytes& bytes) { return {bytes.data, bytes.length}; }

bool isAvailable(const CallArguments& arguments) {
  if (iggy::siv::isAvailable()) return true;
  napi_throw_error(arguments.env(), "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
                   "this processor has no instructions for AES-GCM-SIV");
  return false;
}

bool associatedAt(const CallArguments& arguments, size_t i, Bytes& associated) {
  return !arguments.has(i) || arguments.bytes(i, "associated data", associated);
}

/** Whether the sizes are within the algorithm and the output has the size that it needs. */
bool haveSizes(const CallArguments& arguments, size_t plaintext, size_t associated, size_t output, size_t needed) {
  if (plaintext > iggy::siv::MAX_SIZE || associated > iggy::siv::MAX_SIZE) {
    arguments.rangeError("plaintext and associated data", "at most 2^36 bytes long");
    return false;
  }
  if (output != needed) {
    arguments.rangeError("output", "exactly as long as the result");
    return false;
  }
  return true;
}

template <typename... Inputs>
bool isApart(const CallArguments& arguments, const Bytes& output, const Inputs&... inputs) {
  if (!(iggy::overlap(output, inputs) || ...)) return true;
  arguments.rangeError("output", "apart from the input");
  return false;
}

napi_value sealInto(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes key;
  Bytes nonce;
  Bytes plaintext;
  Bytes output;
  Bytes associated;
  if (!isAvailable(arguments) || !arguments.bytesOf(0, "key", KEY_SIZE, key) ||
      !arguments.bytesOf(1, "nonce", NONCE_SIZE, nonce) || !arguments.bytes(2, "plaintext", plaintext) ||
      !arguments.bytes(3, "output", output) || !associatedAt(arguments, 4, associated) ||
      !haveSizes(arguments, plaintext.length, associated.length, output.length, plaintext.length + OVERHEAD) ||
      !isApart(arguments, output, key, nonce, plaintext, associated)) {
    return nullptr;
  }
  Cipher(key.data).seal(nonce.data, inputOf(associated), inputOf(plaintext), output.data);
  return nullptr;
}

napi_value openInto(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes key;
  Bytes sealed;
  Bytes output;
  Bytes associated;
  if (!isAvailable(arguments) || !arguments.bytesOf(0, "key", KEY_SIZE, key) ||
      !arguments.bytes(1, "sealed", sealed) || !arguments.bytes(2, "output", output) ||
      !associatedAt(arguments, 3, associated)) {
    return nullptr;
  }
  if (sealed.length < OVERHEAD) return iggy::booleanOf(env, false);
  const size_t length = sealed.length - OVERHEAD;
  if (!haveSizes(arguments, length, associated.length, output.length, length) ||
      !isApart(arguments, output, key, sealed, associated)) {
    return nullptr;
  }
  return iggy::booleanOf(env, Cipher(key.data).open(inputOf(associated), inputOf(sealed), output.data));
}

/** A batch in the arguments `i` to `i + 2`. */
bool batchAt(const CallArguments& arguments, size_t i, Bytes& batch, size_t& offset) {
  Bytes all;
  if (!arguments.bytes(i, "bytes", all) || !arguments.range(i + 1, all, batch)) return false;
  offset = static_cast<size_t>(batch.data - all.data);
  return true;
}

napi_value tell(napi_env env, size_t offset, const BatchOutcome& outcome, double* out) {
  out[0] = static_cast<double>(offset + outcome.position);
  out[1] = static_cast<double>(outcome.length);
  out[2] = static_cast<double>(outcome.sections);
  return iggy::numberOf(env, outcome.fault);
}

napi_value measureBatch(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes batch;
  size_t offset;
  double* out;
  if (!batchAt(arguments, 0, batch, offset) || !arguments.doubles(3, "outcome", OUTCOME_SIZE, out)) return nullptr;
  return tell(env, offset, iggy::siv::measureBatch(batch.data, batch.length), out);
}

napi_value sealBatch(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes key;
  Bytes nonces;
  Bytes batch;
  size_t offset;
  Bytes output;
  double* out;
  if (!isAvailable(arguments) || !arguments.bytesOf(0, "key", KEY_SIZE, key) || !arguments.bytes(1, "nonces", nonces) ||
      !batchAt(arguments, 2, batch, offset) || !arguments.bytes(5, "output", output) ||
      !arguments.doubles(6, "outcome", OUTCOME_SIZE, out)) {
    return nullptr;
  }
  const BatchOutcome measured = iggy::siv::measureBatch(batch.data, batch.length);
  if (measured.fault != 0) return tell(env, offset, measured, out);
  if (nonces.length != NONCE_SIZE * measured.sections) {
    return arguments.rangeError("nonces", "12 bytes for each section");
  }
  if (!haveSizes(arguments, 0, 0, output.length, measured.length + OVERHEAD * measured.sections) ||
      !isApart(arguments, output, key, nonces, batch)) {
    return nullptr;
  }
  return tell(env, offset, iggy::siv::sealBatch(Cipher(key.data), nonces.data, batch.data, measured, output.data),
              out);
}

napi_value openBatch(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes key;
  Bytes batch;
  size_t offset;
  Bytes output;
  double* out;
  if (!isAvailable(arguments) || !arguments.bytesOf(0, "key", KEY_SIZE, key) ||
      !batchAt(arguments, 1, batch, offset) || !arguments.bytes(4, "output", output) ||
      !arguments.doubles(5, "outcome", OUTCOME_SIZE, out)) {
    return nullptr;
  }
  const BatchOutcome measured = iggy::siv::measureBatch(batch.data, batch.length);
  if (measured.fault != 0) return tell(env, offset, measured, out);
  // Sections that are too short in sum leave no size for the output to have.
  const size_t overhead = OVERHEAD * measured.sections;
  if (measured.length < iggy::batch::HEADER_SIZE + overhead) {
    return tell(env, offset, {iggy::siv::NOT_SEALED, 0, measured.length, 0}, out);
  }
  if (!haveSizes(arguments, 0, 0, output.length, measured.length - overhead) ||
      !isApart(arguments, output, key, batch)) {
    return nullptr;
  }
  return tell(env, offset, iggy::siv::openBatch(Cipher(key.data), batch.data, measured, output.data), out);
}

}  // namespace

Napi::Object InitSiv(Napi::Env env, Napi::Object exports) {
  using iggy::method;
  const napi_property_descriptor methods[] = {
      method("sivSealInto", sealInto),         method("sivOpenInto", openInto),
      method("sivMeasureBatch", measureBatch), method("sivSealBatch", sealBatch),
      method("sivOpenBatch", openBatch),
  };
  napi_define_properties(env, exports, sizeof methods / sizeof *methods, methods);
  exports.Set("sivAvailable", Napi::Boolean::New(env, iggy::siv::isAvailable()));
  return exports;
}
