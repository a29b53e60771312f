#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/evaluate/evaluate.hpp"
#include "model/state.hpp"
#include "model/values.hpp"
#include "support/heat_cases.hpp"
#include "support/sweep_cases.hpp"

/// Coefficients on some planes of a grid, beside the same on all of it.
namespace gridstride::test {

/// A grid of 11 planes whose coordinates have digits to lose.
inline config::RunConfig planes_of(int dims) {
  static constexpr char const* grids[] = {
      "{points: 11, lower: -0.3, upper: 1.4}",
      "{points: [6, 11], lower: [0.7, -0.3], upper: [1.9, 1.4]}",
      "{points: [6, 5, 11], lower: [0.7, 3, -0.3], upper: [1.9, 7, 1.4]}"};
  return config_of(
      fmt::format("simulation: heat\ngrid: {}\ninitial: {{u: 0}}\nboundary: {}\n"
                  "parameters: {{diffusivity: 1}}\ntime: {{end: 1}}\n",
                  grids[dims - 1],
                  dims == 1   ? "{x: periodic}"
                  : dims == 2 ? "{x: periodic, y: periodic}"
                              : "{x: periodic, y: periodic, z: periodic}"));
}

/// Before and after it is evaluated anew.
template <class T>
void expect_planes_bits(Backend backend, int dims, Planes const& planes, std::string const& text) {
  SCOPED_TRACE(fmt::format("{} at planes {} to {} in {}D", text, planes.lower, planes.upper, dims));
  auto const run = planes_of(dims);
  Stream stream(Device::open(backend));
  Buffer<evaluate::DeviceClock> clock(stream, MemorySpace::device, 1);
  evaluate::set_clock(stream, clock.data(), {0.37, 0.021, 3});
  auto const row = coefficient(
      run, "a",
      source_of({text, expression::Expression::parse(text, {}, expression::space_and_time), {}}));
  auto part_row = row;
  part_row.planes = planes;
  Array<T> whole(stream, row, run, {}, clock.data()), part(stream, part_row, run, {}, clock.data());
  std::int64_t const line = run.grid.face_size(dims - 1), all = run.grid.size() / line;
  auto const expect_same = [&] {
    auto const expected = fetched(stream, whole.data(), whole.span().size());
    auto const found = fetched(stream, part.data(), part.span().size());
    ASSERT_EQ(std::ssize(found), planes.count() * line);
    EXPECT_EQ(part.at(planes.lower + 1), part.data() + line);
    for (std::int64_t i = 0; i < std::ssize(found); ++i) {
      std::int64_t const plane = planes.lower + i / line, at = (plane % all + all) % all;
      ASSERT_EQ(found[static_cast<std::size_t>(i)],
                expected[static_cast<std::size_t>(at * line + i % line)])
          << plane << ' ' << i % line;
    }
  };
  expect_same();
  if (!whole.changes()) return;
  evaluate::advance_clock(stream, clock.data());
  for (auto* const array : {&whole, &part}) array->refresh(stream, clock.data(), {.time = 0.5});
  expect_same();
}

template <class T>
void expect_all_planes_bits(Backend backend) {
  constexpr char const* axes = "xyz";
  for (int const dims : {1, 2, 3})
    for (auto const& planes : {Planes{-4, 5}, {3, 8}, {7, 14}, {0, 11}, {-3, 12}})
      for (std::string const formula :
           {"sin({0})*exp(-{0}^2) + x", "{0}*t + 0.1",
            "if({0} < 0.55, sqrt(2 + {0}), log(3 + x*t))", "cos(7*t)/(1 + x^2)"})
        expect_planes_bits<T>(backend, dims, planes,
                              fmt::format(fmt::runtime(formula), axes[dims - 1]));
}

}  // namespace gridstride::test
