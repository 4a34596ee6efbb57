#include "ring/loop_ring.h"

#include <cerrno>

#include "errors.h"
#include "ring/environment.h"

namespace uring {

namespace {

// The kernel had no memory for a submission: when to ask again.
constexpr uint64_t kRetryMillis = 1;
// Submissions in one turn for entries that found no room before; the next turn goes on.
constexpr int kRoundsPerTurn = 8;

}  // namespace

LoopRing* LoopRing::Open(Environment* environment, Napi::Env env, uint32_t entries, uint32_t completion_entries,
                         Napi::Function turn) {
  auto* ring = new LoopRing(environment, env);
  const char* step = "io_uring_setup";
  int error = ring->mapping.Open(entries, completion_entries, &step);
  if (error != 0) {
    ThrowSystem(env, error, step);
    delete ring;
    return nullptr;
  }
  ring->id = environment->Add(ring);
  if (ring->Attach(turn)) return ring;
  ThrowState(env, "ERR_RING_LOOP", "the ring can't be attached to the event loop");
  ring->Close();
  return nullptr;
}

bool LoopRing::Attach(Napi::Function turn) {
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env_, &loop) != napi_ok) return false;
  prepare_.data = poll_.data = retry_.data = this;
  if (uv_poll_init(loop, &poll_, mapping.descriptor) != 0) return false;
  open_handles_++;
  uv_unref(reinterpret_cast<uv_handle_t*>(&poll_));
  if (uv_prepare_init(loop, &prepare_) != 0) return false;
  open_handles_++;
  uv_unref(reinterpret_cast<uv_handle_t*>(&prepare_));
  if (uv_timer_init(loop, &retry_) != 0) return false;
  open_handles_++;
  uv_unref(reinterpret_cast<uv_handle_t*>(&retry_));
  if (uv_prepare_start(&prepare_, OnPrepare) != 0) return false;
  if (uv_poll_start(&poll_, UV_READABLE, OnReadable) != 0) return false;
  return turn_.Set(env_, turn, "iggy:uring") && Expose(mapping.rings, mapping.rings_bytes, &rings_) &&
         Expose(mapping.entries, mapping.entries_bytes, &entries_) &&
         Expose(mapping.state, mapping.state_bytes, &state_) &&
         napi_add_async_cleanup_hook(env_, OnEnvironmentEnd, this, &hook_) == napi_ok;
}

bool LoopRing::Expose(void* memory, size_t bytes, napi_ref* reference) {
  napi_value buffer = nullptr;
  return napi_create_external_arraybuffer(env_, memory, bytes, nullptr, nullptr, &buffer) == napi_ok &&
         napi_create_reference(env_, buffer, 1, reference) == napi_ok;
}

Napi::Value LoopRing::Description() const {
  Napi::Env env(env_);
  Napi::Object result = Napi::Object::New(env);
  auto set = [&](const char* name, uint32_t value) { result.Set(name, Napi::Number::New(env, value)); };
  auto share = [&](const char* name, napi_ref reference) {
    napi_value buffer = nullptr;
    if (napi_get_reference_value(env_, reference, &buffer) == napi_ok) result.Set(name, buffer);
  };
  const SetupParameters& parameters = mapping.parameters;
  share("rings", rings_);
  share("entries", entries_);
  share("state", state_);
  set("id", static_cast<uint32_t>(id));
  set("flags", parameters.flags);
  set("features", parameters.features);
  set("submissionEntries", parameters.submission_entries);
  set("submissionHead", parameters.submission.head);
  set("submissionTail", parameters.submission.tail);
  set("submissionFlags", parameters.submission.flags);
  set("completionEntries", parameters.completion_entries);
  set("completionHead", parameters.completion.head);
  set("completionTail", parameters.completion.tail);
  set("completions", parameters.completion.entries);
  return result;
}

void LoopRing::Reference() {
  mapping.state[kReferenced] = 1;
  uv_ref(reinterpret_cast<uv_handle_t*>(&poll_));
}

