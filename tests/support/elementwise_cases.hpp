#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/elementwise/elementwise.hpp"

/// Problems for the element-by-element kernels, run on any device and compared on the host.
namespace gridstride::test {

using elementwise::Operation;

struct ElementwiseCase {
  Operation operation = Operation::fill;
  std::int64_t size = 0;
  std::array<std::int64_t, 3> offsets = {};  ///< of x, y and the output, in elements
  bool in_place = false;                     ///< the output is x where that is allowed
  std::int64_t columns = 0;                  ///< of matrices; size / columns rows
  std::array<std::int64_t, 3> gaps = {};     ///< stride less columns, of x, y and the output

  std::string text() const {
    static constexpr std::array<char const*, 9> names = {
        "add", "axpy", "scale", "fill", "matrix_add", "dot3", "gather", "component", "magnitude"};
    return fmt::format("{} of {} elements, {} columns, gaps {} {} {}, offsets {} {} {}{}",
                       names[static_cast<std::size_t>(operation)], size, columns, gaps[0], gaps[1],
                       gaps[2], offsets[0], offsets[1], offsets[2], in_place ? ", in place" : "");
  }
};

/// Every operation at one size: aligned, misaligned alike and each differently, in place. Matrices
/// of one row, three, one column, three and about a square, with gaps that keep all rows aligned,
/// that shift every row alike, and that differ.
inline std::vector<ElementwiseCase> elementwise_cases(std::int64_t size) {
  static constexpr std::array<std::array<std::int64_t, 3>, 5> offsets = {
      {{0, 0, 0}, {1, 1, 1}, {3, 3, 1}, {3, 3, 3}, {2, 1, 0}}};
  static constexpr std::array<std::array<std::int64_t, 3>, 4> gaps = {
      {{0, 0, 0}, {4, 8, 4}, {1, 1, 1}, {3, 0, 2}}};
  auto const side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(size)));
  std::vector<ElementwiseCase> cases;
  for (auto const& offset : offsets) {
    for (auto const operation :
         {Operation::add, Operation::axpy, Operation::scale, Operation::fill, Operation::dot3,
          Operation::gather, Operation::component, Operation::magnitude})
      cases.push_back({operation, size, offset, false, 0, {}});
    for (auto const operation : {Operation::add, Operation::axpy})
      cases.push_back({operation, size, offset, true, 0, {}});
    for (std::int64_t const columns : {std::int64_t{1}, std::int64_t{3}, side, size / 3, size})
      for (auto const& gap : gaps) {
        std::int64_t const whole = columns > 0 ? size / columns * columns : 0;
        bool const in_place = offset[0] == 1;
        cases.push_back({Operation::matrix_add, whole, offset, in_place, columns, gap});
      }
  }
  return cases;
}

/// Fewer of them, for a size where each takes its time.
inline std::vector<ElementwiseCase> large_elementwise_cases(std::int64_t size) {
  std::vector<ElementwiseCase> cases = elementwise_cases(size);
  std::erase_if(cases, [](ElementwiseCase const& one) {
    return one.offsets[1] == 3 || one.columns == 1 || (one.columns > 0 && one.gaps[0] == 4);
  });
  return cases;
}

/// Values of all magnitudes, among them zeros of both signs, subnormals, infinities and NaN. They
/// repeat after a prime, since many are needed.
template <class T>
std::vector<T> wild_values(std::size_t size, std::mt19937_64& generator) {
  using Limits = std::numeric_limits<T>;
  static std::array<T, 8> const special = {T(0),
                                           T(-0.0),
                                           Limits::infinity(),
                                           -Limits::infinity(),
                                           Limits::quiet_NaN(),
                                           Limits::denorm_min(),
                                           Limits::max(),
                                           Limits::min()};
  std::uniform_real_distribution<double> mantissa(-2, 2);
  std::uniform_int_distribution<int> exponent(-20, 20), choice(0, 63);
  std::vector<T> period(std::min<std::size_t>(size, 4099));
  for (auto& value : period) {
    auto const chosen = static_cast<std::size_t>(choice(generator));
    value = chosen < special.size()
                ? special[chosen]
                : static_cast<T>(std::ldexp(mantissa(generator), exponent(generator)));
  }
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; i += period.size())
    std::copy_n(period.begin(), std::min(period.size(), size - i),
                values.begin() + static_cast<std::ptrdiff_t>(i));
  return values;
}

/// Whether the bits agree; one NaN is as good as another.
template <class T>
bool same_value(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) || (std::isnan(a) && std::isnan(b));
}

/// The first place where the arrays differ, or -1.
template <class T>
std::int64_t first_difference(std::vector<T> const& a, std::vector<T> const& b) {
  if (a.size() != b.size()) return 0;
  auto const [at, end] = std::mismatch(a.begin(), a.end(), b.begin(), same_value<T>);
  return at == a.end() ? -1 : at - a.begin();
}

