#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "simulations/linear_system_iterations.hpp"
#include "support/linear_system_sparse_cases.hpp"

namespace gridstride::test {
namespace {

TEST(LinearSystemSparse, EveryMethodFindsTheParabola) { expect_parabolas(cpu); }

TEST(LinearSystemSparse, SeveralRightHandSides) { expect_several_sides(cpu); }

TEST(LinearSystemSparse, SolutionsAreAsAlone) { expect_solutions_as_alone(cpu); }

TEST(LinearSystemSparse, GroupsAreAsAlone) { expect_groups_as_alone(cpu); }

TEST(LinearSystemSparse, LaterColumnsGiveWay) { expect_later_columns_give_way(cpu); }

TEST(LinearSystemSparse, UnitsOfEitherSideDoNotMatter) { expect_any_scale(cpu); }

TEST(LinearSystemSparse, UnitsOfEquationsAndUnknownsDoNotMatter) { expect_any_units(cpu); }

TEST(LinearSystemSparse, Float32HoldsAnyMatrixButNotAnySolution) { expect_ranges_of_float32(cpu); }

TEST(LinearSystemSparse, AggregationTakesFewIterations) { expect_aggregation(cpu); }

TEST(LinearSystemSparse, PolynomialsTakeFewerIterations) { expect_polynomials(cpu); }

TEST(LinearSystemSparse, PolynomialsNeedASymmetricMatrixWithAPositiveDiagonal) {
  MatrixFile const skew(3, [](int i, int j) { return i == j ? 2 : i < j ? 1 : 0; });
  try {
    solve_system(sparse_yaml(skew.yaml(), "1", "preconditioner: chebyshev"), cpu);
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what())
                  .find("parameters.preconditioner: chebyshev needs a symmetric matrix with a "
                        "positive diagonal"),
              std::string::npos)
        << error.what();
  }
}

TEST(LinearSystemSparse, IncompleteFactorsTakeFewerIterations) { expect_incomplete_factors(cpu); }

