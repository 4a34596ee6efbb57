// Sockets as plain descriptors, so that one thread can hand them to another.
#pragma once

#include <napi.h>

namespace uring {

void InitSockets(Napi::Env env, Napi::Object exports);

}  // namespace uring
