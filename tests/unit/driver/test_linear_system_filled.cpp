#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "simulations/linear_system_filled.hpp"
#include "support/linear_system_filled_cases.hpp"

namespace gridstride::test {
namespace {

TEST(LinearSystemFilled, AutoFactorizesWhereNoIterationConverges) { expect_last_resort(cpu); }

TEST(LinearSystemFilled, FactorsServeAllRightHandSides) { expect_factors_serve_all(cpu); }

TEST(LinearSystemFilled, SingularOnesEndAsBefore) { expect_singular_as_before(cpu); }

TEST(LinearSystemFilled, EveryMethodOfAutoGivesWay) {
  constexpr int n = 40;
  auto const way_of = [](double diagonal) {
    MatrixFile const matrix(n, [&](int i, int j) {
      return i == j ? diagonal : std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    auto const solved =
        solve_system(sparse_yaml(matrix.yaml(), "i*i", "method: auto, iterations: 3"), cpu);
    EXPECT_LE(solved.diagnostic("relative_residual"), 1e-12);
    EXPECT_EQ(solved.diagnostic("iterations"), 4);
    return solved.method + ": " + solved.fallbacks.back();
  };
  EXPECT_EQ(way_of(2.0).find("lu: method: cg gave way to lu (the residual is "), 0u);
  EXPECT_EQ(way_of(0.0).find("lu: method: minres gave way to lu (the residual is "), 0u);
}

TEST(LinearSystemFilled, LargeOnesAreNotFilledUp) {
  int const n = static_cast<int>(linear_system::most_filled_rows) + 1;
  auto const file =
      std::filesystem::temp_directory_path() / fmt::format("gridstride_shift_{}.mtx", ::getpid());
  std::ofstream out(file);
  out << "%%MatrixMarket matrix coordinate pattern general\n" << n << ' ' << n << ' ' << n << '\n';
  for (int i = 1; i <= n; ++i) out << i << ' ' << i % n + 1 << '\n';
  out.close();
  OneShot const done(sparse_yaml("{file: " + file.string() + "}", "i == 0", "method: auto"), cpu);
  std::filesystem::remove(file);
  EXPECT_EQ(done.simulation->shortfall().rfind("gmres did not converge: ", 0), 0u);
}

/// The factors and their pivots; on the host what they are filled up from.
TEST(LinearSystemFilled, MemoryIsThatOfFactorsWhereTheyMayBe) {
  auto const memory = [](int points, std::string const& method) {
    auto const config = config_of(rows_yaml(
        cpu, fmt::format("{{stencil: 3-point, points: {}}}", points), "1", "method: " + method));
    return memory_of(entry_of(config), config, inputs_of(config), cpu);
  };
  auto const most = static_cast<int>(linear_system::most_filled_rows);
  std::size_t const n = 4096, values = n * n * sizeof(double);
  EXPECT_EQ(memory(most, "auto").bytes() - memory(most, "bicgstab").bytes(), values + n * 4);
  EXPECT_EQ(memory(most, "auto").host_bytes - memory(most, "bicgstab").host_bytes, values);
  EXPECT_EQ(memory(most + 1, "auto").bytes(), memory(most + 1, "bicgstab").bytes());
  EXPECT_EQ(memory(most + 1, "auto").host_bytes, memory(most + 1, "bicgstab").host_bytes);
}

}  // namespace
}  // namespace gridstride::test
