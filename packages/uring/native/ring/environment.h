// The rings of one environment. JavaScript names them by number, so that no foreign object is taken for one.
#pragma once

#include <napi.h>

#include <cstdint>
#include <unordered_map>

namespace uring {

class LoopRing;

class Environment {
 public:
  static void Create(Napi::Env env);
  static Environment* Of(Napi::Env env);

  int32_t Add(LoopRing* ring);
  void Remove(int32_t id);
  LoopRing* Find(int32_t id) const;

 private:
  std::unordered_map<int32_t, LoopRing*> rings_;
  int32_t next_id_ = 1;
};

}  // namespace uring
