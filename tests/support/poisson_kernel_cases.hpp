#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/poisson/elimination.hpp"
#include "kernels/poisson/layers.hpp"
#include "kernels/poisson/poisson.hpp"
#include "kernels/poisson/transform.hpp"

/// The functions of family `poisson` against matrices that are put together face by face.
namespace gridstride::poisson::test {

inline SideKind kind_of(char side) {
  return side == 'p' ? SideKind::periodic : side == 'd' ? SideKind::dirichlet : SideKind::neumann;
}

/// An equation with random coefficients and values on sides, in host memory, and what it comes to.
struct KnownEquation {
  Grid grid;
  Sides sides{};
  bool varies;                              // a and κ are arrays
  std::vector<double> a, kappa, f, u;       // at the points
  std::vector<double> values[3][2];         // on faces
  std::vector<std::vector<double>> matrix;  // by points; rows of given points are empty
  std::vector<double> right, volume;

  bool is_unknown(std::int64_t place) const {
    auto const at = grid.indices(place);
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis)
      if ((at[axis] == 0 && sides[axis][0] == SideKind::dirichlet) ||
          (at[axis] == grid.points[axis] - 1 && sides[axis][1] == SideKind::dirichlet))
        return false;
    return true;
  }
  /// Place of a point on the face normal to an axis.
  std::int64_t on_face(int axis, std::int64_t place) const {
    auto const at = grid.indices(place);
    return axis == 0 ? at[1] + at[2] * grid.points[1]
                     : at[0] + at[axis == 1 ? 2 : 1] * grid.points[0];
  }
};

inline KnownEquation known_equation(std::vector<std::int64_t> const& points,
                                    std::string const& kinds, bool varies) {
  KnownEquation e;
  e.varies = varies;
  e.grid.dims = static_cast<int>(points.size());
  std::mt19937 engine(7);
  // Eighths, so that float32 holds them too.
  auto const random = [&] { return static_cast<double>(engine() % 16) / 8 + 0.125; };
  for (std::size_t axis = 0; axis < points.size(); ++axis) {
    e.grid.points[axis] = points[axis];
    e.grid.spacing[axis] = axis == 0 ? 0.5 : axis == 1 ? 0.25 : 2;
    for (std::size_t side = 0; side < 2; ++side)
      e.sides[axis][side] = kind_of(kinds[2 * axis + side]);
  }
  auto const size = static_cast<std::size_t>(e.grid.size());
  auto const fill = [&](std::vector<double>& array, std::size_t count, bool same) {
    double const first = random();
    for (std::size_t i = 0; i < count; ++i) array.push_back(same ? first : random());
  };
  fill(e.a, size, !varies);
  fill(e.kappa, size, !varies);
  fill(e.f, size, false);
  fill(e.u, size, false);
  for (int axis = 0; axis < e.grid.dims; ++axis)
    for (auto& values : e.values[axis])
      fill(values, static_cast<std::size_t>(e.grid.face_size(axis)), false);
  // Each face gives what flows through it to the cells on both sides; a cell has the volume 1, less
  // by half for each Neumann side, and faces of its size.
  e.matrix.resize(size, std::vector<double>(size, 0));
  e.right.assign(size, 0);
  e.volume.assign(size, 1);
  for (std::int64_t p = 0; p < e.grid.size(); ++p) {
    auto const i = static_cast<std::size_t>(p);
    auto const at = e.grid.indices(p);
    for (std::size_t axis = 0; axis < points.size(); ++axis)
      for (std::size_t side = 0; side < 2; ++side)
        if (e.sides[axis][side] == SideKind::neumann &&
            at[axis] == (side == 0 ? 0 : points[axis] - 1))
          e.volume[i] /= 2;
    e.right[i] += e.volume[i] * e.f[i];
    e.matrix[i][i] += e.volume[i] * e.kappa[i];
  }
  std::int64_t stride = 1;
  for (std::size_t axis = 0; axis < points.size(); ++axis) {
    double const h = e.grid.spacing[axis];
    std::int64_t const n = points[axis];
    for (std::int64_t p = 0; p < e.grid.size(); ++p) {
      std::int64_t const at = e.grid.indices(p)[axis];
      bool const wraps = e.sides[axis][0] == SideKind::periodic;
      auto const i = static_cast<std::size_t>(p);
      // Of the cell's cross-section: halved by Neumann sides of the other axes alone.
      double area = e.volume[i];
      for (std::size_t side = 0; side < 2; ++side)
        if (e.sides[axis][side] == SideKind::neumann && at == (side == 0 ? 0 : n - 1)) {
          area *= 2;
          auto const v = static_cast<std::size_t>(e.on_face(static_cast<int>(axis), p));
          e.right[i] += area / h * e.a[i] * e.values[axis][side][v];
        }
      if (at == n - 1 && !wraps) continue;
      auto const j = static_cast<std::size_t>(at == n - 1 ? p - (n - 1) * stride : p + stride);
      double const through = area * (e.a[i] + e.a[j]) / 2 / (h * h);
      e.matrix[i][i] += through;
      e.matrix[i][j] -= through;
      e.matrix[j][j] += through;
      e.matrix[j][i] -= through;
    }
    stride *= n;
  }
  // By the volume, and what is given goes to the right.
  for (std::size_t i = 0; i < size; ++i) {
    e.right[i] /= e.volume[i];
    for (double& element : e.matrix[i]) element /= e.volume[i];
    for (std::size_t j = 0; j < size; ++j) {
      auto const place = static_cast<std::int64_t>(j);
      if (e.is_unknown(place) || e.matrix[i][j] == 0) continue;
      auto const at = e.grid.indices(place);
      // The side along which it is beside the unknown.
      for (std::size_t axis = 0; axis < points.size(); ++axis) {
        if (e.grid.indices(static_cast<std::int64_t>(i))[axis] == at[axis]) continue;
        auto const v = static_cast<std::size_t>(e.on_face(static_cast<int>(axis), place));
        e.right[i] -= e.matrix[i][j] * e.values[axis][at[axis] == 0 ? 0 : 1][v];
      }
      e.matrix[i][j] = 0;
    }
  }
  return e;
}

