#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/star/star.hpp"
#include "support/stencil_cases.hpp"

/// Random problems for steps of waves, run on any device and compared on the host.
namespace gridstride::test {

struct StarCase {
  Grid grid;
  int order = 2;
  std::array<std::array<SideKind, 2>, 3> sides = {};
  bool variable = false;
  bool source = false;
  std::array<bool, 3> damping = {};
  bool in_place = false;

  std::string text() const {
    std::string text = format_points(grid) + " order " + std::to_string(order) + " ";
    for (int axis = 0; axis < grid.dims; ++axis)
      for (auto kind : sides[axis])
        text += kind == SideKind::periodic ? 'p' : kind == SideKind::fixed ? '0' : '=';
    for (int axis = 0; axis < grid.dims; ++axis) text += damping[axis] ? " damped" : "";
    return text + (variable ? " variable" : "") + (source ? " source" : "") +
           (in_place ? " in place" : "");
  }
};

/// All orders and kinds of sides, with and without fields, source and damping, over sizes that are
/// multiples of nothing and of everything; the smallest are all within reach of a side.
inline std::vector<StarCase> star_cases() {
  static constexpr std::array<std::array<std::int64_t, 3>, 16> sizes = {{
      {5, 1, 1},
      {9, 1, 1},
      {33, 1, 1},
      {1024, 1, 1},
      {10007, 1, 1},
      {5, 6, 1},
      {9, 5, 1},
      {33, 31, 1},
      {128, 64, 1},
      {132, 301, 1},
      {257, 255, 1},
      {5, 5, 5},
      {12, 7, 9},
      {64, 32, 16},
      {68, 13, 131},
      {31, 33, 34},
  }};
  constexpr SideKind p = SideKind::periodic, f = SideKind::fixed, e = SideKind::free;
  static constexpr std::array<std::array<SideKind, 2>, 5> pairs = {
      {{p, p}, {f, f}, {e, e}, {f, e}, {e, f}}};
  std::vector<StarCase> cases;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    for (std::size_t order = 0; order < 4; ++order) {
      StarCase one;
      one.grid.points = sizes[s];
      one.grid.dims = sizes[s][2] > 1 ? 3 : sizes[s][1] > 1 ? 2 : 1;
      one.grid.spacing = {0.5, 0.25, 0.75};
      one.order = 2 * static_cast<int>(order) + 2;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        one.sides[axis] = pairs[(s + 2 * axis + order) % 5];
        one.damping[axis] = (s + axis + order) % 4 == 0;
      }
      one.variable = (s + order) % 3 == 0;
      one.source = (s + 2 * order) % 5 == 0;
      one.in_place = (s + order) % 2 == 0;
      cases.push_back(one);
      if (s == 8 || s == 9 || s == 13) {  // whole vectors: once more with nothing beside
        one.variable = one.source = false;
        one.damping = {};
        cases.push_back(one);
      }
    }
  }
  return cases;
}

/// Steps that are all alike: planes as above, and one of several strips and chunks, with and
/// without a field of speeds.
inline std::vector<StarCase> repeated_cases() {
  std::vector<StarCase> cases;
  for (auto const& one : star_cases())
    if (one.grid.dims == 2) cases.push_back(one);
  StarCase large = cases.back();
  for (std::size_t order = 0; order < 4; ++order) {
    large.grid.points = {1084, 530 + static_cast<std::int64_t>(order), 1};
    large.order = 2 * static_cast<int>(order) + 2;
    std::rotate(large.sides.begin(), large.sides.begin() + 1, large.sides.end());
    large.variable = order % 2 == 0;
    cases.push_back(large);
    large.variable = !large.variable;
    cases.push_back(large);
  }
  for (auto& one : cases) {
    one.source = one.in_place = false;
    one.damping = {};
  }
  return cases;
}

/// A case's arrays on one device.
template <class T>
class StarProblem {
 public:
  StarProblem(Stream& stream, StarCase const& one) : stream_(stream) {
    std::mt19937_64 generator(42);
    auto const size = static_cast<std::size_t>(one.grid.size());
    step_.grid = one.grid;
    step_.order = one.order;
    step_.in = array(random_values<T>(size, generator));
    T* const previous = array(random_values<T>(size, generator));
    step_.previous = previous;
    step_.ratio = 0.75;
    step_.factor = 0.01;
    step_.speed_squared = 0.8;
    if (one.variable) step_.speed_squared_field = array(random_values<T>(size, generator, 0, 1));
    if (one.source) step_.source = array(random_values<T>(size, generator));
    step_.damping_time = 0.1;
    for (int axis = 0; axis < one.grid.dims; ++axis)
      if (one.damping[axis]) {
        auto sigma = random_values<T>(static_cast<std::size_t>(one.grid.points[axis]), generator);
        for (auto& value : sigma) value = std::max(value, T(0));  // half of them without damping
        step_.damping[axis] = array(sigma);
      }
    step_.sides = one.sides;
    // Poison: a point that a kernel leaves out is seen.
    step_.out =
        one.in_place ? previous : array(std::vector<T>(size, std::numeric_limits<T>::quiet_NaN()));
  }

  star::LeapfrogStep<T> const& step() const { return step_; }

  std::vector<T> run(std::string_view variant) {
    star::leapfrog(stream_, step_, variant);
    std::vector<T> result(static_cast<std::size_t>(step_.grid.size()));
    copy_async(std::span(result), std::span<T const>(step_.out, result.size()), stream_);
    stream_.synchronize();
    return result;
  }

