// What this addon uses of the kernel's io_uring interface. Declared here, as the headers of a build machine may be older
// than the kernel that the addon runs on.
#pragma once

#include <cstdint>

namespace uring {

struct SubmissionOffsets {
  uint32_t head, tail, ring_mask, ring_entries, flags, dropped, array, reserved;
  uint64_t user_address;
};

struct CompletionOffsets {
  uint32_t head, tail, ring_mask, ring_entries, overflow, entries, flags, reserved;
  uint64_t user_address;
};

struct SetupParameters {
  uint32_t submission_entries, completion_entries, flags, cpu, idle, features, workers_descriptor, reserved[3];
  SubmissionOffsets submission;
  CompletionOffsets completion;
};
static_assert(sizeof(SetupParameters) == 120, "layout of io_uring_params");

struct SubmissionEntry {
  uint8_t opcode, flags;
  uint16_t priority;
  int32_t descriptor;
  uint64_t offset, address;
  uint32_t length, operation_flags;
  uint64_t user_data;
  uint64_t rest[3];
};
static_assert(sizeof(SubmissionEntry) == 64, "layout of io_uring_sqe");

struct CompletionEntry {
  uint64_t user_data;
  int32_t result;
  uint32_t flags;
};
static_assert(sizeof(CompletionEntry) == 16, "layout of io_uring_cqe");

struct EnterArgument {
  uint64_t signal_mask;
  uint32_t signal_mask_bytes, reserved;
  uint64_t timeout;
};

constexpr uint32_t kSetupCompletionEntries = 1u << 3;
constexpr uint32_t kSetupClamp = 1u << 4;
constexpr uint32_t kSetupSubmitAll = 1u << 7;
constexpr uint32_t kSetupCooperativeTaskRun = 1u << 8;
constexpr uint32_t kSetupTaskRunFlag = 1u << 9;
constexpr uint32_t kSetupSingleIssuer = 1u << 12;

constexpr uint32_t kFeatureSingleMap = 1u << 0;
constexpr uint32_t kFeatureNoDrop = 1u << 1;
constexpr uint32_t kFeatureSubmitStable = 1u << 2;
constexpr uint32_t kFeatureExtendedArgument = 1u << 8;

constexpr uint32_t kEnterGetEvents = 1u << 0;
constexpr uint32_t kEnterExtendedArgument = 1u << 3;

constexpr uint32_t kRingOverflow = 1u << 1;
constexpr uint32_t kRingTaskRun = 1u << 2;

constexpr uint32_t kCompletionMore = 1u << 1;

constexpr uint8_t kOperationAsyncCancel = 14;
constexpr uint32_t kCancelAll = 1u << 0;
constexpr uint32_t kCancelAny = 1u << 2;

constexpr int64_t kMapRings = 0;
constexpr int64_t kMapEntries = 0x10000000;

// System calls; a negative errno on failure.
int Setup(uint32_t entries, SetupParameters* parameters);
int Enter(int descriptor, uint32_t submit, uint32_t wait, uint32_t flags, const void* argument, uint64_t bytes);

}  // namespace uring