template <class T>
Buffer<T> to_device(Stream& stream, std::vector<double> const& values) {
  std::vector<T> const rounded(values.begin(), values.end());
  Buffer<T> buffer(stream, MemorySpace::device, rounded.size());
  copy_async(buffer.span(), std::span<T const>(rounded), stream);
  stream.synchronize();
  return buffer;
}

template <class T>
std::vector<T> from_device(Stream& stream, Buffer<T> const& buffer) {
  std::vector<T> values(buffer.size());
  copy_async(std::span<T>(values), buffer.span(), stream);
  stream.synchronize();
  return values;
}

template <class T>
void expect_known(Stream& stream, KnownEquation const& e) {
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  auto const a = to_device<T>(stream, e.a), kappa = to_device<T>(stream, e.kappa);
  auto const u = to_device<T>(stream, e.u);
  Equation<T> equation{
      .grid = e.grid, .sides = e.sides, .diffusivity = e.a[0], .reaction = e.kappa[0]};
  if (e.varies) {
    equation.diffusivities = a.data();
    equation.reactions = kappa.data();
  }
  std::vector<Buffer<T>> faces;
  SideValues<T> values{};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(e.grid.dims); ++axis)
    for (std::size_t side = 0; side < 2; ++side) {
      if (e.sides[axis][side] == SideKind::periodic) continue;
      faces.push_back(to_device<T>(stream, e.values[axis][side]));
      values[axis][side] = faces.back().data();
    }
  auto const right = to_device<T>(stream, e.f);
  auto moved = to_device<T>(stream, e.f);
  add_sides(stream, equation, values, moved.span());
  auto const found = from_device(stream, moved);
  auto less = to_device<T>(stream, e.f);
  subtract_product(stream, equation, u.span(), less.span());
  auto const left = from_device(stream, less);
  double sum = 0, magnitude = 0, volume = 0, of_product = 0, residual = 0, relative = 0,
         largest = 0;
  double cell = 1;
  for (int axis = 0; axis < e.grid.dims; ++axis)
    cell *= e.grid.spacing[static_cast<std::size_t>(axis)];
  for (std::size_t i = 0; i < e.f.size(); ++i) {
    if (!e.is_unknown(static_cast<std::int64_t>(i))) {
      EXPECT_EQ(found[i], static_cast<T>(e.f[i]));
      EXPECT_EQ(left[i], static_cast<T>(e.f[i]));
      continue;
    }
    EXPECT_NEAR(found[i], e.right[i], 8 * epsilon * (std::abs(e.right[i]) + 200)) << i;
    sum += cell * e.volume[i] * e.u[i];
    magnitude += cell * e.volume[i] * std::abs(e.u[i]);
    volume += cell * e.volume[i];
    of_product += cell * e.volume[i] * e.u[i] * e.kappa[i];
    double product = 0, row = 0;
    for (std::size_t j = 0; j < e.f.size(); ++j) {
      product += e.matrix[i][j] * e.u[j];
      row += std::abs(e.matrix[i][j]);
    }
    EXPECT_NEAR(left[i], e.f[i] - product, 1e-14 * row * 8 + epsilon * std::abs(left[i])) << i;
    residual = std::max(residual, std::abs(e.f[i] - product));
    relative = std::max(relative, std::abs(e.f[i] - product) / row);
    largest = std::max(largest, std::abs(e.u[i]));
  }
  auto const integral = integrate(stream, equation, u.span());
  double const rounding = 1e-14 * magnitude;
  EXPECT_NEAR(integral.sum, sum, rounding);
  EXPECT_NEAR(integral.magnitude, magnitude, rounding);
  EXPECT_NEAR(integral.volume, volume, 1e-14 * volume);
  EXPECT_NEAR(integrate(stream, equation, u.span(), kappa.data()).sum, of_product, 4 * rounding);
  auto const measured = measure(stream, equation, u.span(), right.span());
  EXPECT_NEAR(measured.largest, residual, 1e-13 * residual);
  // Beside given points a row also counts what has gone to the right: at most twice the rest.
  EXPECT_LE(measured.backward_error, relative / largest * (1 + 1e-13));
  EXPECT_GE(measured.backward_error, relative / largest / 2);
}

