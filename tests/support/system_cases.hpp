#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/system/system.hpp"

/// Stages of systems on any device, compared on the host.
namespace gridstride::test {

/// A system of two components that has every kind of instruction, differences along and across the
/// axes, and reaches two points along x.
inline equations::StencilProgram mixed_program(Grid const& grid) {
  using expression::Operation;
  equations::System system{.dims = grid.dims, .terms = {}, .unknowns = {}, .rates = {}};
  auto& terms = system.terms;
  auto const u = terms.unknown(0), v = terms.unknown(1), x = terms.coordinate(0);
  auto const number = [&](double value) { return terms.number(value); };
  auto rate = terms.multiply(number(-0.01), terms.derivative(u, {4, 0, 0}));
  auto other = terms.multiply(u, terms.operation(Operation::sin, terms.time()));
  for (int axis = 0; axis < grid.dims; ++axis) {
    std::array<std::int8_t, 3> one = {0, 0, 0}, mixed = {1, 0, 0};
    one[static_cast<std::size_t>(axis)] = 1;
    mixed[static_cast<std::size_t>(axis)] = static_cast<std::int8_t>(axis == 0 ? 2 : 1);
    auto const gradient = terms.derivative(u, one);
    rate = terms.add(
        rate,
        terms.flux(terms.multiply(terms.add(number(1), terms.multiply(v, v)), gradient), axis));
    rate = terms.add(rate, terms.derivative(v, mixed));
    other = terms.subtract(other, terms.transport(u, v, axis));
    other = terms.add(other, terms.multiply(terms.coordinate(axis), terms.flux(x, axis)));
  }
  auto const positive = terms.operation(Operation::greater, v, number(0));
  auto const chosen =
      terms.operation(Operation::select, positive, terms.operation(Operation::exp, terms.negate(u)),
                      terms.operation(Operation::abs, u));
  other = terms.add(other, terms.divide(chosen, terms.add(number(2), terms.multiply(v, v))));
  // Numbers that are found, and random ones, also where they lie beyond a side.
  using equations::Kind;
  rate =
      terms.add(rate, terms.multiply(terms.global(Kind::mean, u), terms.random(Kind::uniform, 5)));
  rate = terms.add(rate, terms.derivative(terms.random(Kind::normal, 6), {4, 0, 0}));
  other = terms.add(other, terms.global(Kind::greatest, v));
  other = terms.add(other, terms.flux(terms.random(Kind::noise, 7), grid.dims - 1));
  system.rates = {rate, terms.add(other, terms.operation(Operation::power, u, number(3)))};
  auto const stencil = equations::discretise(system, grid);
  return equations::program_of(stencil.terms, stencil.rates, grid.dims);
}

inline char letter_of(SideKind kind) {
  static std::map<SideKind, char> const letters = {
      {SideKind::periodic, 'p'}, {SideKind::antiperiodic, 'a'}, {SideKind::dirichlet, 'd'},
      {SideKind::neumann, 'n'},  {SideKind::robin, 'r'},        {SideKind::wall, 'w'},
      {SideKind::outflow, 'o'}};
  return letters.at(kind);
}

struct SystemCase {
  Grid grid;
  std::array<std::array<SideKind, 2>, 3> kinds;
  bool is_stage = true;
  int addends = 0;
  bool in_place = false;  ///< the base's array takes the result

