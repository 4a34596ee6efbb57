// One ring of the kernel and its memory, without an event loop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/kernel.h"

namespace uring {

// Words that JavaScript and the addon share, in memory of their own.
enum StateWord : uint32_t {
  kInFlight = 0,    // operations whose last completion JavaScript has not seen; written by JavaScript
  kStaged = 1,      // entries that found no room in the submission queue; written by JavaScript
  kReferenced = 2,  // 1 while the ring keeps the event loop alive; written by the addon
  kWanted = 3,      // 1: call JavaScript before the next submission; written by JavaScript
  kStateWords = 16,
};

// Results of operations with this bit in their user data are descriptors that somebody has to close.
constexpr uint64_t kGivesDescriptor = uint64_t{1} << 63;

class Mapping {
 public:
  // 0, or an errno with the name of the system call that failed.
  int Open(uint32_t entries, uint32_t completion_entries, const char** step);
  // Cancels what is in flight, waits for it within a limit, and unmaps. Returns how many operations did not end.
  int64_t Close();

  bool IsOpen() const { return descriptor >= 0; }
  uint32_t Pending() const;
  bool HasCompletions() const;
  bool NeedsKernel() const;
  // Submits everything that is queued and runs completion work. 0 or an errno.
  int Submit(uint32_t* submitted);

  int descriptor = -1;
  SetupParameters parameters{};
  uint8_t* rings = nullptr;
  size_t rings_bytes = 0;
  SubmissionEntry* entries = nullptr;
  size_t entries_bytes = 0;
  uint32_t* state = nullptr;
  size_t state_bytes = 0;

 private:
  uint32_t* Word(uint32_t offset) const { return reinterpret_cast<uint32_t*>(rings + offset); }
  int Map(const char** step);
  void Unmap();
  int64_t Drain();
  int64_t Reap();
  void QueueCancel();
};

}  // namespace uring
