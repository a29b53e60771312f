#pragma once

#include <cstdint>

namespace gridstride {

/// While one exists, the arithmetic of its thread takes subnormal numbers (below 1.2e-38 in float32
/// and 2.2e-308 in float64) for zero, and gives zero where one would come out. Processors do not
/// have them in their fast paths: an operation with one takes some hundred clocks. For loops whose
/// values die away by powers, and whose results do not depend on what is so small. Loads, stores
/// and comparisons for other purposes are unchanged. It has an effect on x86-64 and on 64-bit ARM.
class FlushSubnormals {
 public:
#if defined(__x86_64__)
  using Register = std::uint32_t;
  static constexpr Register flush = 0x8040;  // MXCSR: flush to zero, and denormals are zeros
#elif defined(__aarch64__)
  using Register = std::uint64_t;
  static constexpr Register flush = Register{1} << 24;  // FPCR: both
#else
  using Register = std::uint32_t;
  static constexpr Register flush = 0;
#endif
  static constexpr bool has_effect = flush != 0;

  FlushSubnormals() : before_(control()) { set_control(before_ | flush); }
  ~FlushSubnormals() { set_control(before_); }
  FlushSubnormals(FlushSubnormals const&) = delete;
  FlushSubnormals& operator=(FlushSubnormals const&) = delete;

 private:
  // The compiler keeps accesses to memory on their side of these.
  static Register control() {
    Register value = 0;
#if defined(__x86_64__)
    asm volatile("stmxcsr %0" : "=m"(value) : : "memory");
#elif defined(__aarch64__)
    asm volatile("mrs %0, fpcr" : "=r"(value) : : "memory");
#endif
    return value;
  }
  static void set_control([[maybe_unused]] Register value) {
#if defined(__x86_64__)
    asm volatile("ldmxcsr %0" : : "m"(value) : "memory");
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(value) : "memory");
#endif
  }

  Register before_;
};

}  // namespace gridstride
