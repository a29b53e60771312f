#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "kernels/poisson/layers.hpp"
#include "kernels/poisson/shared_transforms.hpp"
#include "kernels/poisson/transform.hpp"
#include "support/shared_equation_cases.hpp"

/// Equations that ranks of one process share and solve by transforms, against those that it has alone.
namespace gridstride::poisson::test {

struct TransformCase {
  std::vector<std::int64_t> points;
  std::string sides;
  std::optional<int> eliminated = {};
  bool varies = false;    ///< coefficients, along that axis
  bool singular = false;  ///< no reaction, on sides where u is not given

  std::string text() const {
    return fmt::format("{} {} eliminated {} varies {} singular {}", fmt::join(points, "x"), sides,
                       eliminated.value_or(-1), varies, singular);
  }
};

/// Two solutions by one solver, of all planes or of those of a rank, the second in place, where
/// Dirichlet sides have values that stay.
template <class T>
std::vector<T> solve_by_transforms(Stream& stream, TransformCase const& one, RankPlanes* planes) {
  auto const e = shared_equation<T>(one.points, one.sides, false, Precision::float64);
  auto const on_device = [&](std::vector<double> const& values) {
    return to_device<T>(stream, planes == nullptr ? values : held_planes(*planes, values));
  };
  std::vector<double> of_layers, other(e.right.rbegin(), e.right.rend());
  for (std::int64_t i = 0; i < e.grid.size(); ++i) {
    auto const axis = static_cast<std::size_t>(one.eliminated.value_or(0));
    std::int64_t const stride = axis == 0 ? 1 : axis == 1 ? e.grid.points[0] : e.grid.face_size(2);
    of_layers.push_back(1 + 0.25 * static_cast<double>(i / stride % e.grid.points[axis] % 3));
  }
  Buffer<T> a, kappa;
  if (one.varies) a = on_device(of_layers);
  if (one.varies && !one.singular) kappa = on_device(of_layers);
  Equation<T> const equation{.grid = e.grid,
                             .sides = e.sides,
                             .diffusivity = 1.5,
                             .diffusivities = a.data(),
                             .reaction = one.singular ? 0 : 0.5,
                             .reactions = kappa.data(),
                             .ranks = planes};
  auto const first = on_device(e.right);
  auto u = on_device(other), v = on_device(other);
  auto const solve_both = [&](auto& solver) {
    solver.solve(stream, first.span(), u.span());
    solver.solve(stream, v.span(), v.span());
  };
  if (one.eliminated) {
    LayerSolver<T> solver(stream, equation, *one.eliminated, one.singular);
    solve_both(solver);
  } else {
    TransformSolver<T> solver(stream, equation);
    solve_both(solver);
  }
  auto solution = from_device(stream, u);
  auto const second = from_device(stream, v);
  if (planes != nullptr) {
    auto const line = static_cast<std::size_t>(e.grid.face_size(e.grid.dims - 1));
    std::vector<T> own(solution.begin() + static_cast<std::ptrdiff_t>(line),
                       solution.end() - static_cast<std::ptrdiff_t>(line));
    own.insert(own.end(), second.begin() + static_cast<std::ptrdiff_t>(line),
               second.end() - static_cast<std::ptrdiff_t>(line));
    return own;
  }
  solution.insert(solution.end(), second.begin(), second.end());
  return solution;
}

/// On so many ranks as one process has it, in every bit.
template <class T>
void expect_shared_transforms(Backend backend, TransformCase const& one, int count) {
  SCOPED_TRACE(fmt::format("{} of {} ranks", one.text(), count));
  Stream stream(Device::open(backend));
  auto const alone = solve_by_transforms<T>(stream, one, nullptr);
  std::size_t const size = alone.size() / 2;
  std::int64_t const all = one.points.back();
  RankCuts cuts;
  for (int rank = 0; rank <= count; ++rank) cuts.push_back(all * rank / count);
  EXPECT_TRUE(gridstride::test::on_ranks(count, [&](Ranks& ranks) {
    Stream own(Device::open(backend));
    std::size_t const line = size / static_cast<std::size_t>(all);
    RankPlanes planes(ranks, own, cuts, one.sides[one.sides.size() - 1] == 'p',
                      line * sizeof(double), 64);
    auto const found = solve_by_transforms<T>(own, one, &planes);
    auto const first = static_cast<std::size_t>(planes.lower()) * line;
    std::size_t const half = found.size() / 2;
    ASSERT_EQ(half, static_cast<std::size_t>(planes.upper() - planes.lower()) * line);
    for (std::size_t i = 0; i < half; ++i) {
      ASSERT_EQ(found[i], alone[first + i]) << first + i;
      ASSERT_EQ(found[half + i], alone[size + first + i]) << first + i;
    }
  }));
}

/// All kinds of sides, odd sizes, ranks with one plane, without unknowns and without columns.
inline std::vector<TransformCase> transform_cases() {
  return {{{9, 17}, "ppdd"},
          {{15, 12}, "dddn"},
          {{13, 7}, "ndpp"},
          {{8, 11}, "nnnd"},
          {{300, 9}, "dnnn"},
          {{5, 6, 7}, "ppdnpp"},
          {{12, 3, 10}, "dnddnn"},
          {{7, 11, 6}, "ndnnpp"},
          {{6, 5, 13}, "ddppdd"},
          {{10, 4, 5}, "pppppp", {}, false, true},
          {{9, 12}, "ppnn", {}, false, true}};
}

inline std::vector<TransformCase> layer_cases() {
  std::vector<TransformCase> cases = {
      {{9, 17}, "ppdd", 1},           {{11, 9}, "nnpp", 1},
      {{11, 9}, "ddnd", 0},           {{9, 8}, "ppnn", 0},
      {{5, 6, 7}, "ppdndd", 2},       {{7, 5, 9}, "dnppnd", 2},
      {{6, 7, 5}, "ndnnpp", 2},       {{6, 7, 5}, "ppddpp", 1},
      {{5, 8, 7}, "nddnnd", 0},       {{5, 140, 3}, "ppnddn", 1},
      {{6, 5, 150}, "ppnndd", 2},     {{7, 5, 6}, "ppnnnn", 2},
      {{6, 3, 5}, "nnddpp", 2, true}, {{9, 8}, "pppp", 1, false, true}};
  for (int axis = 0; axis < 3; ++axis) {
    cases.push_back({{5, 6, 7}, "nnppnn", axis, true, true});
    cases.push_back({{6, 5, 8}, "pppppp", axis, false, true});
    cases.push_back({{7, 6, 5}, "dnndpp", axis, true});
  }
  for (int axis = 0; axis < 2; ++axis) cases.push_back({{8, 7}, "ddnd", axis, true});
  return cases;
}

inline void expect_shared_transforms(Backend backend) {
  for (auto const& cases : {transform_cases(), layer_cases()})
    for (auto const& one : cases)
      for (int const count : {1, 2, 3, 5}) {
        if (one.points.back() < count) continue;
        expect_shared_transforms<double>(backend, one, count);
        expect_shared_transforms<float>(backend, one, count);
      }
}

/// What is done in between, on the host: each mode is multiplied by a number of its own.
template <class T>
void multiply_modes(SharedPart const& part, T* values) {
  auto const& [points, kinds, batch, in, out] = part.shape;
  for (std::int64_t z = 0; z < points[2]; ++z)
    for (std::int64_t y = 0; y < points[1]; ++y)
      for (std::int64_t x = 0; x < points[0]; ++x)
        values[part.first + x * in.axes[0] + y * in.axes[1] + z * in.axes[2]] *= static_cast<T>(
            1 + x + part.begin[0] + 3 * (y + part.begin[1]) + 7 * (z + part.begin[2]));
}

/// The same in several pieces, as between GPUs, of which some are empty.
template <class T>
void expect_pieces(std::vector<std::int64_t> const& points, std::string const& sides, int count,
                   int pieces) {
  auto const e = shared_equation<T>(points, sides, false, Precision::float64);
  Stream stream(Device::open(Backend::cpu));
  auto const unknowns = transform_shape(e.grid, e.sides);
  auto within = unknowns.shape;
  within.kinds[points.size() - 1] = fft::Kind::none;
  auto const right = to_device<T>(stream, e.right);
  auto expected = to_device<T>(stream, std::vector<double>(e.right.size(), -1));
  auto const first = static_cast<std::size_t>(unknowns.first);
  auto const values = expected.span().subspan(first);
  fft::transform<T>(stream, within, fft::Direction::forward, right.span().subspan(first), values);
  multiply_modes(SharedPart{within, 0, {}}, values.data());
  fft::transform<T>(stream, within, fft::Direction::inverse, values, values);
  std::int64_t const all = points.back();
  RankCuts cuts;
  for (int rank = 0; rank <= count; ++rank) cuts.push_back(all * rank / count);
  EXPECT_TRUE(gridstride::test::on_ranks(count, [&](Ranks& ranks) {
    auto const line = static_cast<std::size_t>(e.grid.face_size(e.grid.dims - 1));
    RankPlanes planes(ranks, stream, cuts, true, line * sizeof(double), 64);
    Equation<T> const equation{.grid = e.grid, .sides = e.sides, .ranks = &planes};
    SharedTransforms<T> transforms(stream, equation, pieces);
    auto const held = to_device<T>(stream, held_planes(planes, e.right));
    auto u = to_device<T>(stream,
                          std::vector<double>(line * static_cast<std::size_t>(planes.held()), -1));
    transforms.through_columns(stream, held.span(), u.span(), "auto",
                               [&](Stream&, SharedPart const& part) {
                                 multiply_modes(part, transforms.columns().data());
                               });
    auto const begin = static_cast<std::size_t>(planes.lower()) * line;
    for (std::size_t i = 0; i < u.size() - 2 * line; ++i)
      ASSERT_EQ(u.span()[line + i], expected.span()[begin + i]) << begin + i;
  }));
}

}  // namespace gridstride::poisson::test
