// On which cores the calling thread runs.
#pragma once

#include <napi.h>

namespace uring {

void InitAffinity(Napi::Env env, Napi::Object exports);

}  // namespace uring
