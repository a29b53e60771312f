#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "equations/modal.hpp"
#include "kernels/modes/modes.hpp"
#include "kernels/modes/symbols.hpp"

/// What rows of the family `modes` make of made-up numbers, on any device.
namespace gridstride::test {

/// Fields of two kinds of sides along y, of which two are coupled, on some grids.
struct ModesCase {
  std::vector<std::int64_t> points;
  bool waves;  ///< along x, else all axes have sides
  double keep;
};
inline std::vector<ModesCase> modes_cases() {
  return {{{1}, true, 1},       {{2}, true, 1},         {{33}, true, 2.0 / 3},
          {{1023}, true, 1},    {{31, 32}, true, 0.5},  {{5, 300}, true, 2.0 / 3},
          {{300, 5}, true, 1},  {{7, 6, 9}, true, 0.7}, {{33, 31}, false, 2.0 / 3},
          {{6, 5, 4}, false, 1}};
}

template <class T>
class ModesWork {
 public:
  ModesWork(Stream& stream, ModesCase const& of) : stream_(stream) {
    using equations::Beyond;
    std::array<Beyond, 2> const around = {Beyond::periodic, Beyond::periodic},
                                even = {Beyond::even, Beyond::even};
    sides_ = of.waves ? equations::BeyondSides{around, around, around}
                      : equations::BeyondSides{even, even, even};
    grid_.dims = static_cast<int>(of.points.size());
    for (std::size_t axis = 0; axis < of.points.size(); ++axis) {
      grid_.points[axis] = of.points[axis];
      grid_.spacing[axis] = 0.3;
    }
    layout_ = modes::layout_of(grid_, sides_, {of.keep, of.keep, of.keep});
  }

  /// Sums of two unknowns and a product with quotients, in kept and in all modes.
  std::vector<T> combined(std::string_view variant, bool is_full) {
    std::int8_t const y = grid_.dims > 1 ? 1 : 0;
    equations::Operator const laplacian = {{{2, 0, 0}, 1},
                                           {{0, static_cast<std::int8_t>(2 * y), 0}, 1}};
    std::vector<equations::ModalSum> const sums = {
        {{0, {{{2, 0, 0}, 1}, {{0, 0, 0}, -0.5}}}, {2, {{{0, 0, 0}, 3}}, laplacian}},
        {{1, waves() ? equations::Operator{{{1, 0, 0}, 2}} : equations::Operator{{{4, 0, 0}, 2}}}}};
    std::vector<modes::Quantity> const unknowns = {{sides_}, {sides_}}, products = {{sides_, 0.25}};
    modes::SumList const list(stream_, grid_, layout_, equations::Symbols::exact, 2, sums, unknowns,
                              products);
    auto const u = numbers(2 * layout_.kept_size() * layout_.numbers(), 1),
               p = numbers(layout_.full_size() * layout_.numbers(), 2);
    std::int64_t const size = is_full ? layout_.full_size() : layout_.kept_size();
    auto out = numbers(2 * size * layout_.numbers(), 3);
    modes::Combination<T> work{.layout = layout_, .sums = list.sums()};
    work.count = 2;
    work.unknowns = u.data();
    work.products = p.data();
    work.out = out.data();
    work.is_full = is_full;
    modes::run<T>(stream_, work, variant);
    return fetched(out);
  }

