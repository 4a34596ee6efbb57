#include "threads/affinity.h"

#include <sched.h>

#include <cerrno>
#include <vector>

#include "arguments.h"
#include "errors.h"

namespace uring {

namespace {

// threadCores(): the cores that this thread may run on
Napi::Value Cores(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) {
    ThrowSystem(env, errno, "sched_getaffinity");
    return env.Undefined();
  }
  Napi::Array result = Napi::Array::New(env);
  uint32_t count = 0;
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (CPU_ISSET(core, &cores)) result.Set(count++, Napi::Number::New(env, core));
  }
  return result;
}

// threadPin(cores): this thread runs on no others
Napi::Value Pin(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  std::vector<int64_t> numbers;
  if (!ReadIntegers(info, 0, "cores", 0, CPU_SETSIZE - 1, &numbers)) return env.Undefined();
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int64_t core : numbers) CPU_SET(static_cast<size_t>(core), &cores);
  if (sched_setaffinity(0, sizeof(cores), &cores) != 0) ThrowSystem(env, errno, "sched_setaffinity");
  return env.Undefined();
}

}  // namespace

void InitAffinity(Napi::Env env, Napi::Object exports) {
  exports.Set("threadCores", Napi::Function::New<Cores>(env, "threadCores"));
  exports.Set("threadPin", Napi::Function::New<Pin>(env, "threadPin"));
}

}  // namespace uring
