#include <gtest/gtest.h>

#include "core/error.hpp"
#include "support/linear_system_stencil_cases.hpp"

namespace gridstride::test {
namespace {

TEST(LinearSystemStencil, FindsWhatRowsHave) { expect_solutions_of_rows(cpu); }

TEST(LinearSystemStencil, ResidualsAreAsTold) {
  expect_residuals_as_told(cpu);
  expect_residuals_beyond_rounding(cpu);
}

TEST(LinearSystemStencil, AsManyIterationsOnAnyGrid) { expect_iterations_of_any_size(cpu); }

TEST(LinearSystemStencil, UnitsOfTheRightSideDoNotMatter) { expect_any_scale_of_stencils(cpu); }

TEST(LinearSystemStencil, WhatDoesNotConvergeFallsShort) {
  OneShot const done(
      sparse_yaml("{stencil: 3-point, points: [400]}", "{expression: j + 1, count: 2}",
                  "method: cg, preconditioner: none, iterations: 5"),
      cpu);
  EXPECT_NE(
      done.simulation->shortfall().find("right-hand side 0: cg did not converge: the residual is"),
      std::string::npos);
  EXPECT_NE(done.simulation->shortfall().find("after 5 iterations"), std::string::npos);
  EXPECT_NE(done.simulation->shortfall().find("(right-hand side 1 did not converge either)"),
            std::string::npos);
  auto const tables = done.simulation->tables();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].rows(), 2 * 6);
}

TEST(LinearSystemStencil, RowsAreMadeWhereSomethingAsksForThem) {
  auto const with = [](std::string const& more) {
    OneShot const done(sparse_yaml("{stencil: 5-point, points: [9, 7]}", "i", more), cpu);
    return done.simulation->chosen().back().name;
  };
  for (std::string const more :
       {"method: auto", "method: cg, preconditioner: none", "preconditioner: jacobi",
        "method: minres", "preconditioner: multigrid"})
    EXPECT_EQ(with(more), "lattice") << more;
  for (std::string const more : {"method: amg_cg", "method: cg, preconditioner: chebyshev",
                                 "preconditioner: ic0", "method: gmres, preconditioner: ilu0"})
    EXPECT_EQ(with(more), "sparse") << more;
}

TEST(LinearSystemStencil, WhatDoesNotGoWithAStencilIsRefused) {
  auto const problems = [](std::string const& matrix, std::string const& parameters,
                           std::string const& kernels = "") {
    auto const config = config_of(sparse_yaml(matrix, "1", parameters) +
                                  (kernels.empty() ? "" : "kernels: {" + kernels + "}\n"));
    std::string all;
    for (auto const& problem : entry_of(config).problems(config, inputs_of(config)))
      all += problem.path + ": " + problem.message + "\n";
    return all;
  };
  std::string const line = "{stencil: 3-point, points: [9]}";
  EXPECT_EQ(problems(line, "preconditioner: multigrid", "lattice: reference"), "");
  EXPECT_EQ(problems(line, "method: minres, preconditioner: multigrid"),
            "parameters.preconditioner: multigrid is not quite symmetric, as minres needs it "
            "(jacobi is; cg, bicgstab and gmres take multigrid)\n");
  EXPECT_EQ(problems(line, "preconditioner: multigrid", "sparse: threads"),
            "kernels.sparse: is for matrices with rows (parameters.preconditioner: multigrid goes "
            "by a stencil without any)\n");
  EXPECT_EQ(problems(line, "method: amg_cg, preconditioner: multigrid"),
            "parameters.preconditioner: amg_cg is cg with a preconditioner of its own (method: cg "
            "takes another)\n");
  EXPECT_EQ(problems(line, "method: lu, preconditioner: multigrid", "lattice: threads"),
            "parameters.preconditioner: is for iterations (this system is solved by "
            "factorization)\n"
            "kernels.lattice: is for iterations (this system is solved by factorization)\n");
  EXPECT_EQ(problems("{stencil: 3-point, points: [16777215]}", "preconditioner: multigrid"),
            "parameters.preconditioner: multigrid takes axes of at most 16777214 points "
            "(preconditioner: jacobi)\n");
  EXPECT_EQ(problems("{stencil: 3-point, points: [16777215]}", "preconditioner: auto"), "");
  MatrixFile const file(3, [](int i, int j) { return i == j ? 2 : 0; });
  EXPECT_EQ(problems(file.yaml(), "preconditioner: multigrid"),
            "parameters.preconditioner: multigrid goes by the grid of a generated matrix, "
            "{stencil: …, points: …} (method: amg_cg makes levels of any matrix like those of "
            "diffusion)\n");
  for (auto const& [matrix, more] :
       {std::pair(file.yaml(), "method: cg"), std::pair(line, "preconditioner: chebyshev")})
    EXPECT_EQ(problems(matrix, more, "lattice: threads"),
              "kernels.lattice: 'threads' is for products with a stencil of which nothing is "
              "stored (a generated matrix, preconditioner: auto, multigrid, jacobi or none, and "
              "no kernels.sparse)\n");
}

TEST(LinearSystemStencil, ValuesHaveToBeFinite) {
  try {
    solve_system(sparse_yaml("{stencil: 3-point, points: 9}",
                             "{expression: \"1/(i - 3)*(j + 1)\", count: 2}", "method: auto"),
                 cpu);
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what())
                  .find("parameters.rhs: is not finite at i = 3, j = 0 (all values have to be "
                        "finite)"),
              std::string::npos)
        << error.what();
  }
}

/// No rows, and less of the host than vectors of them took.
TEST(LinearSystemStencil, MemoryIsThatOfVectors) {
  auto const forecast = [](std::string const& precision, std::string const& more) {
    auto const config =
        config_of(sparse_yaml("{stencil: 27-point, points: [50, 50, 50]}", "1", more, precision));
    return memory_of(entry_of(config), config, inputs_of(config), cpu);
  };
  std::size_t const n = 50 * 50 * 50;
  for (std::string const precision : {"float64", "float32"}) {
    std::size_t const element = precision == "float64" ? 8 : 4;
    auto const plain = forecast(precision, "preconditioner: none");
    EXPECT_EQ(plain.array_bytes, n * element);
    // b in float64; r, the method's 3, and x twice.
    EXPECT_GE(plain.bytes(), n * (8 + 6 * element));
    EXPECT_LE(plain.bytes(), n * 8 * 8);
    // Levels of 8/7 of u, f and r, at least in float32.
    EXPECT_GE(forecast(precision, "method: cg").bytes(), plain.bytes() + 3 * n * 4);
    EXPECT_EQ(plain.host_bytes, 0);
  }
}

}  // namespace
}  // namespace gridstride::test