  /// u now, and after it u a step before, after so many steps from values that are 0 on fixed
  /// sides.
  std::vector<T> repeat(std::int64_t steps, star::Repetition const& repetition) {
    auto const size = static_cast<std::size_t>(step_.grid.size());
    std::vector<T> const poison(size, std::numeric_limits<T>::quiet_NaN());
    star::WaveArrays<T> arrays = {
        settled(step_.in), settled(step_.previous), {array(poison), array(poison)}};
    star::leapfrog_repeatedly(stream_, step_, arrays, steps, repetition);
    std::vector<T> result(2 * size);
    copy_async(std::span(result).first(size), std::span<T const>(arrays.now, size), stream_);
    copy_async(std::span(result).last(size), std::span<T const>(arrays.before, size), stream_);
    stream_.synchronize();
    return result;
  }

  double energy() {
    Buffer<double> result(stream_, MemorySpace::device, 1);
    star::energy(stream_, step_, 0.1, result.span());
    double value = 0;
    copy_async(std::span(&value, 1), result.span(), stream_);
    stream_.synchronize();
    return value;
  }

  /// Sum of the magnitudes that are added, for values up to 1.
  double magnitude() const {
    double sum = 1 + 2 * step_.ratio + step_.factor;
    for (int axis = 0; axis < step_.grid.dims; ++axis)
      for (double const weight : star::central_weights(step_.order))
        sum += 4 * step_.factor * std::abs(weight) / std::pow(step_.grid.spacing[axis], 2);
    return sum;
  }

  /// Bound on the difference of two evaluations that round otherwise: the number of operations,
  /// times the unit round-off, times the sum of the magnitudes that are added.
  double tolerance() const {
    int const operations = 4 * step_.grid.dims * step_.order / 2 + 12;
    return operations * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2 * magnitude();
  }

 private:
  /// A copy with zeros on fixed sides.
  T* settled(T const* values) {
    T* const copy = array(std::vector<T>(static_cast<std::size_t>(step_.grid.size())));
    star::LeapfrogStep<T> step = step_;
    step.in = step.previous = values;
    step.out = copy;
    step.factor = 0;
    star::leapfrog(stream_, step);
    return copy;
  }

  T* array(std::vector<T> const& values) {
    arrays_.emplace_back(stream_, MemorySpace::device, values.size());
    copy_async(arrays_.back().span(), std::span(values), stream_);
    stream_.synchronize();
    return arrays_.back().data();
  }

  Stream stream_;
  star::LeapfrogStep<T> step_;
  std::vector<Buffer<T>> arrays_;
};

/// Point sources: two at one point, one beside it.
inline std::vector<star::RickerTerm> ricker_terms() {
  return {{2, 3.0, 5.0, 0.25, 0}, {2, -1.0, 7.0, 0.1, 0}, {4, 2.0, 1.0, 0.5, 8.0}};
}

/// Of boxes in their order, the shares of which add up to the energy, by pieces, to the bit, as pieces of any points
/// that begin with one do; of all sides and orders, where points lie beside a side and where not. Returns how many cases.
template <class T>
int compare_energy_of_parts(Backend backend) {
  Stream stream(Device::open(backend));
  int compared = 0;
  for (auto const& one : star_cases()) {
    std::int64_t const size = one.grid.size();
    if (size > 100000) continue;
    StarProblem<T> problem(stream, one);
    auto const step = problem.step();
    auto const [nx, ny, nz] = one.grid.points;
    std::vector<double> shares(static_cast<std::size_t>(size), -1);
    Buffer<double> box(stream, MemorySpace::pinned, shares.size());
    // The lower part of each line, the upper one, and so of lines.
    using Ends = std::array<std::int64_t, 2>;
    for (std::int64_t z = 0; z < nz; ++z)
      for (auto const& [first_y, last_y] : {Ends{0, ny / 2}, Ends{ny / 2, ny}})
        for (auto const& [first_x, last_x] : {Ends{0, nx / 3}, Ends{nx / 3, nx}}) {
          std::int64_t const width = last_x - first_x, lines = last_y - first_y;
          star::energy_shares(stream, step, 0.1, {{first_x, first_y, z}, {width, lines, 1}},
                              box.data());
          stream.synchronize();
          for (std::int64_t j = 0; j < lines; ++j)
            std::copy_n(box.data() + j * width, width,
                        shares.begin() + first_x + nx * (first_y + j + ny * z));
        }
    std::vector<double> pieces;
    for (std::span<double const> rest = shares; !rest.empty();) {
      auto const piece = rest.first(std::min<std::size_t>(rest.size(), star::energy_piece));
      pieces.push_back(star::sum_of_shares(backend, piece));
      rest = rest.subspan(piece.size());
    }
    for (std::size_t first = 0; first < pieces.size(); ++first) {
      std::int64_t const begin = static_cast<std::int64_t>(first) * star::energy_piece;
      std::vector<double> found(pieces.size() - first);
      Buffer<double> sums(stream, MemorySpace::device, found.size());
      star::energy_pieces(stream, step, 0.1, {begin, size - begin}, sums.span());
      copy_async(std::span(found), std::as_const(sums).span(), stream);
      stream.synchronize();
      EXPECT_TRUE(std::ranges::equal(found, std::span(pieces).subspan(first))) << one.text();
    }
    double sum = 0;
    Stream host(Device::open(Backend::cpu));
    reduce::sum<double>(host, pieces, std::span(&sum, 1));
    EXPECT_EQ(problem.energy(), sum) << one.text();
    ++compared;
  }
  return compared;
}

}  // namespace gridstride::test