// Without work the ring does not keep the loop alive.
void LoopRing::Settle() {
  if (!mapping.IsOpen() || mapping.state[kReferenced] == 0 || mapping.state[kInFlight] != 0) return;
  mapping.state[kReferenced] = 0;
  uv_unref(reinterpret_cast<uv_handle_t*>(&poll_));
}

// Before the loop waits: everything that JavaScript queued since the last time goes to the kernel at once.
void LoopRing::Turn() {
  if (mapping.IsOpen() && mapping.state[kWanted] != 0) turn_.Call(true);
  for (int round = 0; mapping.IsOpen(); round++) {
    if (mapping.Pending() > 0 || mapping.NeedsKernel()) {
      uint32_t submitted = 0;
      int error = mapping.Submit(&submitted);
      // EBUSY: completions have to be taken first, which the loop will report. Memory comes back unannounced.
      if (error != 0 && error != EBUSY) uv_timer_start(&retry_, OnRetry, kRetryMillis, 0);
    }
    if (mapping.state[kStaged] == 0) break;
    if (round == kRoundsPerTurn || mapping.Pending() >= mapping.parameters.submission_entries) {
      uv_timer_start(&retry_, OnRetry, kRetryMillis, 0);
      break;
    }
    turn_.Call(true);
  }
  Settle();
}

void LoopRing::OnPrepare(uv_prepare_t* handle) { static_cast<LoopRing*>(handle->data)->Turn(); }

void LoopRing::OnReadable(uv_poll_t* handle, int status, int events) {
  auto* ring = static_cast<LoopRing*>(handle->data);
  if (!ring->mapping.IsOpen()) return;
  ring->turn_.Call(false);
  ring->Settle();
}

// Only there to end the wait of the loop; the turn that follows submits.
void LoopRing::OnRetry(uv_timer_t* handle) {}

int64_t LoopRing::Close() {
  if (!mapping.IsOpen()) return 0;
  environment_->Remove(id);
  ReleaseViews(true);
  return CloseHandles();
}

// The views of JavaScript become empty before the memory goes.
void LoopRing::ReleaseViews(bool detaches) {
  napi_handle_scope scope = nullptr;
  napi_open_handle_scope(env_, &scope);
  for (napi_ref* reference : {&rings_, &entries_, &state_}) {
    if (*reference == nullptr) continue;
    napi_value buffer = nullptr;
    if (detaches && napi_get_reference_value(env_, *reference, &buffer) == napi_ok && buffer != nullptr) {
      napi_detach_arraybuffer(env_, buffer);
    }
    napi_delete_reference(env_, *reference);
    *reference = nullptr;
  }
  napi_close_handle_scope(env_, scope);
}

// The loop stops to watch the descriptor before it is closed. `this` may be gone afterwards.
int64_t LoopRing::CloseHandles() {
  int handles = open_handles_;
  if (handles == 0) {
    // Not even the first one came to be.
    int64_t left = mapping.Close();
    delete this;
    return left;
  }
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_), OnClosed);
  if (handles > 1) uv_close(reinterpret_cast<uv_handle_t*>(&prepare_), OnClosed);
  if (handles > 2) uv_close(reinterpret_cast<uv_handle_t*>(&retry_), OnClosed);
  return mapping.Close();
}

void LoopRing::OnClosed(uv_handle_t* handle) { static_cast<LoopRing*>(handle->data)->HandleClosed(); }

void LoopRing::HandleClosed() {
  if (--open_handles_ > 0) return;
  // Not before: the callback may be the one that closes the ring.
  turn_.Release();
  if (hook_ != nullptr) napi_remove_async_cleanup_hook(hook_);
  delete this;
}

// A worker is stopped, or the process exits: the same, but no JavaScript looks at the views any more.
void LoopRing::OnEnvironmentEnd(napi_async_cleanup_hook_handle handle, void* data) {
  auto* ring = static_cast<LoopRing*>(data);
  // Closed already, and only waiting for the loop.
  if (!ring->mapping.IsOpen()) return;
  ring->ReleaseViews(false);
  ring->turn_.Release();
  ring->CloseHandles();
}

}  // namespace uring
