#include "ring/mapping.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace uring {

namespace {

constexpr uint64_t kCancelData = ~(kGivesDescriptor);
constexpr int64_t kDrainMillisMax = 3000;
constexpr int64_t kDrainStepNanos = 20'000'000;

uint32_t Acquire(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void Release(uint32_t* word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

int64_t NowMillis() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000} + now.tv_nsec / 1'000'000;
}

void* MapShared(int descriptor, size_t bytes, int64_t offset) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, offset);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

int Mapping::Open(uint32_t wanted, uint32_t completion_entries, const char** step) {
  constexpr uint32_t kNeeded =
      kSetupCompletionEntries | kSetupClamp | kSetupSubmitAll | kSetupCooperativeTaskRun | kSetupTaskRunFlag;
  *step = "io_uring_setup";
  int result = 0;
  // The last one came with Linux 6.0, the others with 5.19. Multishot accept, which nothing else announces, is as old.
  for (uint32_t flags : {kNeeded | kSetupSingleIssuer, kNeeded}) {
    parameters = SetupParameters{};
    parameters.flags = flags;
    parameters.completion_entries = completion_entries;
    result = Setup(wanted, &parameters);
    if (result != -EINVAL) break;
  }
  if (result < 0) return -result;
  descriptor = result;
  constexpr uint32_t kFeatures =
      kFeatureSingleMap | kFeatureNoDrop | kFeatureSubmitStable | kFeatureExtendedArgument;
  int error = (parameters.features & kFeatures) == kFeatures ? Map(step) : EINVAL;
  if (error != 0) Unmap();
  return error;
}

int Mapping::Map(const char** step) {
  *step = "mmap";
  rings_bytes = std::max(parameters.submission.array + parameters.submission_entries * sizeof(uint32_t),
                         parameters.completion.entries + parameters.completion_entries * sizeof(CompletionEntry));
  entries_bytes = parameters.submission_entries * sizeof(SubmissionEntry);
  rings = static_cast<uint8_t*>(MapShared(descriptor, rings_bytes, kMapRings));
  if (rings == nullptr) return errno;
  entries = static_cast<SubmissionEntry*>(MapShared(descriptor, entries_bytes, kMapEntries));
  if (entries == nullptr) return errno;
  state_bytes = kStateWords * sizeof(uint32_t);
  void* memory = mmap(nullptr, state_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  state = static_cast<uint32_t*>(memory);
  // Entry n of the ring of indexes names entry n, for ever.
  for (uint32_t at = 0; at < parameters.submission_entries; at++) Word(parameters.submission.array)[at] = at;
  // An entry that never worked would only be found under load: try one now. A filter may allow the setup alone.
  *step = "io_uring_enter";
  int result = Enter(descriptor, 0, 0, kEnterGetEvents, nullptr, 0);
  return result < 0 ? -result : 0;
}

uint32_t Mapping::Pending() const {
  return *Word(parameters.submission.tail) - Acquire(Word(parameters.submission.head));
}

bool Mapping::HasCompletions() const {
  return *Word(parameters.completion.head) != Acquire(Word(parameters.completion.tail));
}

bool Mapping::NeedsKernel() const {
  return (Acquire(Word(parameters.submission.flags)) & (kRingOverflow | kRingTaskRun)) != 0;
}

int Mapping::Submit(uint32_t* submitted) {
  *submitted = 0;
  for (;;) {
    uint32_t pending = std::min(Pending(), parameters.submission_entries);
    int result = Enter(descriptor, pending, 0, kEnterGetEvents, nullptr, 0);
    if (result == -EINTR) continue;
    if (result < 0) return -result;
    *submitted += static_cast<uint32_t>(result);
    // Fewer: the kernel stopped behind one that it could not even begin, and has reported it.
    if (static_cast<uint32_t>(result) == pending || result == 0) return 0;
  }
}

int64_t Mapping::Close() {
  if (!IsOpen()) return 0;
  int64_t left = Drain();
  Unmap();
  return left;
}

// Takes the completions that are there: how many operations they end.
int64_t Mapping::Reap() {
  uint32_t* head = Word(parameters.completion.head);
  uint32_t tail = Acquire(Word(parameters.completion.tail));
  uint32_t mask = *Word(parameters.completion.ring_mask);
  auto* completions = reinterpret_cast<CompletionEntry*>(rings + parameters.completion.entries);
  int64_t ended = 0;
  for (uint32_t at = *head; at != tail; at++) {
    const CompletionEntry& completion = completions[at & mask];
    if (completion.user_data == kCancelData) continue;
    if ((completion.user_data & kGivesDescriptor) != 0 && completion.result >= 0) close(completion.result);
    if ((completion.flags & kCompletionMore) == 0) ended++;
  }
  Release(head, tail);
  return ended;
}

void Mapping::QueueCancel() {
  uint32_t* tail = Word(parameters.submission.tail);
  SubmissionEntry& entry = entries[*tail & *Word(parameters.submission.ring_mask)];
  std::memset(&entry, 0, sizeof(entry));
  entry.opcode = kOperationAsyncCancel;
  entry.descriptor = -1;
  entry.operation_flags = kCancelAll | kCancelAny;
  entry.user_data = kCancelData;
  Release(tail, *tail + 1);
}

int64_t Mapping::Drain() {
  // What the kernel has not seen never starts.
  uint32_t unseen = Pending();
  Release(Word(parameters.submission.tail), Acquire(Word(parameters.submission.head)));
  int64_t left = int64_t{state[kInFlight]} - unseen - state[kStaged];
  left -= Reap();
  int64_t deadline = NowMillis() + kDrainMillisMax;
  while (left > 0 && NowMillis() < deadline) {
    QueueCancel();
    int64_t timeout[2] = {0, kDrainStepNanos};
    EnterArgument argument{};
    argument.timeout = reinterpret_cast<uint64_t>(timeout);
    int result =
        Enter(descriptor, 1, 2, kEnterGetEvents | kEnterExtendedArgument, &argument, sizeof(argument));
    left -= Reap();
    if (result < 0 && result != -ETIME && result != -EINTR && result != -EBUSY && result != -EAGAIN) break;
  }
  return std::max<int64_t>(left, 0);
}

void Mapping::Unmap() {
  if (rings != nullptr) munmap(rings, rings_bytes);
  if (entries != nullptr) munmap(entries, entries_bytes);
  if (state != nullptr) munmap(state, state_bytes);
  rings = nullptr;
  entries = nullptr;
  state = nullptr;
  close(descriptor);
  descriptor = -1;
}

}  // namespace uring
