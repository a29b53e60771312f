#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/error.hpp"
#include "core/vendor_library.hpp"
#include "kernels/support/openblas.hpp"

namespace gridstride {
namespace {

TEST(VendorLibrary, FindsFunctions) {
  VendorLibrary const library("libm.so.6");
  ASSERT_TRUE(library.available()) << library.reason();
  EXPECT_EQ(library.reason(), "");
  EXPECT_EQ(library.function<double(double)>("fabs")(-2.5), 2.5);
}

/// What the error says that `call` throws.
template <class Call>
std::string error_of(Call const& call) {
  try {
    call();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

TEST(VendorLibrary, SaysWhatIsMissing) {
  VendorLibrary const missing("libgridstride_has_no_such.so.1");
  EXPECT_FALSE(missing.available());
  auto const message = error_of([&] { missing.function<void()>("anything"); });
  EXPECT_EQ(message, "libgridstride_has_no_such.so.1 cannot be used (" + missing.reason() + ")");
  EXPECT_NE(message.find("No such file"), std::string::npos) << message;

  VendorLibrary const library("libm.so.6");
  auto const function = error_of([&] { library.function<void()>("no_such_function"); });
  EXPECT_NE(function.find("libm.so.6 has no function no_such_function"), std::string::npos)
      << function;
}

/// Before the program may set it.
bool const core_was_told = std::getenv("OPENBLAS_CORETYPE") != nullptr;

// OpenBLAS takes kernels without AVX, several times slower, for processors younger than itself.
TEST(OpenBlas, TakesTheKernelsThatTheProcessorCanRun) {
#ifdef __x86_64__
  if (!openblas().available()) GTEST_SKIP() << openblas().reason();
  if (core_was_told || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "OPENBLAS_CORETYPE or the processor leave nothing to choose";
  for (auto const* old : {"Prescott", "Nehalem", "Sandybridge"}) EXPECT_NE(openblas_core(), old);
#endif
}

}  // namespace
}  // namespace gridstride
