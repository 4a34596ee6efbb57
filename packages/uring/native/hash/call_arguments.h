#pragma once

#include <napi.h>

#include <cstddef>
#include <cstdint>

namespace iggy {

/** Memory of a typed array. It stays where it is until the callback returns to JavaScript. */
struct Bytes {
  uint8_t* data = nullptr;
  size_t length = 0;
};

/** Whether two ranges share a byte. */
bool overlap(const Bytes& a, const Bytes& b);

/**
 * CallArguments of one call. Every reader says whether the argument is what it should be; when it is not, a TypeError or a
 * RangeError is pending and the callback returns `nullptr` at once.
 *
 * Plain Node-API calls: the wrappers of node-addon-api cost more than hashing a short message.
 */
class CallArguments {
 public:
  static constexpr size_t MAX = 8;

  CallArguments(napi_env env, napi_callback_info info);

  napi_env env() const { return env_; }
  /** Whether the argument was given and is not undefined. */
  bool has(size_t i) const;
  /** Any Uint8Array, a Buffer among them. A detached one has no bytes. */
  bool bytes(size_t i, const char* name, Bytes& out) const;
  /** A Uint8Array of exactly that size. */
  bool bytesOf(size_t i, const char* name, size_t size, Bytes& out) const;
  /** A Uint32Array of at least `count` elements. */
  bool words(size_t i, const char* name, size_t count, uint32_t*& out) const;
  /** A Float64Array of at least `count` elements. */
  bool doubles(size_t i, const char* name, size_t count, double*& out) const;
  /** A range of `all`, its offset in argument `i` and its length in the next one. */
  bool range(size_t i, const Bytes& all, Bytes& out) const;
  /** An exact integer from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1. */
  bool u64(size_t i, const char* name, uint64_t& out) const;
  /** A string of at most `room` - 1 bytes; longer ones come out cut. */
  bool text(size_t i, const char* name, char* out, size_t room, size_t& length) const;

  napi_value typeError(const char* name, const char* expected) const;
  napi_value rangeError(const char* name, const char* expected) const;

 private:
  bool array(size_t i, const char* name, napi_typedarray_type type, const char* expected, Bytes& out) const;
  bool size(size_t i, const char* name, size_t& out) const;

  napi_env env_;
  size_t count_ = MAX;
  napi_value values_[MAX];
};

/** The module property of a native function. */
napi_property_descriptor method(const char* name, napi_callback callback);

napi_value numberOf(napi_env env, double value);
napi_value booleanOf(napi_env env, bool value);
napi_value bigintOf(napi_env env, uint64_t value);

}  // namespace iggy
