// The functions on rings that JavaScript calls.
#pragma once

#include <napi.h>

namespace uring {

void InitRing(Napi::Env env, Napi::Object exports);

}  // namespace uring
