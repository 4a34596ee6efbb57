#include "files/files.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "arguments.h"
#include "errors.h"

namespace uring {

namespace {

constexpr size_t kBuffersPerCall = 1024;
constexpr int64_t kWouldBlock = -1;

// pwritev(descriptor, buffers, position): bytes written, always all of them
Napi::Value Pwritev(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  int64_t position = 0;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  if (!ReadInteger(info, 2, "position", 0, kSafeInteger, &position)) return env.Undefined();
  std::vector<iovec> buffers;
  if (!ReadBytesList(info, 1, "buffers", &buffers)) return env.Undefined();
  size_t next = 0;
  int64_t total = 0;
  while (next < buffers.size()) {
    int count = static_cast<int>(std::min(buffers.size() - next, kBuffersPerCall));
    ssize_t written = pwritev(descriptor, &buffers[next], count, position + total);
    if (written < 0) {
      if (errno == EINTR) continue;
      ThrowSystem(env, errno, "pwritev");
      return env.Undefined();
    }
    total += written;
    size_t rest = static_cast<size_t>(written);
    while (next < buffers.size() && rest >= buffers[next].iov_len) rest -= buffers[next++].iov_len;
    if (rest > 0) {
      buffers[next].iov_base = static_cast<uint8_t*>(buffers[next].iov_base) + rest;
      buffers[next].iov_len -= rest;
    }
  }
  return Napi::Number::New(env, static_cast<double>(total));
}

// pread(descriptor, into, position, cachedOnly): bytes read, 0 at the end; -1 when the disk would have to be waited for
Napi::Value Pread(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  iovec into;
  int64_t position = 0;
  bool cached_only = false;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  if (!ReadInteger(info, 2, "position", 0, kSafeInteger, &position)) return env.Undefined();
  if (!ReadBoolean(info, 3, "cachedOnly", &cached_only)) return env.Undefined();
  if (!ReadBytes(info, 1, "into", &into)) return env.Undefined();
  for (;;) {
    ssize_t count = preadv2(descriptor, &into, 1, position, cached_only ? RWF_NOWAIT : 0);
    if (count >= 0) return Napi::Number::New(env, static_cast<double>(count));
    if (errno == EINTR) continue;
    if (cached_only && (errno == EAGAIN || errno == EOPNOTSUPP)) return Napi::Number::New(env, kWouldBlock);
    ThrowSystem(env, errno, "preadv2");
    return env.Undefined();
  }
}

// ftruncate(descriptor, size)
Napi::Value Ftruncate(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  int64_t size = 0;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  if (!ReadInteger(info, 1, "size", 0, kSafeInteger, &size)) return env.Undefined();
  int result = 0;
  do result = ftruncate(descriptor, size);
  while (result != 0 && errno == EINTR);
  if (result != 0) ThrowSystem(env, errno, "ftruncate");
  return env.Undefined();
}

// fallocate(descriptor, keepsSize, offset, length)
Napi::Value Fallocate(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  bool keeps_size = false;
  int64_t offset = 0;
  int64_t length = 0;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  if (!ReadBoolean(info, 1, "keepsSize", &keeps_size)) return env.Undefined();
  if (!ReadInteger(info, 2, "offset", 0, kSafeInteger, &offset)) return env.Undefined();
  if (!ReadInteger(info, 3, "length", 1, kSafeInteger - offset, &length)) return env.Undefined();
  int result = 0;
  do result = fallocate(descriptor, keeps_size ? FALLOC_FL_KEEP_SIZE : 0, offset, length);
  while (result != 0 && errno == EINTR);
  if (result != 0) ThrowSystem(env, errno, "fallocate");
  return env.Undefined();
}

}  // namespace

void InitFiles(Napi::Env env, Napi::Object exports) {
  exports.Set("pwritev", Napi::Function::New<Pwritev>(env, "pwritev"));
  exports.Set("pread", Napi::Function::New<Pread>(env, "pread"));
  exports.Set("ftruncate", Napi::Function::New<Ftruncate>(env, "ftruncate"));
  exports.Set("fallocate", Napi::Function::New<Fallocate>(env, "fallocate"));
}

}  // namespace uring
