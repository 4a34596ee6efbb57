#include "errors.h"

#include <uv.h>

#include <string>

namespace uring {

namespace {

bool IsPending(napi_env env) {
  bool pending = false;
  return napi_is_exception_pending(env, &pending) != napi_ok || pending;
}

napi_value Text(napi_env env, const std::string& text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &value);
  return value;
}

using Create = napi_status (*)(napi_env, napi_value, napi_value, napi_value*);

void Throw(napi_env env, Create create, const char* code, const std::string& message) {
  napi_value error = nullptr;
  if (create(env, Text(env, code), Text(env, message), &error) == napi_ok) napi_throw(env, error);
}

}  // namespace

void ThrowSystem(napi_env env, int error, const char* syscall) {
  if (IsPending(env)) return;
  const char* code = uv_err_name(-error);
  std::string message = std::string(code) + ": " + uv_strerror(-error) + ", " + syscall;
  napi_value value = nullptr;
  napi_value number = nullptr;
  if (napi_create_error(env, Text(env, code), Text(env, message), &value) != napi_ok) return;
  napi_create_int32(env, -error, &number);
  napi_set_named_property(env, value, "errno", number);
  napi_set_named_property(env, value, "syscall", Text(env, syscall));
  napi_throw(env, value);
}

void ThrowType(napi_env env, const char* name, const char* wanted) {
  if (IsPending(env)) return;
  Throw(env, napi_create_type_error, "ERR_INVALID_ARG_TYPE", std::string(name) + " must be " + wanted);
}

void ThrowRange(napi_env env, const char* name, int64_t low, int64_t high) {
  if (IsPending(env)) return;
  Throw(env, napi_create_range_error, "ERR_OUT_OF_RANGE",
        std::string(name) + " must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

void ThrowState(napi_env env, const char* code, const char* message) {
  if (IsPending(env)) return;
  Throw(env, napi_create_error, code, message);
}

}  // namespace uring
