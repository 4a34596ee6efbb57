#include "arguments.h"

#include <climits>
#include <cmath>
#include <string>

#include "errors.h"

namespace uring {

namespace {

// More elements than this in one call are a mistake of the caller.
constexpr uint32_t kElementsMax = 1 << 20;

bool ToInteger(napi_env env, napi_value value, const char* name, int64_t low, int64_t high, int64_t* target) {
  napi_valuetype type = napi_undefined;
  double number = 0;
  if (napi_typeof(env, value, &type) != napi_ok || type != napi_number ||
      napi_get_value_double(env, value, &number) != napi_ok) {
    ThrowType(env, name, "a number");
    return false;
  }
  if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high)) || std::trunc(number) != number) {
    ThrowRange(env, name, low, high);
    return false;
  }
  *target = static_cast<int64_t>(number);
  return true;
}

bool ReadLength(const Napi::CallbackInfo& info, size_t index, const char* name, const char* wanted,
                uint32_t* target) {
  napi_env env = info.Env();
  bool is_array = false;
  if (napi_is_array(env, info[index], &is_array) != napi_ok || !is_array ||
      napi_get_array_length(env, info[index], target) != napi_ok) {
    ThrowType(env, name, wanted);
    return false;
  }
  if (*target > kElementsMax) {
    ThrowRange(env, name, 0, kElementsMax);
    return false;
  }
  return true;
}

bool ToBytes(Napi::Env env, napi_value value, const char* name, iovec* target) {
  bool is_typed_array = false;
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  // Without the buffer itself, so that shared memory is accepted too.
  if (napi_is_typedarray(env, value, &is_typed_array) != napi_ok || !is_typed_array ||
      napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok ||
      type != napi_uint8_array) {
    ThrowType(env, name, "a Uint8Array");
    return false;
  }
  *target = iovec{data, length};
  return true;
}

}  // namespace

bool ReadInteger(const Napi::CallbackInfo& info, size_t index, const char* name, int64_t low, int64_t high,
                 int64_t* target) {
  return ToInteger(info.Env(), info[index], name, low, high, target);
}

bool ReadIntegers(const Napi::CallbackInfo& info, size_t index, const char* name, int64_t low, int64_t high,
                  std::vector<int64_t>* target) {
  napi_env env = info.Env();
  uint32_t length = 0;
  if (!ReadLength(info, index, name, "an array of numbers", &length)) return false;
  for (uint32_t at = 0; at < length; at++) {
    napi_value value = nullptr;
    int64_t number = 0;
    if (napi_get_element(env, info[index], at, &value) != napi_ok) {
      ThrowType(env, name, "an array of numbers");
      return false;
    }
    if (!ToInteger(env, value, name, low, high, &number)) return false;
    target->push_back(number);
  }
  return true;
}

bool ReadDescriptor(const Napi::CallbackInfo& info, size_t index, int* target) {
  int64_t value = 0;
  if (!ReadInteger(info, index, "descriptor", 0, INT_MAX, &value)) return false;
  *target = static_cast<int>(value);
  return true;
}

bool ReadBoolean(const Napi::CallbackInfo& info, size_t index, const char* name, bool* target) {
  Napi::Value value = info[index];
  if (!value.IsBoolean() || napi_get_value_bool(info.Env(), value, target) != napi_ok) {
    ThrowType(info.Env(), name, "a boolean");
    return false;
  }
  return true;
}

bool ReadText(const Napi::CallbackInfo& info, size_t index, const char* name, size_t bytes_max, std::string* target) {
  Napi::Value value = info[index];
  size_t length = 0;
  if (!value.IsString() || napi_get_value_string_utf8(info.Env(), value, nullptr, 0, &length) != napi_ok) {
    ThrowType(info.Env(), name, "a string");
    return false;
  }
  if (length > bytes_max) {
    ThrowRange(info.Env(), name, 0, static_cast<int64_t>(bytes_max));
    return false;
  }
  target->resize(length + 1);
  if (napi_get_value_string_utf8(info.Env(), value, target->data(), length + 1, &length) != napi_ok) {
    ThrowType(info.Env(), name, "a string");
    return false;
  }
  target->resize(length);
  return true;
}

bool ReadFunction(const Napi::CallbackInfo& info, size_t index, const char* name, Napi::Function* target) {
  Napi::Value value = info[index];
  if (!value.IsFunction()) {
    ThrowType(info.Env(), name, "a function");
    return false;
  }
  *target = value.As<Napi::Function>();
  return true;
}

bool ReadBytes(const Napi::CallbackInfo& info, size_t index, const char* name, iovec* target) {
  return ToBytes(info.Env(), info[index], name, target);
}

bool ReadBytesList(const Napi::CallbackInfo& info, size_t index, const char* name, std::vector<iovec>* target) {
  napi_env env = info.Env();
  uint32_t length = 0;
  if (!ReadLength(info, index, name, "an array of Uint8Array", &length)) return false;
  // In two passes: an element may be a getter that runs JavaScript, which must not free memory already looked at.
  std::vector<napi_value> values(length);
  for (uint32_t at = 0; at < length; at++) {
    if (napi_get_element(env, info[index], at, &values[at]) != napi_ok) {
      ThrowType(env, name, "an array of Uint8Array");
      return false;
    }
  }
  target->reserve(length);
  for (napi_value value : values) {
    iovec bytes;
    if (!ToBytes(env, value, name, &bytes)) return false;
    if (bytes.iov_len > 0) target->push_back(bytes);
  }
  return true;
}

}  // namespace uring