TEST(LinearSystemSparse, IncompleteFactorsAreRefusedOrRaisedWhereTheyAreNotThere) {
  auto const refused = [](std::string const& matrix, std::string const& more) {
    try {
      solve_system(sparse_yaml(matrix, "0", more), cpu);
    } catch (ConfigError const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  auto const expect = [&](std::string const& matrix, std::string const& more,
                          std::string const& message) {
    auto const found = refused(matrix, more);
    EXPECT_NE(found.find("parameters.preconditioner: " + message), std::string::npos) << found;
  };
  MatrixFile const skew(3, [](int i, int j) { return i == j ? 2 : i < j ? 1 : 0; });
  MatrixFile const negative(3, [](int i, int j) { return i == j ? 2 - i : 0.5; });
  MatrixFile const empty(3, [](int i, int j) { return i == j && i != 2 ? 1 : 0; });
  std::string const symmetric = "ic0 needs a symmetric matrix with a positive diagonal";
  expect(skew.yaml(), "preconditioner: ic0",
         symmetric + " (ilu0 takes others, for bicgstab and gmres)");
  expect(negative.yaml(), "preconditioner: ic0",
         symmetric + " (here row 1, counted from 0, has none)");
  expect("{stencil: 3-point, points: 9}", "method: minres, preconditioner: ilu0",
         "ilu0 is not symmetric, as minres needs it (ic0 is; bicgstab and gmres take ilu0)");
  expect(empty.yaml(), "preconditioner: ilu0",
         "ilu0 needs an element other than 0 in each row (here row 1, counted from 0, has none)");
  // A turn by a right angle has nothing on its diagonal.
  MatrixFile const turn(2, [](int i, int j) { return j - i; });
  auto const solved =
      solve_system(sparse_yaml(turn.yaml(), "i", "method: gmres, preconditioner: ilu0"), cpu);
  EXPECT_LE(solved.diagnostic("relative_residual"), 1e-8);
  ASSERT_EQ(solved.fallbacks.size(), 1u);
  EXPECT_NE(solved.fallbacks[0].find("ilu0 is of A with "), std::string::npos);
  EXPECT_NE(solved.fallbacks[0].find("(row 0, counted from 0, has no pivot"), std::string::npos);
  // An indefinite matrix is told by cg, whose preconditioner stays definite.
  MatrixFile const indefinite(2, [](int i, int j) { return i == j ? 1 : 3; });
  OneShot const done(sparse_yaml(indefinite.yaml(), "1 - 2*i", "method: cg, preconditioner: ic0"),
                     cpu);
  EXPECT_NE(done.simulation->shortfall().find("the matrix is not positive definite"),
            std::string::npos)
      << done.simulation->shortfall();
}

TEST(LinearSystemSparse, BlocksTakeFewerIterations) { expect_blocks(cpu); }

TEST(LinearSystemSparse, BlocksAreRefusedWhereOneHasNoInverse) {
  auto const refused = [](std::string const& matrix, std::string const& more) {
    try {
      solve_system(sparse_yaml(matrix, "1", more), cpu);
    } catch (ConfigError const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  auto const expect = [&](std::string const& found, std::string const& message) {
    EXPECT_NE(found.find(message), std::string::npos) << found;
  };
  // Rows 3 and 4 of the first, counted from 0, are the same within their block.
  MatrixFile const singular(7, [](int i, int j) {
    if (i == 1 && j == 7) return 1;
    return i == j || (i == 4 && j == 5) || (i == 5 && j == 4) ? 2 : 0;
  });
  std::string const blocks = "preconditioner: block_jacobi, block_size: ";
  expect(refused(singular.yaml(), "method: gmres, " + blocks + "5"),
         "parameters.preconditioner: block_jacobi needs regular blocks (here that of rows 0 to 4, "
         "counted from 0, is singular; another block_size, or preconditioner: none)");
  EXPECT_EQ(refused(singular.yaml(), "method: gmres, " + blocks + "4"), "");
  MatrixFile const indefinite(6, [](int i, int j) { return i == j ? 1 : i + j == 7 ? 3 : 0; });
  expect(refused(indefinite.yaml(), "method: minres, " + blocks + "2"),
         "block_jacobi needs positive definite blocks for cg and minres (here that of rows 2 to 3, "
         "counted from 0, is not; bicgstab and gmres take all that are not singular)");
  EXPECT_EQ(refused(indefinite.yaml(), "method: gmres, " + blocks + "2"), "");
}

TEST(LinearSystemSparse, AggregationNeedsASymmetricMatrixWithAPositiveDiagonal) {
  auto const refused = [](std::string const& matrix) {
    try {
      solve_system(sparse_yaml(matrix, "1", "method: amg_cg", "float32"), cpu);
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  MatrixFile const skew(3, [](int i, int j) { return i == j ? 2 : i < j ? 1 : 0; });
  EXPECT_NE(refused(skew.yaml())
                .find("parameters.method: amg_cg needs a symmetric matrix (here A(0, "
                      "1) = 1 and A(1, 0) = 0;"),
            std::string::npos);
  MatrixFile const negative(3, [](int i, int j) { return i == j ? 2 - i : 0.5; });
  EXPECT_NE(refused(negative.yaml()).find("amg_cg needs a positive diagonal (here A(1, 1) = 0;"),
            std::string::npos);
  MatrixFile const tiny(2, [](int i, int j) { return i == 1 && j == 1 ? 1e-300 : 1; });
  EXPECT_NE(refused(tiny.yaml()).find("its diagonal in row 0, counted from 0, is nothing beside"),
            std::string::npos);
}

TEST(LinearSystemSparse, AutoAggregatesWhereItTakesLong) {
  expect_hierarchy_when_it_takes_long(cpu);
}

TEST(LinearSystemSparse, WhatDoesNotConvergeFallsShort) {
  auto const text =
      rows_yaml(cpu, "{stencil: 3-point, points: [400]}", "1", "method: cg, iterations: 5");
  OneShot const done(text, cpu);
  EXPECT_NE(done.simulation->shortfall().find("cg did not converge: the residual is"),
            std::string::npos);
  EXPECT_NE(done.simulation->shortfall().find("after 5 iterations"), std::string::npos);
  auto const tables = done.simulation->tables();
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].rows(), 6);
}

/// Of a singular matrix x goes off, until sums have no place: it ends before.
TEST(LinearSystemSparse, WhatGoesOffEndsWithAHistoryAndAdvice) {
  constexpr int n = 300;
  MatrixFile const singular(n, [](int i, int j) {
    if (i == j) return i == 1 || i == n ? 1 : 2;
    return std::abs(i - j) == 1 ? -1 : 0;
  });
  OneShot const done(sparse_yaml(singular.yaml(), "\"sin(i + 1)\"", "method: bicgstab"), cpu);
  std::string const told = done.simulation->shortfall();
  EXPECT_EQ(told.rfind("bicgstab did not converge: bicgstab has broken down: ", 0), 0u) << told;
  EXPECT_NE(told.find("(method: gmres does not); method: auto factorizes"), std::string::npos)
      << told;
  EXPECT_GT(done.simulation->tables()[0].rows(), 1);
}

/// The third column has no elements, so that x grows there beyond all numbers and no residual tells.
TEST(LinearSystemSparse, WhatGoesOffWhereNoEquationSeesItLeavesAnX) {
  MatrixFile const singular(3, [](int i, int j) {
    if (j == 1) return i == 1 ? 2 : 1;
    return i == 2 && j == 2 ? 1 : 0;
  });
  OneShot const done(sparse_yaml(singular.yaml(), "\"i + 1\"", "method: bicgstab"), cpu);
  std::string const told = done.simulation->shortfall();
  EXPECT_EQ(told.rfind("bicgstab did not converge: bicgstab has broken down: ", 0), 0u) << told;
  auto const* const x = static_cast<double const*>(done.simulation->fields()[0].data);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isfinite(x[i])) << i;
}

TEST(LinearSystemSparse, AdviceNamesWhatWouldDo) {
  auto const told = [](auto const& element, std::string const& more) {
    MatrixFile const file(60, element);
    return OneShot(sparse_yaml(file.yaml(), "\"sin(i + 1)\"", more), cpu).simulation->shortfall();
  };
  auto const expect = [](std::string const& text, std::string const& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  auto const shift = [](int i, int j) { return j == i % 60 + 1 ? 1 : 0; };
  expect(told(shift, "method: gmres"), "method: auto factorizes matrices of so few rows");
  expect(told(shift, "method: bicgstab, iterations: 20"), "method: gmres may do");
  // An x that has gone off is not the best one.
  auto const hilbert = [](int i, int j) {
    return std::max(i, j) <= 12 ? 1.0 / (i + j - 1) : i == j;
  };
  auto const gone = told(hilbert, "method: minres");
  expect(gone, "x has gone off along what it takes to 0");
  EXPECT_EQ(gone.find("no x has a smaller residual"), std::string::npos) << gone;
}

/// Conjugate gradients do not look for the smallest residual, and do not say that theirs is.
TEST(LinearSystemSparse, OfSingularMatricesMinresHasTheSmallestResidual) {
  constexpr int n = 300;
  MatrixFile const singular(n, [](int i, int j) {
    if (i == j) return i == 1 || i == n ? 1 : 2;
    return std::abs(i - j) == 1 ? -1 : 0;
  });
  auto const told = [&](std::string const& method) {
    return OneShot(sparse_yaml(singular.yaml(), "\"sin(i + 1)\"", "method: " + method), cpu)
        .simulation->shortfall();
  };
  EXPECT_NE(told("cg").find("(method: minres looks for the x with the smallest one)"),
            std::string::npos)
      << told("cg");
  EXPECT_NE(told("minres").find("and no x has a smaller residual"), std::string::npos)
      << told("minres");
}

/// b of the second one is what A makes of an eigenvector, and takes an iteration.
TEST(LinearSystemSparse, ThoseThatDoNotConvergeAreNamed) {
  OneShot const done(
      rows_yaml(cpu, "{stencil: 3-point, points: 400}",
                "{expression: \"if(j == 1, sin(pi*(i + 1)/(n + 1)), j + 1)\", count: 12}",
                "method: cg, iterations: 5"),
      cpu);
  auto const told = done.simulation->shortfall();
  EXPECT_EQ(told.rfind("right-hand side 0: cg did not converge: ", 0), 0u) << told;
  EXPECT_NE(
      told.find(" (right-hand sides 2, 3, 4, 5, 6, 7, 8, 9 and 2 more did not converge either)"),
      std::string::npos)
      << told;
}

TEST(LinearSystemSparse, AutoTakesWhatFits) {
  auto const with = [](std::string const& more) {
    OneShot const done(rows_yaml(cpu, "{stencil: 5-point, points: [9, 7]}", "i", more), cpu);
    std::vector<std::string> texts;
    for (auto const& text : done.simulation->chosen()) texts.push_back(text.text);
    return texts;
  };
  EXPECT_EQ(with("method: auto"), (std::vector<std::string>{"cg", "jacobi", "threads"}));
  EXPECT_EQ(with("method: gmres, preconditioner: none"),
            (std::vector<std::string>{"gmres", "none", "threads"}));
  EXPECT_EQ(with("method: lu")[0], "lu");
}

TEST(LinearSystemSparse, KeysOfTheOtherKindAreRefused) {
  auto const problems = [](std::string const& yaml) {
    auto const config = config_of(yaml);
    std::string all;
    for (auto const& problem : entry_of(config).problems(config, inputs_of(config)))
      all += problem.path + ": " + problem.message + "\n";
    return all;
  };
  EXPECT_EQ(problems(sparse_yaml("{stencil: 3-point, points: [9]}", "1",
                                 "method: auto, tolerance: 1e-3, restart: 7")),
            "");
  EXPECT_EQ(problems(sparse_yaml("{stencil: 3-point, points: [9]}", "1",
                                 "method: lu, tolerance: 1e-3, restart: 7")),
            "parameters.tolerance: is for iterations (this system is solved by factorization)\n"
            "parameters.restart: is for iterations (this system is solved by factorization)\n");
  EXPECT_EQ(problems(sparse_yaml("{stencil: 3-point, points: [9]}", "1",
                                 "method: amg_cg, preconditioner: jacobi")),
            "parameters.preconditioner: amg_cg is cg with a preconditioner of its own (method: cg "
            "takes another)\n");
  EXPECT_EQ(
      problems(sparse_yaml("{stencil: 3-point, points: [9]}", "1", "method: gmres, restart: 7")),
      "");
  EXPECT_EQ(problems(sparse_yaml("{stencil: 3-point, points: [9]}", "1", "method: cg, restart: 7")),
            "parameters.restart: is for method: gmres (cg keeps no vectors)\n");
  EXPECT_EQ(problems(sparse_yaml("{stencil: 3-point, points: [9]}", "1",
                                 "preconditioner: jacobi, block_size: 3")),
            "parameters.block_size: is for preconditioner: block_jacobi\n");
  EXPECT_EQ(
      problems(sparse_yaml("{stencil: 3-point, points: [9]}", "1", "method: lu, block_size: 3")),
      "parameters.block_size: is for iterations (this system is solved by factorization)\n");
  EXPECT_EQ(problems(sparse_yaml("{stencil: 3-point, points: [9]}", "1", "vendor: true")),
            "parameters.vendor: is for factorizations (this sparse system is solved by iteration; "
            "method: lu makes a dense one of it)\n");
  EXPECT_EQ(
      problems(sparse_yaml("{expression: i==j, size: 9}", "1", "method: cg")),
      "parameters.method: 'cg' goes by products with a sparse matrix (a Matrix Market file in "
      "the format 'coordinate', a group of an HDF5 file, or a stencil), and this one is dense "
      "(auto, lu and cholesky take it)\n");
}

TEST(LinearSystemSparse, MemoryIsThatOfRowsAndVectors) {
  auto const config =
      config_of(rows_yaml(cpu, "{stencil: 27-point, points: [10, 10, 10]}", "1", "method: cg"));
  auto const memory = memory_of(entry_of(config), config, inputs_of(config), cpu);
  std::size_t const elements = 28 * 28 * 28;
  EXPECT_EQ(memory.array_bytes, elements * 12 + 1001 * 8);
  // r, the method's 3, z, the diagonal, b and x of a column, x: at least.
  EXPECT_GE(memory.bytes(), memory.array_bytes + 9 * 8000);
  EXPECT_GE(memory.host_bytes, 2 * memory.array_bytes);
}

/// Of each of nine a column of x, one of b, and what cg takes: r, 3 of the method, z, x, b, and the sums of
/// a tile.
TEST(LinearSystemSparse, MemoryIsThatOfThoseSolvedTogether) {
  auto const with = [](std::int64_t side, int count) {
    return config_of(rows_yaml(
        cpu, fmt::format("{{stencil: 27-point, points: [{0}, {0}, {0}]}}", side),
        fmt::format("{{expression: j, count: {}}}", count), "method: cg, preconditioner: jacobi"));
  };
  auto const bytes = [&](int count) {
    auto const config = with(10, count);
    return memory_of(entry_of(config), config, inputs_of(config), cpu).bytes();
  };
  EXPECT_EQ(bytes(9) - bytes(1), 8 * (2 * 8000 + 7 * 8000 + 8 * sizeof(double)));
  auto const together = [&](std::int64_t side, int count) {
    auto const config = with(side, count);
    return linear_system::columns_together(config, inputs_of(config), cpu);
  };
  EXPECT_EQ(together(10, 1), 1);
  EXPECT_EQ(together(10, 9), 9);
  EXPECT_EQ(together(32, 40), 32);
  EXPECT_EQ(together(40, 40), 16);
  // A alone takes 324 bytes a point, more than there are.
  auto const free = static_cast<double>(Device::open(cpu).free_memory());
  EXPECT_EQ(together(static_cast<std::int64_t>(std::cbrt(free / 324)) + 1, 9), 1);
}

}  // namespace
}  // namespace gridstride::test
