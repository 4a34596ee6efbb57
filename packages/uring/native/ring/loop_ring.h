// A ring on the event loop of one environment.
#pragma once

#include <napi.h>
#include <uv.h>

#include "listener.h"
#include "ring/mapping.h"

namespace uring {

class Environment;

class LoopRing {
 public:
  // nullptr with a JavaScript exception pending on failure.
  static LoopRing* Open(Environment* environment, Napi::Env env, uint32_t entries, uint32_t completion_entries,
                        Napi::Function turn);

  Napi::Value Description() const;
  void Reference();
  // Ends it for JavaScript at once; the object itself goes when the loop has let go of the handles. Returns how many
  // operations the kernel did not end within the limit.
  int64_t Close();

  Mapping mapping;
  int32_t id = 0;

 private:
  LoopRing(Environment* environment, napi_env env) : environment_(environment), env_(env) {}
  ~LoopRing() = default;

  bool Attach(Napi::Function turn);
  bool Expose(void* memory, size_t bytes, napi_ref* reference);
  void Turn();
  void Settle();
  void ReleaseViews(bool detaches);
  int64_t CloseHandles();
  void HandleClosed();

  static void OnPrepare(uv_prepare_t* handle);
  static void OnReadable(uv_poll_t* handle, int status, int events);
  static void OnRetry(uv_timer_t* handle);
  static void OnClosed(uv_handle_t* handle);
  static void OnEnvironmentEnd(napi_async_cleanup_hook_handle handle, void* data);

  Environment* environment_;
  napi_env env_;
  uv_prepare_t prepare_{};
  uv_poll_t poll_{};
  uv_timer_t retry_{};
  int open_handles_ = 0;
  Listener turn_;
  napi_ref rings_ = nullptr;
  napi_ref entries_ = nullptr;
  napi_ref state_ = nullptr;
  napi_async_cleanup_hook_handle hook_ = nullptr;
};

}  // namespace uring
