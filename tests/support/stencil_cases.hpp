#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/stencil/stencil.hpp"

/// Random problems for the diffusion stencil, run on any device and compared on the host.
namespace gridstride::test {

struct StencilCase {
  Grid grid;
  std::array<std::array<SideKind, 2>, 3> kinds;
  bool variable = false;
  bool source = false;
  bool base = false;
  int terms = 0;
  enum class Out { apart, base, term } out = Out::apart;

  std::string text() const {
    static constexpr char letters[] = "pdn";
    std::string sides;
    for (int axis = 0; axis < grid.dims; ++axis)
      for (auto kind : kinds[axis]) sides += letters[static_cast<int>(kind)];
    return format_points(grid) + " " + sides + (variable ? " variable" : "") +
           (source ? " source" : "") + (base ? " base" : "") + " terms " + std::to_string(terms) +
           (out == Out::apart ? "" : " in place");
  }
};

/// All kinds of sides, with and without field, source and terms, over sizes that are multiples of
/// nothing and of everything.
inline std::vector<StencilCase> stencil_cases() {
  static constexpr std::array<std::array<std::int64_t, 3>, 18> sizes = {{
      {3, 1, 1},
      {4, 1, 1},
      {33, 1, 1},
      {1023, 1, 1},
      {1024, 1, 1},
      {100003, 1, 1},
      {3, 3, 1},
      {5, 4, 1},
      {33, 31, 1},
      {128, 64, 1},
      {132, 67, 1},
      {257, 255, 1},
      {3, 3, 3},
      {4, 5, 6},
      {33, 7, 9},
      {64, 32, 16},
      {68, 13, 131},
      {31, 33, 32},
  }};
  constexpr SideKind p = SideKind::periodic, d = SideKind::dirichlet, n = SideKind::neumann;
  static constexpr std::array<std::array<SideKind, 2>, 5> pairs = {
      {{p, p}, {d, d}, {n, n}, {d, n}, {n, d}}};
  std::vector<StencilCase> cases;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    for (std::size_t b = 0; b < pairs.size(); ++b) {
      StencilCase one;
      one.grid.points = sizes[s];
      one.grid.dims = sizes[s][2] > 1 ? 3 : sizes[s][1] > 1 ? 2 : 1;
      one.grid.spacing = {0.5, 0.25, 0.75};
      for (std::size_t axis = 0; axis < 3; ++axis) one.kinds[axis] = pairs[(b + axis * s) % 5];
      one.variable = (s + b) % 2 == 0;
      one.source = (s + b) % 3 == 0;
      one.base = (s + b) % 4 > 1;
      one.terms = one.base ? static_cast<int>((s + 2 * b) % 3) : 0;
      if (one.base && b % 2 == 0) one.out = StencilCase::Out::base;
      if (one.terms > 0 && b % 3 == 0) one.out = StencilCase::Out::term;
      cases.push_back(one);
    }
  }
  return cases;
}

/// Plain steps with constant diffusivity: every kind of sides, over sizes below and above what a
/// tile, a warp and a cluster hold. `large` ones take their time on a host.
inline std::vector<StencilCase> repeated_cases(bool large) {
  std::vector<std::array<std::int64_t, 3>> sizes = {
      {3, 1, 1},    {4, 1, 1}, {33, 1, 1}, {113, 1, 1}, {1023, 1, 1},
      {1024, 1, 1}, {3, 3, 1}, {5, 4, 1},  {33, 31, 1}, {64, 9, 1},
      {132, 67, 1}, {3, 3, 3}, {4, 5, 6},  {33, 7, 9},  {36, 12, 8}};
  if (large)
    sizes = {{4096, 1, 1},  {24577, 1, 1}, {100003, 1, 1}, {128, 128, 1}, {250, 131, 1},
             {256, 256, 1}, {257, 255, 1}, {600, 70, 1},   {68, 13, 131}, {130, 67, 20}};
  constexpr SideKind p = SideKind::periodic, d = SideKind::dirichlet, n = SideKind::neumann;
  static constexpr std::array<std::array<SideKind, 2>, 5> pairs = {
      {{p, p}, {d, d}, {n, n}, {d, n}, {n, d}}};
  std::vector<StencilCase> cases;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    for (std::size_t b = 0; b < pairs.size(); ++b) {
      StencilCase one;
      one.grid.points = sizes[s];
      one.grid.dims = sizes[s][2] > 1 ? 3 : sizes[s][1] > 1 ? 2 : 1;
      one.grid.spacing = {0.5, 0.25, 0.75};
      for (std::size_t axis = 0; axis < 3; ++axis)
        one.kinds[axis] = pairs[(b + axis * (s % 4 + 1)) % 5];
      cases.push_back(one);
    }
  }
  return cases;
}

