// The door of the addon: registers every function, for each environment (main thread or worker) anew.
#include <napi.h>

#include "files/files.h"
#include "memory/slab.h"
#include "ring/environment.h"
#include "ring/ring_functions.h"
#include "sockets/sockets.h"
#include "threads/affinity.h"
#include "threads/wakeup.h"

// Changes whenever a function changes in a way that the TypeScript side must know.
static constexpr int kRevision = 1;

// Written in folders of their own; a build without them leaves them out.
__attribute__((weak)) void InitHash(Napi::Env env, Napi::Object exports);
__attribute__((weak)) void InitSiv(Napi::Env env, Napi::Object exports);

static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("revision", Napi::Number::New(env, kRevision));
  uring::Environment::Create(env);
  uring::InitRing(env, exports);
  uring::InitSlab(env, exports);
  uring::InitFiles(env, exports);
  uring::InitSockets(env, exports);
  uring::InitAffinity(env, exports);
  uring::InitWakeup(env, exports);
  if (InitHash != nullptr) InitHash(env, exports);
  if (InitSiv != nullptr) InitSiv(env, exports);
  return exports;
}

NODE_API_MODULE(uring, Init)
