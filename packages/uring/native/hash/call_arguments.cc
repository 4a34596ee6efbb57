#include "call_arguments.h"

#include <cstdio>

namespace iggy {
namespace {

constexpr double MAX_EXACT = 9007199254740991.0;

const char* const EXPECTED_U64 = "an exact unsigned integer";

}  // namespace

bool overlap(const Bytes& a, const Bytes& b) {
  if (a.length == 0 || b.length == 0) return false;
  const uintptr_t left = reinterpret_cast<uintptr_t>(a.data);
  const uintptr_t right = reinterpret_cast<uintptr_t>(b.data);
  return left < right + b.length && right < left + a.length;
}

CallArguments::CallArguments(napi_env env, napi_callback_info info) : env_(env) {
  // What is missing comes out as undefined, what is too much is left out.
  napi_get_cb_info(env, info, &count_, values_, nullptr, nullptr);
}

bool CallArguments::has(size_t i) const {
  if (i >= count_) return false;
  napi_valuetype type;
  return napi_typeof(env_, values_[i], &type) == napi_ok && type != napi_undefined;
}

bool CallArguments::array(size_t i, const char* name, napi_typedarray_type type, const char* expected,
                          Bytes& out) const {
  napi_typedarray_type found;
  size_t elements = 0;
  void* data = nullptr;
  const napi_status status =
      napi_get_typedarray_info(env_, values_[i], &found, &elements, &data, nullptr, nullptr);
  if (status != napi_ok || found != type) {
    typeError(name, expected);
    return false;
  }
  out.data = static_cast<uint8_t*>(data);
  out.length = data == nullptr ? 0 : elements;
  return true;
}

bool CallArguments::bytes(size_t i, const char* name, Bytes& out) const {
  return array(i, name, napi_uint8_array, "a Uint8Array", out);
}

bool CallArguments::bytesOf(size_t i, const char* name, size_t size, Bytes& out) const {
  if (!bytes(i, name, out)) return false;
  if (out.length == size) return true;
  char expected[32];
  std::snprintf(expected, sizeof expected, "%zu bytes long", size);
  rangeError(name, expected);
  return false;
}

bool CallArguments::words(size_t i, const char* name, size_t count, uint32_t*& out) const {
  Bytes found;
  if (!array(i, name, napi_uint32_array, "a Uint32Array", found)) return false;
  if (found.length < count) {
    rangeError(name, "longer");
    return false;
  }
  out = reinterpret_cast<uint32_t*>(found.data);
  return true;
}

bool CallArguments::doubles(size_t i, const char* name, size_t count, double*& out) const {
  Bytes found;
  if (!array(i, name, napi_float64_array, "a Float64Array", found)) return false;
  if (found.length < count) {
    rangeError(name, "longer");
    return false;
  }
  out = reinterpret_cast<double*>(found.data);
  return true;
}

bool CallArguments::size(size_t i, const char* name, size_t& out) const {
  double value;
  if (napi_get_value_double(env_, values_[i], &value) != napi_ok) {
    typeError(name, "a number");
    return false;
  }
  // Written so that NaN fails.
  if (!(value >= 0 && value <= MAX_EXACT) || value != static_cast<double>(static_cast<size_t>(value))) {
    rangeError(name, EXPECTED_U64);
    return false;
  }
  out = static_cast<size_t>(value);
  return true;
}

bool CallArguments::range(size_t i, const Bytes& all, Bytes& out) const {
  size_t offset;
  size_t length;
  if (!size(i, "offset", offset) || !size(i + 1, "length", length)) return false;
  if (offset > all.length || length > all.length - offset) {
    rangeError("offset and length", "inside the bytes");
    return false;
  }
  out.data = all.data + offset;
  out.length = length;
  return true;
}

bool CallArguments::u64(size_t i, const char* name, uint64_t& out) const {
  bool isLossless;
  if (napi_get_value_bigint_uint64(env_, values_[i], &out, &isLossless) == napi_ok) {
    if (isLossless) return true;
    rangeError(name, "a u64");
    return false;
  }
  size_t value;
  if (!size(i, name, value)) return false;
  out = value;
  return true;
}

bool CallArguments::text(size_t i, const char* name, char* out, size_t room, size_t& length) const {
  if (napi_get_value_string_utf8(env_, values_[i], out, room, &length) == napi_ok) return true;
  typeError(name, "a string");
  return false;
}

napi_value CallArguments::typeError(const char* name, const char* expected) const {
  char message[128];
  std::snprintf(message, sizeof message, "%s must be %s", name, expected);
  napi_throw_type_error(env_, "ERR_INVALID_ARG_TYPE", message);
  return nullptr;
}

napi_value CallArguments::rangeError(const char* name, const char* expected) const {
  char message[128];
  std::snprintf(message, sizeof message, "%s must be %s", name, expected);
  napi_throw_range_error(env_, "ERR_OUT_OF_RANGE", message);
  return nullptr;
}

napi_property_descriptor method(const char* name, napi_callback callback) {
  return {name, nullptr, callback, nullptr, nullptr, nullptr, napi_enumerable, nullptr};
}

napi_value numberOf(napi_env env, double value) {
  napi_value result = nullptr;
  napi_create_double(env, value, &result);
  return result;
}

napi_value booleanOf(napi_env env, bool value) {
  napi_value result = nullptr;
  napi_get_boolean(env, value, &result);
  return result;
}

napi_value bigintOf(napi_env env, uint64_t value) {
  napi_value result = nullptr;
  napi_create_bigint_uint64(env, value, &result);
  return result;
}

}  // namespace iggy