/// A case's arrays on one device.
template <class T>
class ElementwiseProblem {
 public:
  ElementwiseProblem(Stream& stream, ElementwiseCase const& one)
      : stream_(stream), case_(one), generator_(7) {
    for (std::size_t n = 0; n < 3; ++n) {
      bool const tripled =
          (one.operation == Operation::dot3 || one.operation == Operation::component ||
           one.operation == Operation::magnitude) &&
          n < 2;
      extents_[n] = static_cast<std::size_t>(tripled ? 3 * one.size : extent(n));
      arrays_[n] = upload(wild_values<T>(padding + extents_[n] + padding, generator_));
    }
    if (one.operation != Operation::gather) return;
    std::vector<std::int64_t> index(static_cast<std::size_t>(one.size));
    std::uniform_int_distribution<std::int64_t> any(0, std::max<std::int64_t>(0, one.size - 1));
    for (auto& i : index) i = any(generator_);
    index_ = upload(index);
  }

  /// Runs the case. The result is all memory about the output, so that a stray store is seen.
  std::vector<T> run(std::string_view variant) {
    auto const x = input(0), y = input(1);
    // axpy writes y, and scale x, in any case.
    std::size_t const target = case_.operation == Operation::axpy    ? 1
                               : case_.operation == Operation::scale ? 0
                               : case_.in_place                      ? 0
                                                                     : 2;
    auto const out = output(target);
    T const a = static_cast<T>(1.7);
    switch (case_.operation) {
      case Operation::add:
        elementwise::add<T>(stream_, x, y, out, variant);
        break;
      case Operation::axpy:
        elementwise::axpy<T>(stream_, a, case_.in_place ? out : x, out, variant);
        break;
      case Operation::scale:
        elementwise::scale<T>(stream_, a, out, variant);
        break;
      case Operation::fill:
        elementwise::fill<T>(stream_, a, out, variant);
        break;
      case Operation::matrix_add: {
        auto const c = matrix<T>(target);
        elementwise::matrix_add<T>(stream_, matrix<T const>(0), matrix<T const>(1), c, variant);
        break;
      }
      case Operation::dot3:
        elementwise::dot3<T>(stream_, x, y, out, variant);
        break;
      case Operation::gather:
        elementwise::gather<T>(stream_, x, index_.span(), out, variant);
        break;
      case Operation::component:
        elementwise::component<T>(stream_, x, 3, 1, out, variant);
        break;
      case Operation::magnitude:
        elementwise::magnitude<T>(stream_, x, 3, out, variant);
        break;
    }
    return download(arrays_[target]);
  }

 private:
  static constexpr std::size_t padding = 8;

  std::int64_t extent(std::size_t n) const {
    if (case_.operation != Operation::matrix_add || case_.size == 0) return case_.size;
    std::int64_t const rows = case_.size / case_.columns;
    return (rows - 1) * (case_.columns + case_.gaps[n]) + case_.columns;
  }
  T* begin(std::size_t n) { return arrays_[n].data() + padding + case_.offsets[n]; }
  std::span<T const> input(std::size_t n) { return {begin(n), extents_[n]}; }
  std::span<T> output(std::size_t n) { return {begin(n), static_cast<std::size_t>(case_.size)}; }
  template <class U>
  elementwise::Matrix<U> matrix(std::size_t n) {
    std::int64_t const rows = case_.columns > 0 ? case_.size / case_.columns : 0;
    return {begin(n), rows, case_.columns, case_.columns + case_.gaps[n]};
  }

  template <class U>
  Buffer<U> upload(std::vector<U> const& values) {
    Buffer<U> buffer(stream_, MemorySpace::device, values.size());
    copy_async(buffer.span(), std::span(values), stream_);
    stream_.synchronize();
    return buffer;
  }
  std::vector<T> download(Buffer<T> const& buffer) {
    std::vector<T> values(buffer.size());
    copy_async(std::span(values), buffer.span(), stream_);
    stream_.synchronize();
    return values;
  }

  Stream stream_;
  ElementwiseCase case_;
  std::mt19937_64 generator_;
  std::array<std::size_t, 3> extents_ = {};
  std::array<Buffer<T>, 3> arrays_;
  Buffer<std::int64_t> index_;
};

/// Runs every row of the backend on the cases and compares with `reference`; counts comparisons.
/// `report(row, case, where)` is called for each case where they differ.
template <class T, class Report>
int compare_elementwise(Backend backend, std::vector<ElementwiseCase> const& cases,
                        Report const& report) {
  Stream host(Device::open(Backend::cpu));
  Stream stream(Device::open(backend));
  int compared = 0;
  for (auto const& one : cases) {
    auto const expected = ElementwiseProblem<T>(host, one).run("reference");
    for (auto const& row : elementwise::variants<T>()) {
      if (row.backend != backend) continue;
      auto const found = ElementwiseProblem<T>(stream, one).run(row.name);
      if (auto const where = first_difference(expected, found); where >= 0)
        report(row.name, one, where);
      ++compared;
    }
  }
  return compared;
}

}  // namespace gridstride::test
