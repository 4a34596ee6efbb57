#include "memory/slab.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <mutex>

#include "arguments.h"
#include "errors.h"

namespace uring {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = uint64_t{1} << 32;
constexpr uint64_t kBytesMin = uint64_t{1} << 20;
constexpr uint64_t kBytesMax = uint64_t{1} << 36;
// Positions within a window stay small integers for V8, with and without pointer compression of its heap.
constexpr uint64_t kWindow = uint64_t{1} << 30;

// Never unmapped: a system call that was cut off by the end of a thread may still write into it.
std::mutex mutex;
uint8_t* base = nullptr;
uint64_t size = 0;

int Reserve(uint64_t bytes) {
  uint64_t span = bytes + kAlignment;
  void* mapped = mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return errno;
  uint64_t start = reinterpret_cast<uint64_t>(mapped);
  uint64_t aligned = (start + kAlignment - 1) & ~(kAlignment - 1);
  if (aligned > start) munmap(mapped, aligned - start);
  uint64_t end = aligned + bytes;
  if (start + span > end) munmap(reinterpret_cast<void*>(end), start + span - end);
  void* memory = reinterpret_cast<void*>(aligned);
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0) {
    int error = errno;
    munmap(memory, bytes);
    return error;
  }
  // A child process has no use for it, and forking gets cheaper. Not worth a failure.
  madvise(memory, bytes, MADV_DONTFORK);
  base = static_cast<uint8_t*>(memory);
  size = bytes;
  return 0;
}

// slabOpen(bytes): { bytes, windowBytes, baseHigh, windows }
Napi::Value Open(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int64_t bytes = 0;
  if (!ReadInteger(info, 0, "bytes", kBytesMin, kBytesMax, &bytes)) return env.Undefined();
  if (bytes % kPage != 0) {
    ThrowState(env, "ERR_OUT_OF_RANGE", "bytes must be a multiple of 4096");
    return env.Undefined();
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (base == nullptr) {
    int error = Reserve(static_cast<uint64_t>(bytes));
    if (error != 0) {
      ThrowSystem(env, error, "mmap");
      return env.Undefined();
    }
  } else if (size != static_cast<uint64_t>(bytes)) {
    ThrowState(env, "ERR_SLAB_SIZE", "the process has a slab of another size");
    return env.Undefined();
  }
  Napi::Object result = Napi::Object::New(env);
  Napi::Array windows = Napi::Array::New(env);
  uint32_t count = 0;
  for (uint64_t at = 0; at < size; at += kWindow) {
    napi_value window = nullptr;
    uint64_t length = size - at < kWindow ? size - at : kWindow;
    if (napi_create_external_arraybuffer(env, base + at, length, nullptr, nullptr, &window) != napi_ok) {
      ThrowState(env, "ERR_NO_EXTERNAL_BUFFERS", "this runtime does not let addons share memory");
      return env.Undefined();
    }
    windows.Set(count++, window);
  }
  result.Set("bytes", Napi::Number::New(env, static_cast<double>(size)));
  result.Set("windowBytes", Napi::Number::New(env, static_cast<double>(kWindow)));
  result.Set("baseHigh", Napi::Number::New(env, static_cast<double>(reinterpret_cast<uint64_t>(base) >> 32)));
  result.Set("windows", windows);
  return result;
}

// slabDiscard(offset, length): gives the pages back; they read as zeros afterwards
Napi::Value Discard(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int64_t offset = 0;
  int64_t length = 0;
  std::lock_guard<std::mutex> lock(mutex);
  if (base == nullptr) {
    ThrowState(env, "ERR_SLAB_CLOSED", "the process has no slab");
    return env.Undefined();
  }
  if (!ReadInteger(info, 0, "offset", 0, static_cast<int64_t>(size), &offset)) return env.Undefined();
  if (!ReadInteger(info, 1, "length", 0, static_cast<int64_t>(size) - offset, &length)) return env.Undefined();
  if (offset % kPage != 0 || length % kPage != 0) {
    ThrowState(env, "ERR_OUT_OF_RANGE", "offset and length must be multiples of 4096");
    return env.Undefined();
  }
  if (length > 0 && madvise(base + offset, static_cast<size_t>(length), MADV_DONTNEED) != 0) {
    ThrowSystem(env, errno, "madvise");
  }
  return env.Undefined();
}

}  // namespace

void InitSlab(Napi::Env env, Napi::Object exports) {
  exports.Set("slabOpen", Napi::Function::New<Open>(env, "slabOpen"));
  exports.Set("slabDiscard", Napi::Function::New<Discard>(env, "slabDiscard"));
}

}  // namespace uring
