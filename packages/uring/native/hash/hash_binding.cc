#include "hash_binding.h"

#include "call_arguments.h"
#include "batch.h"
#include "xxh3.h"
#include "xxh3_stream.h"

namespace {

using iggy::CallArguments;
using iggy::Bytes;
using iggy::batch::Outcome;
using iggy::batch::Stamp;
using iggy::hash::Xxh3Stream;

constexpr size_t OUTCOME_SIZE = 3;

void putWords(uint32_t* out, uint64_t value) {
  out[0] = static_cast<uint32_t>(value);
  out[1] = static_cast<uint32_t>(value >> 32);
}

bool seedAt(const CallArguments& arguments, size_t i, uint64_t& seed) {
  seed = 0;
  return !arguments.has(i) || arguments.u64(i, "seed", seed);
}

napi_value xxh3(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes all;
  Bytes range;
  uint64_t seed;
  if (!arguments.bytes(0, "bytes", all) || !arguments.range(1, all, range) || !seedAt(arguments, 3, seed)) {
    return nullptr;
  }
  return iggy::bigintOf(env, iggy::hash::xxh3(range.data, range.length, seed));
}

napi_value xxh3Into(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  uint32_t* out;
  Bytes all;
  Bytes range;
  uint64_t seed;
  if (!arguments.words(0, "out", 2, out) || !arguments.bytes(1, "bytes", all) || !arguments.range(2, all, range) ||
      !seedAt(arguments, 4, seed)) {
    return nullptr;
  }
  putWords(out, iggy::hash::xxh3(range.data, range.length, seed));
  return nullptr;
}

napi_value xxh3By(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  char name[16];
  size_t nameLength;
  Bytes all;
  Bytes range;
  uint64_t seed;
  if (!arguments.text(0, "kernel", name, sizeof name, nameLength) || !arguments.bytes(1, "bytes", all) ||
      !arguments.range(2, all, range) || !seedAt(arguments, 4, seed)) {
    return nullptr;
  }
  const iggy::hash::Kernel* kernel = iggy::hash::kernelNamed(name, nameLength);
  if (kernel == nullptr) return arguments.rangeError("kernel", "one of hashKernels");
  return iggy::bigintOf(env, iggy::hash::xxh3By(*kernel, range.data, range.length, seed));
}

bool streamRoom(const CallArguments& arguments, Bytes& state, Xxh3Stream*& stream) {
  if (!arguments.bytesOf(0, "state", sizeof(Xxh3Stream), state)) return false;
  if (reinterpret_cast<uintptr_t>(state.data) % alignof(Xxh3Stream) != 0) {
    arguments.rangeError("state", "at an address divisible by 8");
    return false;
  }
  stream = reinterpret_cast<Xxh3Stream*>(state.data);
  return true;
}

bool startedStream(const CallArguments& arguments, Bytes& state, Xxh3Stream*& stream) {
  if (!streamRoom(arguments, state, stream)) return false;
  if (stream->isSound()) return true;
  arguments.rangeError("state", "a started stream");
  return false;
}

napi_value xxh3StreamStart(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes state;
  Xxh3Stream* stream;
  uint64_t seed;
  if (streamRoom(arguments, state, stream) && seedAt(arguments, 1, seed)) stream->start(seed);
  return nullptr;
}

napi_value xxh3StreamUpdate(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes state;
  Xxh3Stream* stream;
  Bytes bytes;
  if (!startedStream(arguments, state, stream) || !arguments.bytes(1, "bytes", bytes)) return nullptr;
  if (iggy::overlap(state, bytes)) return arguments.rangeError("bytes", "apart from the state");
  stream->update(bytes.data, bytes.length);
  return nullptr;
}

napi_value xxh3StreamDigest(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  Bytes state;
  Xxh3Stream* stream;
  uint32_t* out;
  if (startedStream(arguments, state, stream) && arguments.words(1, "out", 2, out)) putWords(out, stream->digest());
  return nullptr;
}

struct BatchRange {
  size_t offset;
  Bytes bytes;
};

bool batchAt(const CallArguments& arguments, BatchRange& batch) {
  Bytes all;
  if (!arguments.bytes(0, "bytes", all) || !arguments.range(1, all, batch.bytes)) return false;
  batch.offset = static_cast<size_t>(batch.bytes.data - all.data);
  return true;
}

bool stampAt(const CallArguments& arguments, size_t i, Stamp& stamp) {
  return arguments.u64(i, "partitionId", stamp.partitionId) && arguments.u64(i + 1, "baseOffset", stamp.baseOffset) &&
         arguments.u64(i + 2, "baseTimestamp", stamp.baseTimestamp);
}

napi_value tell(napi_env env, const BatchRange& batch, const Outcome& outcome, double* out) {
  out[0] = static_cast<double>(batch.offset + outcome.position);
  out[1] = static_cast<double>(outcome.length);
  out[2] = static_cast<double>(outcome.index);
  return iggy::numberOf(env, static_cast<double>(outcome.fault));
}

napi_value verifyBatch(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  BatchRange batch;
  double* out;
  if (!batchAt(arguments, batch) || !arguments.doubles(3, "outcome", OUTCOME_SIZE, out)) return nullptr;
  return tell(env, batch, iggy::batch::verify(batch.bytes.data, batch.bytes.length), out);
}

napi_value sealBatch(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  BatchRange batch;
  double* out;
  if (!batchAt(arguments, batch) || !arguments.doubles(3, "outcome", OUTCOME_SIZE, out)) return nullptr;
  return tell(env, batch, iggy::batch::seal(batch.bytes.data, batch.bytes.length), out);
}

template <Outcome (*Action)(uint8_t*, size_t, const Stamp&)>
napi_value stamping(napi_env env, napi_callback_info info) {
  const CallArguments arguments(env, info);
  BatchRange batch;
  Stamp stamp;
  double* out;
  if (!batchAt(arguments, batch) || !stampAt(arguments, 3, stamp) ||
      !arguments.doubles(6, "outcome", OUTCOME_SIZE, out)) {
    return nullptr;
  }
  return tell(env, batch, Action(batch.bytes.data, batch.bytes.length, stamp), out);
}

Napi::Array supportedKernels(Napi::Env env) {
  Napi::Array names = Napi::Array::New(env);
  uint32_t count = 0;
  for (const iggy::hash::Kernel* const* kernel = iggy::hash::allKernels(); *kernel != nullptr; kernel++) {
    if ((*kernel)->isSupported()) names.Set(count++, Napi::String::New(env, (*kernel)->name));
  }
  return names;
}

}  // namespace

Napi::Object InitHash(Napi::Env env, Napi::Object exports) {
  using iggy::method;
  const napi_property_descriptor methods[] = {
      method("xxh3", xxh3),
      method("xxh3Into", xxh3Into),
      method("xxh3By", xxh3By),
      method("xxh3StreamStart", xxh3StreamStart),
      method("xxh3StreamUpdate", xxh3StreamUpdate),
      method("xxh3StreamDigest", xxh3StreamDigest),
      method("verifyBatch", verifyBatch),
      method("stampBatch", stamping<iggy::batch::stamp>),
      method("verifyAndStampBatch", stamping<iggy::batch::verifyAndStamp>),
      method("sealBatch", sealBatch),
  };
  napi_define_properties(env, exports, sizeof methods / sizeof *methods, methods);
  exports.Set("hashKernels", supportedKernels(env));
  exports.Set("xxh3StreamSize", Napi::Number::New(env, sizeof(Xxh3Stream)));
  return exports;
}