/// All kinds of sides, one to three axes, sizes of no kind.
inline void expect_known_equations(Stream& stream) {
  struct Case {
    std::vector<std::int64_t> points;
    std::string sides;
  };
  std::vector<Case> const cases = {
      {{3}, "pp"},      {{3}, "dd"},           {{3}, "nn"},           {{4}, "dn"},
      {{7}, "nd"},      {{5, 3}, "ppnd"},      {{3, 4}, "dddd"},      {{4, 5}, "nnpp"},
      {{5, 5}, "dnnd"}, {{3, 4, 5}, "dnppnn"}, {{4, 3, 3}, "ppdddn"}, {{3, 5, 4}, "nndndd"}};
  for (auto const& one : cases)
    for (bool const varies : {false, true}) {
      SCOPED_TRACE(fmt::format("{} varies {}", one.sides, varies));
      auto const e = known_equation(one.points, one.sides, varies);
      expect_known<double>(stream, e);
      expect_known<float>(stream, e);
    }
}

/// A line's coefficients are the elements of its matrix.
template <class T>
void expect_coefficients(Stream& stream) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (bool const varies : {false, true}) {
      SCOPED_TRACE(fmt::format("{} varies {}", sides, varies));
      auto const e = known_equation({6}, sides, varies);
      auto const a = to_device<T>(stream, e.a), kappa = to_device<T>(stream, e.kappa);
      Equation<T> equation{
          .grid = e.grid, .sides = e.sides, .diffusivity = e.a[0], .reaction = e.kappa[0]};
      if (varies) {
        equation.diffusivities = a.data();
        equation.reactions = kappa.data();
      }
      auto lower = to_device<double>(stream, e.f), diagonal = to_device<double>(stream, e.f),
           upper = to_device<double>(stream, e.f);
      fill_coefficients(stream, equation, lower.span(), diagonal.span(), upper.span());
      auto const b = from_device(stream, lower), c = from_device(stream, diagonal),
                 d = from_device(stream, upper);
      auto const [first, count] = unknowns(e.grid, e.sides, 0);
      for (std::int64_t i = first; i < first + count; ++i) {
        auto const row = static_cast<std::size_t>(i);
        auto const element = [&](std::int64_t j) {
          bool const is_there = sides == "pp" || (j >= first && j < first + count);
          return is_there ? e.matrix[row][static_cast<std::size_t>((j + 6) % 6)] : 0;
        };
        EXPECT_EQ(c[row], element(i));
        if (sides == "pp" || i > first) {
          EXPECT_EQ(b[row], element(i - 1));
        }
        if (sides == "pp" || i < first + count - 1) {
          EXPECT_EQ(d[row], element(i + 1));
        }
      }
    }
}

