#pragma once

#include <cstddef>
#include <cstdint>

namespace iggy::hash {

/**
 * The inner loops of one instruction set. Eight accumulators of 64 bits; input, secret and accumulators need no
 * alignment.
 */
struct Kernel {
  const char* name;
  bool (*isSupported)();
  /** Consumes whole blocks. */
  void (*consumeBlocks)(uint64_t* accumulators, const uint8_t* input, size_t blocks, const uint8_t* secret);
  /**
   * Consumes the last 1 to BLOCK_SIZE bytes of an input longer than SHORT_MAX. The 64 bytes before the end are read
   * again as the last stripe, so they must be there in memory even when `remaining` is smaller.
   */
  void (*consumeTail)(uint64_t* accumulators, const uint8_t* input, size_t remaining, const uint8_t* secret);
};

extern const Kernel SCALAR_KERNEL;
#if defined(__x86_64__)
extern const Kernel SSE2_KERNEL;
extern const Kernel AVX2_KERNEL;
extern const Kernel AVX512_KERNEL;
#elif defined(__aarch64__)
extern const Kernel NEON_KERNEL;
#endif

/** Every kernel of this build, the fastest first; the list ends with nullptr. The last one runs anywhere. */
const Kernel* const* allKernels();

/** The fastest kernel that this processor runs. */
const Kernel& bestKernel();

/** The kernel of that name, or nullptr when this build or this processor has none. */
const Kernel* kernelNamed(const char* name, size_t length);

}  // namespace iggy::hash
