// Wakes the event loop of one thread from any other thread of the process.
#pragma once

#include <napi.h>

namespace uring {

void InitWakeup(Napi::Env env, Napi::Object exports);

}  // namespace uring
