#include "ring/kernel.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

// The same numbers on every architecture; C libraries of build machines may not know them.
#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup 425
#endif
#ifndef __NR_io_uring_enter
#define __NR_io_uring_enter 426
#endif

namespace uring {

int Setup(uint32_t entries, SetupParameters* parameters) {
  long result = syscall(__NR_io_uring_setup, entries, parameters);
  return result < 0 ? -errno : static_cast<int>(result);
}

int Enter(int descriptor, uint32_t submit, uint32_t wait, uint32_t flags, const void* argument, uint64_t bytes) {
  long result = syscall(__NR_io_uring_enter, descriptor, submit, wait, flags, argument, bytes);
  return result < 0 ? -errno : static_cast<int>(result);
}

}  // namespace uring
