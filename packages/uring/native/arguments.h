// Arguments from JavaScript. Each reader either fills its target or leaves a JavaScript exception pending and is false.
#pragma once

#include <napi.h>
#include <sys/uio.h>

#include <cstdint>
#include <vector>

namespace uring {

// Numbers that a double holds exactly.
constexpr int64_t kSafeInteger = 9007199254740991;

bool ReadInteger(const Napi::CallbackInfo& info, size_t index, const char* name, int64_t low, int64_t high,
                 int64_t* target);
// An array of such numbers.
bool ReadIntegers(const Napi::CallbackInfo& info, size_t index, const char* name, int64_t low, int64_t high,
                  std::vector<int64_t>* target);
bool ReadDescriptor(const Napi::CallbackInfo& info, size_t index, int* target);
bool ReadBoolean(const Napi::CallbackInfo& info, size_t index, const char* name, bool* target);
bool ReadText(const Napi::CallbackInfo& info, size_t index, const char* name, size_t bytes_max, std::string* target);
bool ReadFunction(const Napi::CallbackInfo& info, size_t index, const char* name, Napi::Function* target);
bool ReadBytes(const Napi::CallbackInfo& info, size_t index, const char* name, iovec* target);
// An array of Uint8Array. Empty ones are left out.
bool ReadBytesList(const Napi::CallbackInfo& info, size_t index, const char* name, std::vector<iovec>* target);

}  // namespace uring
