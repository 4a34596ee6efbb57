#include "ring/ring_functions.h"

#include <cerrno>
#include <climits>

#include "arguments.h"
#include "errors.h"
#include "ring/environment.h"
#include "ring/loop_ring.h"

namespace uring {

namespace {

constexpr int64_t kEntriesMax = 32768;

LoopRing* ReadRing(const Napi::CallbackInfo& info) {
  int64_t id = 0;
  if (!ReadInteger(info, 0, "ring", 0, INT_MAX, &id)) return nullptr;
  LoopRing* ring = Environment::Of(info.Env())->Find(static_cast<int32_t>(id));
  if (ring == nullptr) ThrowState(info.Env(), "ERR_RING_CLOSED", "the ring is closed, or belongs to another thread");
  return ring;
}

// ringOpen(entries, completionEntries, turn): a description, with the memory of the ring
Napi::Value Open(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int64_t entries = 0;
  int64_t completion_entries = 0;
  Napi::Function turn;
  if (!ReadInteger(info, 0, "entries", 1, kEntriesMax, &entries)) return env.Undefined();
  if (!ReadInteger(info, 1, "completionEntries", entries, 2 * kEntriesMax, &completion_entries)) {
    return env.Undefined();
  }
  if (!ReadFunction(info, 2, "turn", &turn)) return env.Undefined();
  LoopRing* ring = LoopRing::Open(Environment::Of(env), env, static_cast<uint32_t>(entries),
                                  static_cast<uint32_t>(completion_entries), turn);
  return ring == nullptr ? env.Undefined() : ring->Description();
}

// ringEnter(ring): submits what is queued now; 0, or the errno that the kernel refused with
Napi::Value EnterNow(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  LoopRing* ring = ReadRing(info);
  if (ring == nullptr) return env.Undefined();
  uint32_t submitted = 0;
  int error = ring->mapping.Submit(&submitted);
  return Napi::Number::New(env, error);
}

// ringReference(ring): the ring keeps the process alive until nothing is in flight
Napi::Value Reference(const Napi::CallbackInfo& info) {
  LoopRing* ring = ReadRing(info);
  if (ring != nullptr) ring->Reference();
  return info.Env().Undefined();
}

// ringClose(ring): cancels what is in flight and waits for it; how many operations did not end within a limit
Napi::Value Close(const Napi::CallbackInfo& info) {
  LoopRing* ring = ReadRing(info);
  if (ring == nullptr) return info.Env().Undefined();
  return Napi::Number::New(info.Env(), static_cast<double>(ring->Close()));
}

}  // namespace

void InitRing(Napi::Env env, Napi::Object exports) {
  exports.Set("ringOpen", Napi::Function::New<Open>(env, "ringOpen"));
  exports.Set("ringEnter", Napi::Function::New<EnterNow>(env, "ringEnter"));
  exports.Set("ringReference", Napi::Function::New<Reference>(env, "ringReference"));
  exports.Set("ringClose", Napi::Function::New<Close>(env, "ringClose"));
}

}  // namespace uring
