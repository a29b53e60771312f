#include "kernels/system/interpreter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "equations/source.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "kernels/support/without_runtime_compiler.hpp"
#include "kernels/system/slots.hpp"
#include "support/system_cases.hpp"

namespace gridstride {
namespace {

using equations::Kind;
using equations::StencilProgram;
using system::Code;

TEST(Slots, AreTakenAgainFromTheLastUseOn) {
  // 0 lasts; 3 = 1·2; 4 = 3 + 0; 5 = 4·1; 6 = 5 − 5.
  std::vector<system::SlotValue> const values = {
      {{-1, -1, -1}, true}, {{-1, -1, -1}, false}, {{-1, -1, -1}, false}, {{1, 2, -1}, false},
      {{3, 0, -1}, false},  {{4, 1, -1}, false},   {{5, 5, -1}, false}};
  std::vector<std::int32_t> const last = {6}, both = {6, 3};
  system::Slots const one(values, last);
  EXPECT_EQ(one.lasting, 1);
  EXPECT_EQ(one.count, 3);
  EXPECT_EQ(one.of_value[0], 0);
  EXPECT_EQ(one.of_value[3], one.of_value[2]);  // 2 ends there, 1 goes on
  EXPECT_EQ(one.of_value[4], one.of_value[3]);
  EXPECT_NE(one.of_value[4], one.of_value[1]);
  // A result is kept to the end.
  system::Slots const two(values, both);
  EXPECT_EQ(two.count, 4);
  for (std::size_t n = 4; n < values.size(); ++n) EXPECT_NE(two.of_value[n], two.of_value[3]) << n;
}

TEST(Slots, OfNothing) {
  system::Slots const none({}, {});
  EXPECT_EQ(none.count, 0);
  EXPECT_EQ(none.lasting, 0);
}

/// A sum of any number of loads, one after the other, needs two slots.
TEST(Slots, OfALongSum) {
  std::vector<system::SlotValue> values = {{}};
  for (std::int32_t n = 0; n < 1000; ++n) {
    auto const sum = static_cast<std::int32_t>(values.size()) - 1;
    values.push_back({});
    values.push_back({{sum, sum + 1, -1}, false});
  }
  std::vector<std::int32_t> const result = {static_cast<std::int32_t>(values.size()) - 1};
  EXPECT_EQ(system::Slots(values, result).count, 2);
}

/// Numbers that follow from what is asked for, without a grid.
template <class T>
struct Answers {
  std::vector<T>& results;