/// Numbers of many pieces of rows, and of rows that are no multiple of them; what is not a number is
/// not lost.
inline void expect_large(Stream& stream) {
  for (auto const& points : {std::array<std::int64_t, 3>{5000, 3, 1}, {2048, 5, 3}, {3, 3, 4099}}) {
    Equation<double> equation;
    equation.grid = {points[2] > 1 ? 3 : 2, points, {0, 0, 0}, {1, 1, 1}};
    equation.reaction = 1;
    auto const size = static_cast<std::size_t>(equation.grid.size());
    std::vector<double> values(size);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += values[i] = static_cast<double>(i % 7);
    auto u = to_device<double>(stream, values);
    EXPECT_EQ(integrate(stream, equation, u.span()).sum, sum);
    shift(stream, 0.5, u.span());
    EXPECT_EQ(integrate(stream, equation, u.span()).sum, sum + 0.5 * static_cast<double>(size));
    auto const constant = to_device<double>(stream, std::vector<double>(size, 3));
    auto right = std::vector<double>(size, 3);
    EXPECT_EQ(measure(stream, equation, constant.span(), to_device<double>(stream, right).span())
                  .backward_error,
              0);
    right[size - 2] = 4;
    EXPECT_EQ(
        measure(stream, equation, constant.span(), to_device<double>(stream, right).span()).largest,
        1);
    right[size / 2] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(measure(stream, equation, constant.span(), to_device<double>(stream, right).span())
                  .backward_error,
              std::numeric_limits<double>::infinity());
  }
}

/// Elimination along each axis gives what transforms along all do, for sizes on both sides of the
/// rows that are eliminated at once, and coefficients that are the same everywhere, said so or not.
template <class T>
void expect_layers(Stream& stream) {
  struct Case {
    std::vector<std::int64_t> points;
    std::string sides;
  };
  std::vector<Case> const cases = {{{3, 4}, "ddnn"},       {{8, 9}, "ppdn"},
                                   {{18, 16}, "nnpp"},     {{5, 3, 10}, "dnppdd"},
                                   {{17, 7, 4}, "nddnpp"}, {{10, 33, 9}, "ppppnn"}};
  for (auto const& one : cases) {
    auto const e = known_equation(one.points, one.sides, false);
    auto const f = to_device<T>(stream, e.f), a = to_device<T>(stream, e.a),
               kappa = to_device<T>(stream, e.kappa);
    Equation<T> equation{
        .grid = e.grid, .sides = e.sides, .diffusivity = e.a[0], .reaction = e.kappa[0]};
    auto expected = to_device<T>(stream, e.u);
    TransformSolver<T>(stream, equation).solve(stream, f.span(), expected.span());
    auto const wanted = from_device(stream, expected);
    for (int axis = 0; axis < e.grid.dims; ++axis)
      for (bool const fields : {false, true}) {
        SCOPED_TRACE(fmt::format("{} along {} fields {}", one.sides, axis, fields));
        equation.diffusivities = fields ? a.data() : nullptr;
        equation.reactions = fields ? kappa.data() : nullptr;
        auto u = to_device<T>(stream, e.u);
        LayerSolver<T>(stream, equation, axis, false).solve(stream, f.span(), u.span());
        auto const found = from_device(stream, u);
        for (std::size_t i = 0; i < found.size(); ++i)
          EXPECT_NEAR(found[i], wanted[i], 100 * std::numeric_limits<T>::epsilon()) << i;
      }
  }
}

