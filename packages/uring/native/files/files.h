// System calls on files that are faster made at once than through a ring: what they touch is in the page cache.
#pragma once

#include <napi.h>

namespace uring {

void InitFiles(Napi::Env env, Napi::Object exports);

}  // namespace uring
