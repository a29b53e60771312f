#include "kernels/evaluate/evaluate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "expression/evaluate.hpp"
#include "kernels/evaluate/separated.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "support/formulas_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride::evaluate {
namespace {

using expression::Expression;

/// The host's variants in the precision T.
template <class T>
class EvaluateTest : public testing::Test {
 protected:
  /// Runs one variant on a formula; the buffer is one longer than the grid to catch overruns.
  std::vector<T> run(EvaluateFunction<T>* variant, std::string const& text, Grid const& grid,
                     DeviceClock const* clock = nullptr, double fraction = 0) {
    Program const program(stream_, Expression::parse(text));
    std::vector<T> result(static_cast<std::size_t>(grid.size()) + 1, T(-77));
    variant(stream_, {.program = &program,
                      .grid = grid,
                      .clock = clock,
                      .fraction = fraction,
                      .result = result.data()});
    EXPECT_EQ(result.back(), T(-77)) << text;
    result.pop_back();
    return result;
  }

  Stream stream_{Device::open(Backend::cpu)};
};

using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(EvaluateTest, Precisions);

template <class T, class Function>
void for_each_host_variant(Function const& function) {
  int count = 0;
  for (Variant<EvaluateFunction<T>> const& variant : variants<T>()) {
    if (variant.backend != Backend::cpu) continue;
    SCOPED_TRACE(variant.name);
    function(variant.run);
    ++count;
  }
  EXPECT_EQ(count, 3);
}

TYPED_TEST(EvaluateTest, TableStartsWithTheReference) {
  EXPECT_EQ(variants<TypeParam>()[0].name, "reference");
  EXPECT_EQ(variants<TypeParam>()[2].name, default_variant(Backend::cpu));
  for (auto const& variant : variants<TypeParam>()) EXPECT_FALSE(variant.idea.empty());
}

TYPED_TEST(EvaluateTest, ComputesALine) {
  Grid const grid{.dims = 1, .points = {5, 1, 1}, .origin = {-1, 10, 20}, .spacing = {0.5, 1, 1}};
  for_each_host_variant<TypeParam>([&](auto* variant) {
    EXPECT_EQ(this->run(variant, "x^2 + y - z", grid),
              (std::vector<TypeParam>{-9, -9.75, -10, -9.75, -9}));
    EXPECT_EQ(this->run(variant, "7", grid), (std::vector<TypeParam>{7, 7, 7, 7, 7}));
  });
}

TYPED_TEST(EvaluateTest, ComputesAPlane) {
  Grid const grid{.dims = 2, .points = {3, 2, 1}, .origin = {0, 4, 0}, .spacing = {1, 0.5, 1}};
  for_each_host_variant<TypeParam>([&](auto* variant) {
    EXPECT_EQ(this->run(variant, "x + 10*y", grid),
              (std::vector<TypeParam>{40, 41, 42, 45, 46, 47}));
  });
}

TYPED_TEST(EvaluateTest, ComputesAVolume) {
  Grid const grid{.dims = 3, .points = {2, 2, 2}, .origin = {1, 2, 3}, .spacing = {1, 2, 4}};
  for_each_host_variant<TypeParam>([&](auto* variant) {
    EXPECT_EQ(this->run(variant, "x + 10*y + 100*z", grid),
              (std::vector<TypeParam>{321, 322, 341, 342, 721, 722, 741, 742}));
  });
}

TYPED_TEST(EvaluateTest, ComputesFaces) {
  Grid const volume{.dims = 3, .points = {4, 3, 2}, .origin = {0, 10, 100}, .spacing = {1, 1, 1}};
  for_each_host_variant<TypeParam>([&](auto* variant) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Grid face = volume;  // the upper face
      face.points[axis] = 1;
      face.origin[axis] = volume.coordinate(static_cast<int>(axis), volume.points[axis] - 1);
      std::vector<TypeParam> expected;
      for (std::int64_t k = 0; k < volume.size(); ++k) {
        auto const [i, j, l] = volume.indices(k);
        if (volume.indices(k)[axis] == volume.points[axis] - 1)
          expected.push_back(static_cast<TypeParam>(i + (10 + j) * 1000 + (100 + l) * 1000));
      }
      ASSERT_EQ(static_cast<std::int64_t>(expected.size()),
                volume.face_size(static_cast<int>(axis)));
      EXPECT_EQ(this->run(variant, "x + 1000*y + 1000*z", face), expected) << axis;
    }
  });
}

