// Errors as Node.js has them: `code`, and for those of the system `errno` and `syscall`.
#pragma once

#include <napi.h>

#include <cstdint>

namespace uring {

// None replaces an exception that is pending already.
void ThrowSystem(napi_env env, int error, const char* syscall);
void ThrowType(napi_env env, const char* name, const char* wanted);
void ThrowRange(napi_env env, const char* name, int64_t low, int64_t high);
void ThrowState(napi_env env, const char* code, const char* message);

}  // namespace uring
