#include "xxh3_kernel.h"

#include <cstring>

namespace iggy::hash {

const Kernel* const* allKernels() {
  static const Kernel* const kernels[] = {
#if defined(__x86_64__)
      &AVX512_KERNEL, &AVX2_KERNEL, &SSE2_KERNEL,
#elif defined(__aarch64__)
      &NEON_KERNEL,
#endif
      &SCALAR_KERNEL, nullptr};
  return kernels;
}

const Kernel& bestKernel() {
  static const Kernel* const best = [] {
    const Kernel* const* kernel = allKernels();
    while (!(*kernel)->isSupported()) kernel++;
    return *kernel;
  }();
  return *best;
}

const Kernel* kernelNamed(const char* name, size_t length) {
  for (const Kernel* const* kernel = allKernels(); *kernel != nullptr; kernel++) {
    const bool isNamed = std::strlen((*kernel)->name) == length && std::memcmp((*kernel)->name, name, length) == 0;
    if (isNamed) return (*kernel)->isSupported() ? *kernel : nullptr;
  }
  return nullptr;
}

}  // namespace iggy::hash
