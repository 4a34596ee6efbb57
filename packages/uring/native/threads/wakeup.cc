#include "threads/wakeup.h"

#include <uv.h>

#include <climits>
#include <mutex>
#include <unordered_map>

#include "arguments.h"
#include "errors.h"
#include "listener.h"

namespace uring {

namespace {

class Wakeup {
 public:
  // 0 with a JavaScript exception pending on failure.
  static int32_t Open(napi_env env, napi_value listener);
  // False when nobody has this number any more.
  static bool Send(int32_t id);
  // Only in the thread that opened it.
  static bool Close(napi_env env, int32_t id);

 private:
  explicit Wakeup(napi_env env) : env_(env) {}

  void CloseHandle();

  static void OnWake(uv_async_t* handle);
  static void OnClosed(uv_handle_t* handle);
  static void OnEnvironmentEnd(napi_async_cleanup_hook_handle handle, void* data);

  napi_env env_;
  int32_t id_ = 0;
  uv_async_t handle_{};
  Listener listener_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
};

// Those of all threads. A handle is woken under the mutex and leaves the table before it is closed. Never freed: threads
// may still send while the process ends.
std::mutex& Mutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

std::unordered_map<int32_t, Wakeup*>& Table() {
  static auto* table = new std::unordered_map<int32_t, Wakeup*>();
  return *table;
}

int32_t last_id = 0;

int32_t Wakeup::Open(napi_env env, napi_value listener) {
  uv_loop_t* loop = nullptr;
  auto* wakeup = new Wakeup(env);
  wakeup->handle_.data = wakeup;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok || uv_async_init(loop, &wakeup->handle_, OnWake) != 0) {
    delete wakeup;
    ThrowState(env, "ERR_WAKEUP_LOOP", "the event loop takes no handle to be woken by");
    return 0;
  }
  uv_unref(reinterpret_cast<uv_handle_t*>(&wakeup->handle_));
  if (!wakeup->listener_.Set(env, listener, "iggy:wakeup") ||
      napi_add_async_cleanup_hook(env, OnEnvironmentEnd, wakeup, &wakeup->hook_) != napi_ok) {
    ThrowState(env, "ERR_WAKEUP_LOOP", "the environment takes no listener");
    wakeup->CloseHandle();
    return 0;
  }
  std::lock_guard<std::mutex> lock(Mutex());
  if (last_id == INT_MAX) last_id = 0;
  while (Table().count(++last_id) > 0) continue;
  wakeup->id_ = last_id;
  Table().emplace(last_id, wakeup);
  return last_id;
}

bool Wakeup::Send(int32_t id) {
  std::lock_guard<std::mutex> lock(Mutex());
  auto found = Table().find(id);
  return found != Table().end() && uv_async_send(&found->second->handle_) == 0;
}

bool Wakeup::Close(napi_env env, int32_t id) {
  Wakeup* wakeup = nullptr;
  {
    std::lock_guard<std::mutex> lock(Mutex());
    auto found = Table().find(id);
    if (found == Table().end() || found->second->env_ != env) return false;
    wakeup = found->second;
    Table().erase(found);
  }
  wakeup->CloseHandle();
  return true;
}

void Wakeup::CloseHandle() { uv_close(reinterpret_cast<uv_handle_t*>(&handle_), OnClosed); }

void Wakeup::OnWake(uv_async_t* handle) { static_cast<Wakeup*>(handle->data)->listener_.Call(true); }

void Wakeup::OnClosed(uv_handle_t* handle) {
  auto* wakeup = static_cast<Wakeup*>(handle->data);
  wakeup->listener_.Release();
  if (wakeup->hook_ != nullptr) napi_remove_async_cleanup_hook(wakeup->hook_);
  delete wakeup;
}

// A worker is stopped, or the process exits. One that is closed already only waits for the loop.
void Wakeup::OnEnvironmentEnd(napi_async_cleanup_hook_handle handle, void* data) {
  auto* wakeup = static_cast<Wakeup*>(data);
  wakeup->listener_.Release();
  Close(wakeup->env_, wakeup->id_);
}

// wakeupOpen(listener): the number of a new wake-up of this thread. It keeps no process alive.
Napi::Value Open(const Napi::CallbackInfo& info) {
  Napi::Function listener;
  if (!ReadFunction(info, 0, "listener", &listener)) return info.Env().Undefined();
  int32_t id = Wakeup::Open(info.Env(), listener);
  return id == 0 ? info.Env().Undefined() : Napi::Number::New(info.Env(), id);
}

// wakeupSend(wakeup): its listener runs soon, once for any number of calls until then; false when it is closed
Napi::Value Send(const Napi::CallbackInfo& info) {
  int64_t id = 0;
  if (!ReadInteger(info, 0, "wakeup", 0, INT_MAX, &id)) return info.Env().Undefined();
  return Napi::Boolean::New(info.Env(), Wakeup::Send(static_cast<int32_t>(id)));
}

// wakeupClose(wakeup): the listener runs no more
Napi::Value Close(const Napi::CallbackInfo& info) {
  int64_t id = 0;
  if (!ReadInteger(info, 0, "wakeup", 0, INT_MAX, &id)) return info.Env().Undefined();
  if (!Wakeup::Close(info.Env(), static_cast<int32_t>(id))) {
    ThrowState(info.Env(), "ERR_WAKEUP_CLOSED", "the wake-up is closed, or belongs to another thread");
  }
  return info.Env().Undefined();
}

}  // namespace

void InitWakeup(Napi::Env env, Napi::Object exports) {
  exports.Set("wakeupOpen", Napi::Function::New<Open>(env, "wakeupOpen"));
  exports.Set("wakeupSend", Napi::Function::New<Send>(env, "wakeupSend"));
  exports.Set("wakeupClose", Napi::Function::New<Close>(env, "wakeupClose"));
}

}  // namespace uring
