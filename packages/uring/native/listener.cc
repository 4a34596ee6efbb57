#include "listener.h"

namespace uring {

bool Listener::Set(napi_env env, napi_value function, const char* name) {
  env_ = env;
  napi_value text = nullptr;
  return napi_create_string_utf8(env, name, NAPI_AUTO_LENGTH, &text) == napi_ok &&
         napi_async_init(env, nullptr, text, &context_) == napi_ok &&
         napi_create_reference(env, function, 1, &function_) == napi_ok;
}

void Listener::Call(bool argument) {
  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env_, &scope) != napi_ok) return;
  napi_value function = nullptr;
  napi_value receiver = nullptr;
  napi_value value = nullptr;
  if (napi_get_reference_value(env_, function_, &function) == napi_ok && function != nullptr &&
      napi_get_global(env_, &receiver) == napi_ok && napi_get_boolean(env_, argument, &value) == napi_ok) {
    napi_make_callback(env_, context_, receiver, function, 1, &value, nullptr);
    bool pending = false;
    napi_value exception = nullptr;
    // As if it had been thrown by a timer. There is none to take when the environment is being stopped.
    if (napi_is_exception_pending(env_, &pending) == napi_ok && pending &&
        napi_get_and_clear_last_exception(env_, &exception) == napi_ok) {
      napi_fatal_exception(env_, exception);
    }
  }
  napi_close_handle_scope(env_, scope);
}

void Listener::Release() {
  if (env_ == nullptr) return;
  napi_handle_scope scope = nullptr;
  napi_open_handle_scope(env_, &scope);
  if (function_ != nullptr) napi_delete_reference(env_, function_);
  function_ = nullptr;
  if (context_ != nullptr) napi_async_destroy(env_, context_);
  context_ = nullptr;
  napi_close_handle_scope(env_, scope);
}

}  // namespace uring