  static T some(int a, int b, int c, int d) {
    return static_cast<T>(0.3 + 0.17 * a + 0.013 * b - 0.05 * c + 0.031 * d);
  }
  T unknown(int component, int dx, int dy, int dz) const { return some(component, dx, dy, dz); }
  T coordinate(int axis, int along) const { return some(axis + 3, along, 0, 0); }
  T lies_on(int side, int along) const { return some(side, 7, along, 1); }
  T random(Code code, int seed, int dx, int dy, int dz) const {
    return some(seed + (code == Code::uniform ? 0 : code == Code::normal ? 10 : 20), dx, dy, dz);
  }
  void take(int result, T value) const { results[static_cast<std::size_t>(result)] = value; }
};

constexpr double time_now = 0.7;

template <class T>
struct HostSlots {
  std::vector<T> values;
  T operator[](int slot) const { return values.at(static_cast<std::size_t>(slot)); }
  void set(int slot, T value) { values.at(static_cast<std::size_t>(slot)) = value; }
};

template <class T>
std::vector<T> by_machine(StencilProgram const& program) {
  auto const made = system::interpreted(program);
  std::vector<T> results(program.results.size());
  HostSlots<T> slots{
      std::vector<T>(static_cast<std::size_t>(made.slots), std::numeric_limits<T>::quiet_NaN())};
  for (std::size_t n = 0; n < made.lasting.size(); ++n) {
    auto const& one = made.lasting[n];
    slots.values[n] = static_cast<T>(one.kind == Kind::time    ? time_now
                                     : one.kind == Kind::found ? 2 + one.index
                                                               : one.value);
  }
  system::run_program<T>(made.code.data(), static_cast<int>(made.code.size()), slots,
                         Answers<T>{results});
  return results;
}

/// Every value for itself, each product that is fused with a sum rounded with it.
template <class T>
std::vector<T> by_nodes(StencilProgram const& program) {
  auto const fused = equations::fused_operands(program);
  std::vector<T> values, results(program.results.size());
  Answers<T> const at{results};
  auto const of = [&](std::int32_t value) {
    return value < 0 ? T(0) : values[static_cast<std::size_t>(value)];
  };
  for (std::size_t n = 0; n < program.code.size(); ++n) {
    auto const& node = program.code[n];
    auto const& [dx, dy, dz] = node.orders;
    T value = 0;
    if (is_random(node.kind))
      value = at.random(node.kind == Kind::uniform  ? Code::uniform
                        : node.kind == Kind::normal ? Code::normal
                                                    : Code::noise,
                        node.index, dx, dy, dz);
    else if (node.kind == Kind::unknown)
      value = at.unknown(node.index, dx, dy, dz);
    else if (node.kind == Kind::coordinate)
      value = at.coordinate(node.index, node.orders[static_cast<std::size_t>(node.index)]);
    else if (node.kind == Kind::on_side)
      value = at.lies_on(node.index, node.orders[static_cast<std::size_t>(node.index / 2)]);
    else if (node.kind != Kind::operation)
      value = static_cast<T>(node.kind == Kind::time    ? time_now
                             : node.kind == Kind::found ? 2 + node.index
                                                        : node.value);
    else if (int const which = fused[n]; which >= 0) {
      auto const& product =
          program.code[static_cast<std::size_t>(node.operands[static_cast<std::size_t>(which)])];
      T const a = of(product.operands[0]), b = of(product.operands[1]);
      T const c = of(node.operands[static_cast<std::size_t>(1 - which)]);
      bool const adds = node.operation == expression::Operation::add;
      value = adds ? std::fma(a, b, c) : which == 0 ? std::fma(a, b, -c) : std::fma(-a, b, c);
    } else {
      value = expression::apply_as<T>(node.operation, of(node.operands[0]), of(node.operands[1]),
                                      of(node.operands[2]));
    }
    values.push_back(value);
  }
  for (std::size_t r = 0; r < results.size(); ++r) results[r] = of(program.results[r]);
  return results;
}

StencilProgram mixed(int dims) {
  return test::mixed_program({.dims = dims, .points = {9, 8, 7}, .spacing = {0.5, 0.25, 0.75}});
}

template <class T>
void expect_machine_runs(StencilProgram const& program) {
  auto const found = by_machine<T>(program);
  EXPECT_EQ(found, by_nodes<T>(program));
  for (T const value : found) EXPECT_TRUE(std::isfinite(value));
}

TEST(Interpreter, RunsWhatTheProgramSays) {
  for (int dims = 1; dims <= 3; ++dims) {
    expect_machine_runs<float>(mixed(dims));
    expect_machine_runs<double>(mixed(dims));
  }
}

/// a·b − c·d: the first product is fused, the second is a value.
TEST(Interpreter, FusesAsTheTextDoes) {
  equations::Terms terms;
  auto const u = [&](int component) { return terms.unknown(component); };
  auto const ab = terms.multiply(u(0), u(1)), cd = terms.multiply(u(2), u(3));
  std::vector<equations::Term> const rates = {terms.subtract(ab, cd), terms.subtract(u(4), cd)};
  auto const codes = [&](std::span<equations::Term const> of) {
    std::vector<Code> found;
    auto const program = equations::program_of(terms, of, 1);
    for (auto const& in : system::interpreted(program).code)
      if (in.code != Code::unknown && in.code != Code::result) found.push_back(in.code);
    expect_machine_runs<double>(program);
    return found;
  };
  auto const multiply = static_cast<Code>(expression::Operation::multiply);
  EXPECT_EQ(codes(std::span(rates).first(1)), (std::vector<Code>{multiply, Code::product_minus}));
  EXPECT_EQ(codes(std::span(rates).last(1)), std::vector<Code>{Code::minus_product});
  // Used twice, c·d is no part of either.
  auto const both = codes(rates);
  EXPECT_EQ(std::ranges::count(both, Code::minus_product), 0);
  EXPECT_EQ(std::ranges::count(both, Code::product_minus), 1);
}

TEST(Interpreter, KnowsTheSidesOfEachAxis) {
  equations::Terms terms;
  std::vector<equations::Term> sides;
  for (int axis = 0; axis < 3; ++axis)
    for (int end = 0; end < 2; ++end) sides.push_back(terms.on_side(axis, end, axis - 1));
  expect_machine_runs<double>(equations::program_of(terms, sides, 3));
}

TEST(Interpreter, KeepsFewerValuesThanTheProgramHas) {
  auto const program = mixed(3);
  auto const made = system::interpreted(program);
  EXPECT_LT(made.slots - static_cast<int>(made.lasting.size()),
            static_cast<int>(program.code.size()) / 2);
}

TEST(Interpreter, RefusesMoreValuesThanInstructionsCanName) {
  StencilProgram program;
  for (int n = 0; n < 66'000; ++n) {
    program.code.push_back({.kind = Kind::number, .value = 1.0 * n});
    program.results.push_back(n);
  }
  try {
    system::interpreted(program);
    ADD_FAILURE() << "took it";
  } catch (Error const& error) {
    EXPECT_STREQ(error.what(),
                 "system: a program that keeps 66000 values at a time is too long for the "
                 "interpreter");
  }
}

TEST(Interpreter, BlocksAreAsLargeAsTheirValuesLeaveRoomFor) {
  auto const block = [](int lasting, int slots) {
    return system::interpreter_block(lasting, slots, sizeof(double), 232'448);
  };
  EXPECT_EQ(block(10, 40).threads, 128);
  EXPECT_EQ(block(10, 40).bytes, sizeof(double) * (10 + 30 * 128));
  EXPECT_EQ(block(0, 227).threads, 128);
  EXPECT_EQ(block(1, 228).threads, 64);
  EXPECT_EQ(block(0, 908).threads, 32);
  try {
    block(1, 1001);
    ADD_FAILURE() << "took it";
  } catch (Error const& error) {
    EXPECT_STREQ(error.what(),
                 "system: 'interpreter' keeps 1000 values at a time for each point of these "
                 "equations, and about 908 fit the chip ('points', which needs NVRTC, takes them)");
  }
}

TEST(RuntimeCompiler, MayBeHidden) {
  RuntimeSource const source = {"nothing", "extern \"C\" __global__ void nothing() {}", {}};
  {
    WithoutRuntimeCompiler const hidden;
    EXPECT_THROW(compile_cubin(source, 90), RuntimeCompilerMissing);
  }
  try {
    EXPECT_FALSE(compile_cubin(source, 90).empty());
  } catch (RuntimeCompilerMissing const& missing) {
    GTEST_SKIP() << missing.what();
  }
}

}  // namespace
}  // namespace gridstride