/// Where there are no Dirichlet sides and no reaction, what is left open is settled by the caller.
inline void expect_singular_layers(Stream& stream) {
  for (std::string const sides : {"nnpp", "ppnn"}) {
    auto const e = known_equation({17, 8}, sides, false);
    Equation<double> equation{.grid = e.grid, .sides = e.sides};
    auto f = to_device<double>(stream, e.f);
    auto const total = integrate(stream, equation, f.span());
    shift(stream, -total.sum / total.volume, f.span());
    for (int axis = 0; axis < 2; ++axis) {
      auto u = to_device<double>(stream, e.u);
      LayerSolver<double>(stream, equation, axis, true).solve(stream, f.span(), u.span());
      EXPECT_LE(measure(stream, equation, u.span(), f.span()).backward_error, 1e-14);
    }
  }
}

/// Elimination on a device has the results of the host, with sizes about those of chunks, and of what
/// stays on the chip. Matrices and right-hand sides have no negative products, so that without
/// differences each unknown has a relative error of a few ε for each row, however small the reaction.
template <class T>
void expect_elimination_of_host(Stream& stream) {
  Stream host(Device::open(Backend::cpu));
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> random(0.5, 1);
  for (std::int64_t const count : {127, 128, 129, 288, 289, 512, 544, 545})
    for (std::string const sides : {"dd", "nn", "dn", "nd"})
      for (int const axis : {1, 2})
        for (double const reaction : {0.0, 1e-14}) {
          SCOPED_TRACE(fmt::format("{} {} along {} reaction {}", count, sides, axis, reaction));
          Equation<T> equation{.grid = {.dims = axis + 1}, .reaction = reaction};
          auto const i = static_cast<std::size_t>(axis);
          equation.sides = {{{SideKind::periodic, SideKind::periodic},
                             {SideKind::periodic, SideKind::periodic},
                             {SideKind::periodic, SideKind::periodic}}};
          equation.sides[i] = {kind_of(sides[0]), kind_of(sides[1])};
          // More systems, once, than are under way at a time.
          equation.grid.points = axis == 1
                                     ? std::array<std::int64_t, 3>{19, 0, 1}
                                     : std::array<std::int64_t, 3>{17, count == 128 ? 80 : 3, 0};
          equation.grid.points[i] = count + (sides[0] == 'd') + (sides[1] == 'd');
          Layers<T> layers{.a = operator_of(equation),
                           .axis = axis,
                           .others = {0, axis == 1 ? 2 : 1},
                           .eigenvalues = {},
                           .scale = 0.25,
                           .singular = reaction == 0 && sides == "nn",
                           .values = nullptr};
          std::vector<double> eigenvalues[2];
          for (int other = 0; other < 2; ++other)
            for (std::int64_t k = 0; k < layers.a.count[layers.others[other]]; ++k)
              eigenvalues[other].push_back(k == 0 ? 0 : 4 * random(engine));
          std::vector<T> right(static_cast<std::size_t>(equation.grid.size()));
          for (auto& value : right) value = static_cast<T>(random(engine));
          auto const solved = [&](Stream& on) {
            auto values = to_device<T>(on, std::vector<double>(right.begin(), right.end()));
            auto const p = to_device<double>(on, eigenvalues[0]),
                       q = to_device<double>(on, eigenvalues[1]);
            layers.values = values.data();
            layers.eigenvalues[0] = p.data();
            layers.eigenvalues[1] = q.data();
            Buffer<double> kept(on, MemorySpace::device,
                                static_cast<std::size_t>(equation.grid.size()));
            eliminate(on, layers, kept.data());
            return from_device(on, values);
          };
          auto const wanted = solved(host), found = solved(stream);
          double const allowed =
              4 * static_cast<double>(count) * double{std::numeric_limits<T>::epsilon()};
          for (std::size_t at = 0; at < found.size(); ++at)
            ASSERT_NEAR(found[at], wanted[at], allowed * std::abs(wanted[at])) << at;
        }
}

}  // namespace gridstride::poisson::test
