// A JavaScript function that the event loop calls on its own.
#pragma once

#include <napi.h>

namespace uring {

class Listener {
 public:
  // False when the environment has no memory for it.
  bool Set(napi_env env, napi_value function, const char* name);
  // With promises and ticks; what it throws is an uncaught exception.
  void Call(bool argument);
  // It is called no more. Not from within a call.
  void Release();

 private:
  napi_env env_ = nullptr;
  napi_ref function_ = nullptr;
  napi_async_context context_ = nullptr;
};

}  // namespace uring