TYPED_TEST(EvaluateTest, VariantsAgreeToTheBitAtAwkwardSizes) {
  std::string const text = "if(x < 0.3, sin(9*x)*exp(-y), mod(x + 2*y, 0.7)) - z^3/(1 + x^2) + t";
  DeviceClock const clock{.origin = 0.25, .step_size = 0.125, .steps = 3};
  auto const compare = [&](Grid const& grid) {
    auto const expected = this->run(variants<TypeParam>()[0].run, text, grid, &clock, 0.5);
    for_each_host_variant<TypeParam>([&](auto* variant) {
      EXPECT_EQ(this->run(variant, text, grid, &clock, 0.5), expected)
          << grid.points[0] << " x " << grid.points[1] << " x " << grid.points[2];
    });
  };
  for (std::int64_t const size : {0, 1, 2, 31, 255, 256, 257, 4095, 4096, 4097, 65'537}) {
    compare({.dims = 1, .points = {size, 1, 1}, .spacing = {1e-3, 1, 1}});
    compare({.dims = 2, .points = {1, size, 1}, .spacing = {1, 1e-3, 1}});
    compare({.dims = 3, .points = {1, 1, size}, .spacing = {1, 1, 1e-3}});
  }
  compare({.dims = 3, .points = {17, 19, 23}, .spacing = {0.1, 0.2, 0.3}});
  compare({.dims = 3, .points = {255, 3, 7}, .spacing = {0.1, 0.2, 0.3}});
  compare({.dims = 3, .points = {257, 33, 2}, .spacing = {0.1, 0.2, 0.3}});
  compare({.dims = 3, .points = {2, 133, 97}, .spacing = {0.1, 0.2, 0.3}});
  compare({.dims = 3, .points = {1, 1025, 35}, .spacing = {1, 1e-3, 0.3}});
  compare({.dims = 2, .points = {2311, 18, 1}, .spacing = {1e-3, 0.2, 1}});
  compare({.dims = 2, .points = {0, 5, 1}});
  compare({.dims = 2, .points = {5, 0, 1}});
}

TYPED_TEST(EvaluateTest, RoundsOnceFromFloat64) {
  // In float32 throughout, 1 + 1e-9 would be 1.
  for_each_host_variant<TypeParam>([&](auto* variant) {
    EXPECT_EQ(this->run(variant, "(1 + 1e-9 - 1)*1e9", {}).at(0),
              static_cast<TypeParam>((1 + 1e-9 - 1) * 1e9));
    EXPECT_EQ(this->run(variant, "0.1", {}).at(0), static_cast<TypeParam>(0.1));
  });
}

TYPED_TEST(EvaluateTest, ReadsTheClock) {
  DeviceClock clock{.origin = 1, .step_size = 0.25, .steps = 4};
  for_each_host_variant<TypeParam>([&](auto* variant) {
    EXPECT_EQ(this->run(variant, "t", {}, &clock, 0).at(0), 2);
    EXPECT_EQ(this->run(variant, "t", {}, &clock, 1).at(0), 2.25);
    EXPECT_EQ(this->run(variant, "t", {}, &clock, 0.5).at(0), 2.125);
  });
  advance_clock(this->stream_, &clock);
  advance_clock(this->stream_, &clock);
  EXPECT_EQ(clock.steps, 6);
  EXPECT_EQ(clock.origin, 1);
  EXPECT_EQ(this->run(variants<TypeParam>()[0].run, "t", {}, &clock, 0).at(0), 2.5);
}

TYPED_TEST(EvaluateTest, PublicFunctionChecksItsArguments) {
  Grid const grid{.dims = 1, .points = {4, 1, 1}};
  Program const of_x(this->stream_, Expression::parse("x + 1"));
  Program const of_t(this->stream_, Expression::parse("x + t"));
  DeviceClock const clock{.origin = 10};
  std::vector<TypeParam> result(5, TypeParam(-77));
  std::span<TypeParam> const all(result);

  evaluate(this->stream_, of_x, grid, nullptr, 0, all);
  EXPECT_EQ(result, (std::vector<TypeParam>{1, 2, 3, 4, -77}));
  evaluate(this->stream_, of_t, grid, &clock, 0, all.first(4));
  EXPECT_EQ(result, (std::vector<TypeParam>{10, 11, 12, 13, -77}));

  EXPECT_THROW(evaluate(this->stream_, of_x, grid, nullptr, 0, all.first(3)),
               std::invalid_argument);
  EXPECT_THROW(evaluate(this->stream_, of_t, grid, nullptr, 0, all), std::invalid_argument);
  EXPECT_THROW(evaluate(this->stream_, of_x, {.points = {-1, -1, 1}}, nullptr, 0, all),
               std::invalid_argument);
  EXPECT_THROW(advance_clock(this->stream_, nullptr), std::invalid_argument);
  EXPECT_EQ(result, (std::vector<TypeParam>{10, 11, 12, 13, -77})) << "refused before any write";
}

/// Variables from x to t, then two arrays.
constexpr expression::Variable with_arrays[] = {{"x", 0}, {"y", 1}, {"z", 2},
                                                {"t", 3}, {"u", 4}, {"v", 5}};

TYPED_TEST(EvaluateTest, ReadsArraysAtThePoint) {
  Grid const grid{.dims = 2, .points = {300, 41, 1}, .origin = {1, 2, 0}, .spacing = {0.5, 1, 1}};
  std::vector<float> u;
  std::vector<double> v;
  for (int i = 0; i < 300 * 41; ++i) {
    u.push_back(0.25F * static_cast<float>(i));
    v.push_back(1e-9 * i - 3);
  }
  ArrayView const arrays[] = {{u.data(), Precision::float32}, {v.data(), Precision::float64}};
  for (auto const* variant : {"reference", "threads", "separated"}) {
    Program const program(this->stream_, Expression::parse("u*v + x", {}, with_arrays), variant);
    EXPECT_EQ(program.array_count(), 2);
    std::vector<TypeParam> result(u.size() + 1, TypeParam(-77));
    evaluate(this->stream_, program, grid, nullptr, 0, std::span(result), arrays);
    for (std::size_t i = 0; i < u.size(); ++i)
      ASSERT_EQ(result[i], static_cast<TypeParam>(static_cast<double>(u[i]) * v[i] + 1 +
                                                  0.5 * static_cast<double>(i % 300)))
          << variant << ' ' << i;
    EXPECT_EQ(result.back(), TypeParam(-77));
    EXPECT_THROW(evaluate(this->stream_, program, grid, nullptr, 0, std::span(result),
                          std::span(arrays).first(1)),
                 std::invalid_argument);
  }
  EXPECT_EQ(Program(this->stream_, Expression::parse("x*t")).array_count(), 0);
}

TEST(EvaluateProgram, KnowsItsFormula) {
  Stream stream(Device::open(Backend::cpu));
  Program const program(stream, Expression::parse("2*(x + t)"));
  ASSERT_EQ(program.code().size(), 5u);
  EXPECT_EQ(program.code()[0].value, 2);
  EXPECT_EQ(program.code()[4].operation, expression::Operation::multiply);
  EXPECT_EQ(program.stack_depth(), 3);
  EXPECT_TRUE(program.depends_on_time());
  EXPECT_FALSE(Program(stream, Expression::parse("x*y*z")).depends_on_time());
}

std::string text_of(Separated::Code const& code) {
  std::string text;
  for (auto const& [operation, variable, value] : code)
    text += operation == expression::Operation::number ? fmt::format("{} ", value)
            : operation == expression::Operation::variable
                ? fmt::format("v{} ", variable)
                : fmt::format("op{} ", static_cast<int>(operation));
  return text;
}

/// The formula, of `with_arrays`, that the parts make together.
std::string joined(std::string const& text, int axis) {
  auto const code = expression::to_instructions(Expression::parse(text, {}, with_arrays));
  auto const parts = separate(code, axis);
  Separated::Code all;
  auto const append = [&](Separated::Code const& part) {
    all.insert(all.end(), part.begin(), part.end());
  };
  auto const along = static_cast<int>(parts.along.size());
  auto const across = static_cast<int>(parts.across.size());
  for (auto instruction : parts.rest) {
    if (instruction.operation != expression::Operation::variable)
      all.push_back(instruction);
    else if (int const part = instruction.variable; part < along + across)
      append(part < along ? parts.along[static_cast<std::size_t>(part)]
                          : parts.across[static_cast<std::size_t>(part - along)]);
    else
      all.push_back(
          {expression::Operation::variable, part - along - across + expression::first_array});
  }
  EXPECT_EQ(text_of(all), text_of(code)) << text;
  return fmt::format("{}, {}, {}", along, across, parts.rest.size());
}

TEST(EvaluateSeparated, HasTheLargestPartsOnce) {
  EXPECT_EQ(joined("7", 0), "0, 1, 1");
  EXPECT_EQ(joined("x", 0), "1, 0, 1");
  EXPECT_EQ(joined("sin(3*x)*t", 0), "1, 0, 1");
  EXPECT_EQ(joined("sin(3*x)*cos(2*y)", 0), "1, 1, 3");
  EXPECT_EQ(joined("sin(3*x)*cos(2*y)", 1), "1, 1, 3");
  EXPECT_EQ(joined("sin(3*x)*cos(2*y)", 2), "0, 1, 1");
  EXPECT_EQ(joined("sin(3*x)*y - sin(3*x)*z*y", 0), "1, 2, 9");  // y*… is no part of its own
  EXPECT_EQ(joined("if(x < y, exp(x^2), u) + v*(z - t*y)", 0), "2, 2, 10");
  EXPECT_EQ(joined("u + v", 0), "0, 0, 3");
}

TEST(EvaluateSlabs, CoverTheGridInOrder) {
  Grid const grid{
      .dims = 2, .points = {3000, 1000, 1}, .origin = {1, 2, 0}, .spacing = {0.5, 3, 1}};
  std::int64_t next = 0, slabs = 0;
  for_each_slab(Expression::parse("x + 1000*y + t"), grid, 0.25, [&](Slab const& slab) {
    EXPECT_EQ(slab.first, next);
    for (std::size_t i = 0; i < slab.values.size(); ++i) {
      auto const at = grid.indices(next + static_cast<std::int64_t>(i));
      ASSERT_EQ(slab.values[i],
                grid.coordinate(0, at[0]) + 1000 * grid.coordinate(1, at[1]) + 0.25);
    }
    next += slab.grid.size();
    ++slabs;
  });
  EXPECT_EQ(next, grid.size());
  EXPECT_GT(slabs, 1);
}

TYPED_TEST(EvaluateTest, FormulasTogetherAreAsOneAfterTheOther) {
  for (auto const variant : {"reference", "threads", "separated", "auto"})
    test::expect_formulas_together<TypeParam>(this->stream_, variant);
  EXPECT_EQ(Formulas(this->stream_, test::five_formulas(), 2).variant(), "separated");
}

TEST(Formulas, ThatCannotBeTogetherAreRefused) {
  Stream stream(Device::open(Backend::cpu));
  auto const p = test::formula_of_three("p + x");
  auto const fault_of = [&](std::vector<Formula> const& formulas, int arrays) {
    return test::refusal([&] { Formulas(stream, formulas, arrays); });
  };
  EXPECT_EQ(fault_of({}, 1),
            "evaluate: 0 formulas of 1 arrays (1 to 20 of at most as many are possible)");
  EXPECT_NE(fault_of(std::vector<Formula>(21, {p, {0}}), 1), "nothing");
  EXPECT_EQ(fault_of({{p, {0}}, {p, {2}}}, 1),
            "evaluate: formula 1 is from value 2, which does not come before it");
  EXPECT_EQ(fault_of({{p, {}}}, 1), "evaluate: formula 0 is of more arrays than it is from");
  EXPECT_EQ(fault_of({{Expression::parse("t"), {}}}, 0),
            "evaluate: formulas that are evaluated together depend on t");
  EXPECT_EQ(fault_of({{p, {0}}, {p, {1}}}, 1), "nothing");

  Formulas const both(stream, {{p, {0}}, {p, {1}}}, 1);
  double a = 0, c = 0, d = 0;
  auto const fault_with = [&](std::vector<double*> const& results, void const* array) {
    ArrayView const view[] = {{array, Precision::float64}};
    return test::refusal([&] { evaluate<double>(stream, both, Grid{}, results, view); });
  };
  EXPECT_EQ(fault_with({&c, &d}, &a), "nothing");
  EXPECT_EQ(fault_with({&c, nullptr}, &a), "nothing");
  EXPECT_EQ(fault_with({nullptr, &d}, &a), "evaluate: formula 1 needs value 1, which is null");
  EXPECT_EQ(fault_with({&c, &d}, nullptr), "evaluate: formula 0 needs value 0, which is null");
  EXPECT_EQ(fault_with({&c}, &a), "evaluate: 1 results and 1 arrays are given, 2 and 1 are needed");
}

}  // namespace
}  // namespace gridstride::evaluate