  std::string text() const {
    std::string sides;
    for (int axis = 0; axis < grid.dims; ++axis)
      for (auto kind : kinds[static_cast<std::size_t>(axis)]) sides += letter_of(kind);
    return format_points(grid) + " " + sides + (is_stage ? " stage " : " rates ") +
           std::to_string(addends) + (in_place ? " in place" : "");
  }
};

/// Sizes that are no multiples of anything, down to the fewest points that the sides take.
inline std::vector<SystemCase> system_cases() {
  constexpr SideKind p = SideKind::periodic, d = SideKind::dirichlet, n = SideKind::neumann,
                     o = SideKind::outflow, a = SideKind::antiperiodic, r = SideKind::robin,
                     w = SideKind::wall;
  static constexpr std::array<std::array<SideKind, 2>, 11> pairs = {
      {{p, p}, {d, d}, {n, n}, {d, n}, {n, o}, {o, d}, {a, a}, {r, r}, {w, d}, {r, w}, {o, r}}};
  static constexpr std::array<std::array<std::int64_t, 3>, 16> sizes = {{{3, 1, 1},
                                                                         {4, 1, 1},
                                                                         {5, 1, 1},
                                                                         {260, 1, 1},
                                                                         {261, 1, 1},
                                                                         {1031, 1, 1},
                                                                         {20011, 1, 1},
                                                                         {3, 2, 1},
                                                                         {4, 3, 1},
                                                                         {17, 31, 1},
                                                                         {263, 7, 1},
                                                                         {130, 67, 1},
                                                                         {3, 2, 2},
                                                                         {5, 4, 3},
                                                                         {33, 7, 9},
                                                                         {31, 33, 8}}};
  std::vector<SystemCase> cases;
  for (std::size_t s = 0; s < sizes.size(); ++s)
    for (std::size_t b = 0; b < pairs.size(); ++b) {
      SystemCase one;
      one.grid.points = sizes[s];
      one.grid.dims = sizes[s][2] > 1 ? 3 : sizes[s][1] > 1 ? 2 : 1;
      one.grid.origin = {-0.3, 0.2, 0.1};
      one.grid.spacing = {0.5, 0.25, 0.75};
      for (std::size_t axis = 0; axis < 3; ++axis)
        one.kinds[axis] = pairs[(b + axis * s) % pairs.size()];
      one.is_stage = (s + b) % 5 != 0;
      one.addends = one.is_stage ? static_cast<int>((s + 2 * b) % 3) : 0;
      one.in_place = one.is_stage && b % 2 == 0;
      cases.push_back(one);
    }
  // The fewest points: two where a line wraps around, one across.
  for (std::array<std::int64_t, 3> const& points :
       {std::array<std::int64_t, 3>{2, 1, 1}, {2, 1, 1}, {2, 1, 5}})
    cases.push_back({.grid = {.dims = 3, .points = points, .origin = {}, .spacing = {1, 1, 1}},
                     .kinds = {{{p, p}, {p, p}, {p, p}}}});
  return cases;
}

/// What a variant makes of a case with random values: both components, one after the other.
template <class T>
std::vector<T> run_system(Stream& stream, SystemCase const& one, std::string_view variant) {
  std::mt19937 random(17);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Buffer<T>> kept;
  auto const filled = [&](std::int64_t size) {
    std::vector<T> values(static_cast<std::size_t>(size));
    for (T& value : values) value = static_cast<T>(uniform(random));
    kept.emplace_back(stream, MemorySpace::device, values.size());
    copy_async(kept.back().span(), std::span<T const>(values), stream);
    stream.synchronize();
    return kept.back().data();
  };
  auto const program = mixed_program(one.grid);
  Buffer<evaluate::DeviceClock> clock(stream, MemorySpace::device, 1);
  evaluate::set_clock(stream, clock.data(), {0.25, 0.5, 3});
  std::vector<double> const numbers = {-1, 1, 0.1, 0.3, -2, 0.7, 0, 0};
  Buffer<double> found(stream, MemorySpace::device, numbers.size());
  copy_async(found.span(), std::span(numbers), stream);
  system::Step<T> step;
  step.program = &program;
  step.grid = one.grid;
  step.found = found.data();
  step.is_stage = one.is_stage;
  step.factor = 0.01;
  step.clock = clock.data();
  step.fraction = 0.5;
  if (one.in_place) step.in_weight = 1.0 / 3;
  for (int i = 0; i < one.addends; ++i) step.addend_weights.push_back(0.25 * (i + 1));
  std::int64_t const size = one.grid.size();
  for (int c = 0; c < 2; ++c) {
    system::Input<T> input;
    input.values = filled(size);
    for (int axis = 0; axis < one.grid.dims; ++axis)
      for (int side = 0; side < 2; ++side) {
        // The second component has other rules beyond sides that do not wrap.
        auto kind = one.kinds[static_cast<std::size_t>(axis)]
                             [static_cast<std::size_t>(c == 0 ? side : 1 - side)];
        input.sides[axis][side] = system::side_of<T>(
            kind, one.grid.spacing[static_cast<std::size_t>(axis)],
            c == 1 && side == 1 ? nullptr : filled(one.grid.face_size(axis)),
            c == 1 && side == 0 ? nullptr : filled(one.grid.face_size(axis)), c == axis);
      }
    system::Output<T> output;
    if (one.is_stage) output.base = one.in_place ? filled(size) : input.values;
    output.values = one.in_place ? kept.back().data() : filled(size);
    for (int i = 0; i < one.addends; ++i)
      output.addends[static_cast<std::size_t>(i)] = filled(size);
    step.inputs.push_back(input);
    step.outputs.push_back(output);
  }
  system::advance(stream, step, variant);
  std::vector<T> result(static_cast<std::size_t>(2 * size));
  for (std::size_t c = 0; c < 2; ++c)
    copy_async(std::span(result).subspan(c * result.size() / 2, result.size() / 2),
               std::span<T const>(step.outputs[c].values, static_cast<std::size_t>(size)), stream);
  stream.synchronize();
  return result;
}

}  // namespace gridstride::test
