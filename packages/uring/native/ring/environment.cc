#include "ring/environment.h"

namespace uring {

void Environment::Create(Napi::Env env) { env.SetInstanceData(new Environment()); }

Environment* Environment::Of(Napi::Env env) { return env.GetInstanceData<Environment>(); }

int32_t Environment::Add(LoopRing* ring) {
  int32_t id = next_id_++;
  rings_.emplace(id, ring);
  return id;
}

void Environment::Remove(int32_t id) { rings_.erase(id); }

LoopRing* Environment::Find(int32_t id) const {
  auto found = rings_.find(id);
  return found == rings_.end() ? nullptr : found->second;
}

}  // namespace uring