/// Sizes about the tiles of the kernels that make several steps in a pass, with every pair of kinds
/// of sides in 1D and 2D.
inline std::vector<StencilCase> tile_cases() {
  constexpr std::array<std::int64_t, 24> lines = {5,    17,   32,   575,  576,  577, 608, 831,
                                                  832,  833,  863,  864,  895,  896, 897, 960,
                                                  1663, 1664, 1665, 2048, 4099, 63,  64,  65};
  constexpr std::array<std::int64_t, 26> widths = {3,   4,   5,   8,   33,  104, 112, 113, 116,
                                                   119, 121, 124, 127, 128, 131, 132, 136, 225,
                                                   227, 231, 232, 233, 240, 257, 340, 343};
  constexpr std::array<std::int64_t, 11> heights = {3, 4, 5, 9, 12, 23, 40, 64, 110, 255, 300};
  std::vector<std::array<std::int64_t, 3>> sizes = {
      {7, 3, 9},     {8, 8, 8},     {66, 70, 12},  {72, 61, 20}, {132, 64, 9},   {136, 60, 20},
      {137, 61, 21}, {257, 55, 40}, {264, 130, 7}, {400, 20, 5}, {100, 200, 50}, {31, 33, 32}};
  for (auto const length : lines) sizes.push_back({length, 1, 1});
  for (std::size_t i = 0; i < widths.size(); ++i)
    sizes.push_back({widths[i], heights[i % heights.size()], 1});
  constexpr SideKind p = SideKind::periodic, d = SideKind::dirichlet, n = SideKind::neumann;
  static constexpr std::array<std::array<SideKind, 2>, 5> pairs = {
      {{p, p}, {d, d}, {n, n}, {d, n}, {n, d}}};
  std::vector<StencilCase> cases;
  for (auto const& size : sizes) {
    int const dims = size[2] > 1 ? 3 : size[1] > 1 ? 2 : 1;
    for (std::size_t b = 0; b < (dims == 2 ? 25u : 5u); ++b) {
      StencilCase one;
      one.grid.points = size;
      one.grid.dims = dims;
      one.grid.spacing = {0.5, 0.25, 0.75};
      one.kinds = {pairs[b % 5], pairs[dims == 2 ? b / 5 : (2 * b + 1) % 5],
                   pairs[(3 * b + 2) % 5]};
      cases.push_back(one);
    }
  }
  return cases;
}

/// Numbers of steps that are multiples of nothing, of 16, and between.
inline constexpr std::array<std::int64_t, 7> repeated_steps = {1, 2, 3, 5, 7, 16, 33};

template <class T>
std::vector<T> random_values(std::size_t size, std::mt19937_64& generator, double low = -1,
                             double high = 1) {
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> values(size);
  for (auto& value : values) value = static_cast<T>(uniform(generator));
  return values;
}

