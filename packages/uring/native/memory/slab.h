// One range of virtual memory for the whole process, that every thread sees under the same offsets.
#pragma once

#include <napi.h>

namespace uring {

void InitSlab(Napi::Env env, Napi::Object exports);

}  // namespace uring