  /// Tables of two functions, and what they make of three fields; the second result is the first
  /// argument.
  std::vector<T> updated(std::string_view variant) {
    std::vector<equations::ModalSum> const linear = {
        {{0, {{{2, 0, 0}, 0.01}}}, {1, {{{0, 0, 0}, 2}}}},
        {{0, {{{0, 0, 0}, -2}}}, {1, {{{2, 0, 0}, 0.02}}}},
        {{2,
          waves() ? equations::Operator{{{3, 0, 0}, 0.01}} : equations::Operator{{{2, 0, 0}, 1}}}}};
    std::vector<modes::Quantity> const unknowns(3, modes::Quantity{sides_});
    modes::SumList const list(stream_, grid_, layout_, equations::Symbols::exact, 2, linear,
                              unknowns, {});
    modes::Tables tables{.points = layout_.kept};
    bool const folds = grid_.dims > 1 && waves();
    if (folds) {
      tables.folds[1] = true;
      tables.points[1] = layout_.below[1];
    }
    std::int64_t const size = tables.size();
    int const numbers_of_wave = waves() ? 2 : 1;
    std::vector<modes::Block> const blocks = {{1, {2}, waves() ? 1 : 0, 0},
                                              {2, {0, 1}, 0, numbers_of_wave * size}};
    std::int64_t const of_function = (numbers_of_wave + 4) * size;
    auto table = numbers(2 * (of_function + of_function % 2), 4);
    auto const functions =
        uploaded(std::vector{modes::entire(1, 0, 1, -3, 4), modes::rational(1, 0, 1, -0.5)});
    modes::Tabulation<T> made{.layout = layout_,
                              .tables = tables,
                              .linear = list.sums(),
                              .blocks = blocks,
                              .step = 0.3,
                              .functions = 2,
                              .function = functions.data(),
                              .out = {table.data(), table.data() + table.size() / 2}};
    modes::run<T>(stream_, made, variant);
    auto u = numbers(3 * layout_.kept_size() * layout_.numbers(), 5),
         v = numbers(3 * layout_.kept_size() * layout_.numbers(), 6);
    modes::Update<T> work{.layout = layout_, .tables = tables, .blocks = blocks};
    work.outputs = 2;
    work.groups = 2;
    work.out[0] = v.data();
    work.out[1] = u.data();
    work.terms[0] = {u.data(), T(1)};
    work.terms[1] = {v.data(), T(-0.5)};
    work.terms[2] = {v.data(), T(2)};
    work.group[0] = {2, 2, {{made.out[0], 0}, {nullptr, 1}}};
    work.group[1] = {3, 1, {{made.out[1], 0}}};
    modes::run<T>(stream_, work, variant);
    auto result = fetched(v);
    for (T const value : fetched(u)) result.push_back(value);
    return result;
  }

  /// Three fields with their modes paired.
  std::vector<T> paired(std::string_view variant) {
    auto u = numbers(3 * layout_.kept_size() * layout_.numbers(), 7);
    modes::Pairing<T> work;
    work.layout = layout_;
    work.has_last = layout_.kept[0] > 1;
    for (int axis = 1; axis < grid_.dims; ++axis) work.waves[static_cast<std::size_t>(axis)] = true;
    work.fields = 3;
    work.values = u.data();
    if (waves()) modes::run<T>(stream_, work, variant);
    return fetched(u);
  }

 private:
  bool waves() const { return layout_.is_complex; }
  template <class Value>
  Buffer<Value> uploaded(std::vector<Value> const& values) {
    Buffer<Value> buffer(stream_, MemorySpace::device, values.size());
    copy_async(buffer.span(), std::span<Value const>(values), stream_);
    stream_.synchronize();
    return buffer;
  }
  Buffer<T> numbers(std::int64_t count, int seed) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<T>(std::sin(1.7 * static_cast<double>(i + 31 * seed))));
    return uploaded(values);
  }
  std::vector<T> fetched(Buffer<T> const& buffer) {
    std::vector<T> host(buffer.size());
    copy_async(std::span(host), buffer.span(), stream_);
    stream_.synchronize();
    return host;
  }

  Stream& stream_;
  Grid grid_;
  equations::BeyondSides sides_;
  modes::Layout layout_;
};

/// The first row is of the host. Where both are, they have the same bits; else symbols and matrices
/// agree to a few roundings, and with them their products.
template <class T>
void check_rows(Stream& stream, std::string_view first, std::string_view second) {
  Stream host(Device::open(Backend::cpu));
  bool const same = stream.backend() == Backend::cpu;
  for (auto const& one : modes_cases()) {
    ModesWork<T> a(host, one), b(stream, one);
    auto const agree = [&](std::vector<T> const& x, std::vector<T> const& y, char const* what) {
      ASSERT_EQ(x.size(), y.size());
      double largest = 0, apart = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_TRUE(std::isfinite(x[i]) && std::isfinite(y[i])) << what;
        largest = std::max(largest, std::abs(static_cast<double>(x[i])));
        apart = std::max(apart, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
      }
      EXPECT_LE(apart, same ? 0 : 16 * std::numeric_limits<T>::epsilon() * largest)
          << what << ", " << one.points.size() << "D of " << one.points[0];
    };
    agree(a.combined(first, true), b.combined(second, true), "all sums");
    agree(a.combined(first, false), b.combined(second, false), "kept sums");
    agree(a.updated(first), b.updated(second), "updates");
    agree(a.paired(first), b.paired(second), "pairs");
  }
}

}  // namespace gridstride::test