/// A case's arrays on one device.
template <class T>
class StencilProblem {
 public:
  /// `in` and `out` lie so many elements beyond where their memory begins.
  StencilProblem(Stream& stream, StencilCase const& one, std::size_t in_offset = 0,
                 std::size_t out_offset = 0)
      : stream_(stream) {
    std::mt19937_64 generator(42);
    auto const size = static_cast<std::size_t>(one.grid.size());
    step_.grid = one.grid;
    initial_ = random_values<T>(size, generator);
    step_.in = array(initial_, in_offset);
    if (one.base) {
      step_.base = array(random_values<T>(size, generator));
      step_.in_weight = one.terms > 0 ? 0.25 : 0;
    }
    step_.factor = 0.01;
    step_.diffusivity = 0.8;
    if (one.variable) step_.diffusivity_field = array(random_values<T>(size, generator, 0.5, 1.5));
    if (one.source) step_.source = array(random_values<T>(size, generator));
    for (int j = 0; j < one.terms; ++j)
      step_.terms[j] = {array(random_values<T>(size, generator)), 0.5 - j};
    for (int axis = 0; axis < one.grid.dims; ++axis)
      for (int side = 0; side < 2; ++side) {
        auto const face = static_cast<std::size_t>(one.grid.face_size(axis));
        step_.sides[axis][side] = {one.kinds[axis][side], array(random_values<T>(face, generator))};
      }
    // Poison: a point that a kernel leaves out is seen.
    T* const poisoned =
        array(std::vector<T>(size, std::numeric_limits<T>::quiet_NaN()), out_offset);
    step_.out = one.out == StencilCase::Out::apart  ? poisoned
                : one.out == StencilCase::Out::base ? const_cast<T*>(step_.base)
                                                    : const_cast<T*>(step_.terms[0].values);
  }

  std::vector<T> run(std::string_view variant) {
    stencil::diffuse(stream_, step_, variant);
    return values(step_.out);
  }

  /// The result of several steps from the initial values.
  std::vector<T> repeat(std::int64_t steps, stencil::Repetition const& repetition) {
    T* const first = const_cast<T*>(step_.in);
    copy_async(std::span(first, initial_.size()), std::span(std::as_const(initial_)), stream_);
    return values(stencil::diffuse_repeatedly(stream_, step_, first, step_.out, steps, repetition));
  }

  stencil::DiffusionStep<T> const& step() const { return step_; }

  std::vector<T> impose() {
    stencil::impose_dirichlet(stream_, step_.grid, step_.sides, step_.out);
    return values(step_.out);
  }

  /// Bound on the difference of two evaluations in another order: the number of operations, times
  /// the unit round-off, times the sum of the magnitudes that are added.
  double tolerance() const {
    double magnitude = 1 + 2 * step_.in_weight + step_.factor;
    for (int axis = 0; axis < step_.grid.dims; ++axis) {
      double const h = step_.grid.spacing[axis];
      magnitude += step_.factor * (6 / (h * h) + 3 / h);
    }
    for (auto const& term : step_.terms) magnitude += 2 * std::abs(term.weight);
    return 24 * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2 * magnitude;
  }

 private:
  T* array(std::vector<T> const& values, std::size_t offset = 0) {
    arrays_.emplace_back(stream_, MemorySpace::device, values.size() + offset);
    copy_async(arrays_.back().span().subspan(offset), std::span(values), stream_);
    stream_.synchronize();
    return arrays_.back().data() + offset;
  }

  std::vector<T> values(T const* source) {
    std::vector<T> result(static_cast<std::size_t>(step_.grid.size()));
    copy_async(std::span(result), std::span(source, result.size()), stream_);
    stream_.synchronize();
    return result;
  }

  Stream stream_;
  std::vector<T> initial_;
  stencil::DiffusionStep<T> step_;
  std::vector<Buffer<T>> arrays_;
};

/// The largest difference, NaN counting as infinite.
template <class T>
double largest_difference(std::vector<T> const& a, std::vector<T> const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest))
      largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  }
  return largest;
}

}  // namespace gridstride::test
