#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/stencil/implicit.hpp"

/// What implicit steps of diffusion are made of, against the formulas written out.
namespace gridstride::test {

/// Random values everywhere, with sides p, d or n, lower and upper of each axis, on a grid so many times
/// as large as the smallest one. Where the step is `known`, other kernels may solve.
class ImplicitCase {
 public:
  ImplicitCase(std::string const& sides, bool variable, Backend backend, int times, bool known)
      : stream_(Device::open(backend)), variable_(variable) {
    grid_.dims = static_cast<int>(sides.size() / 2);
    for (int a = 0; a < grid_.dims; ++a) {
      grid_.points[a] = times * (5 + 2 * a);
      grid_.spacing[a] = 0.1 * (a + 2);
    }
    auto const size = static_cast<std::size_t>(grid_.size());
    alpha_ = random(size, 0.5, 1.5);
    in_ = random(size, -1, 1);
    term_ = random(size, -1, 1);
    source_ = random(size, -1, 1);
    for (int a = 0; a < grid_.dims; ++a)
      for (int side = 0; side < 2; ++side) {
        char const kind = sides[static_cast<std::size_t>(2 * a + side)];
        kinds_[a][side] = kind == 'd'   ? SideKind::dirichlet
                          : kind == 'n' ? SideKind::neumann
                                        : SideKind::periodic;
        values_[a][side] = random(static_cast<std::size_t>(grid_.face_size(a)), -1, 1);
        diffusion_.sides[a][side] = {kinds_[a][side], on_device(values_[a][side])};
      }
    diffusion_.grid = grid_;
    if (variable)
      diffusion_.diffusivity_field = on_device(alpha_);
    else
      diffusion_.diffusivity = constant_;
    diffusion_.source = on_device(source_);
    diffusion_.step = on_device({step_});
    if (known) diffusion_.known_step = step_;
  }

  /// factor·dt·(L in + s + N) + 2·term.
  void check_residual() {
    double* const out = on_device(std::vector<double>(in_.size()));
    stencil::find_residual<double>(
        stream_, diffusion_,
        {.in = on_device(in_), .out = out, .factor = 0.3, .terms = {{{on_device(term_), 2}}}});
    auto const found = to_host(out);
    for (std::int64_t p = 0; p < grid_.size(); ++p) {
      double expected = source_[at(p)];
      for (int a = 0; a < grid_.dims; ++a) expected += along(a, p, in_) + let_in(a, p);
      expected = on_dirichlet(p) ? 0 : 0.3 * step_ * expected + 2 * term_[at(p)];
      EXPECT_NEAR(found[at(p)], expected, 1e-12) << p;
    }
  }

  /// What is found solves the equations, and is less `start` what it is to be on sides.
  void check_solution() {
    double const theta = 0.7;
    auto const right = term_;
    double *const x = on_device(right), *const start = on_device(in_);
    stencil::AxisSystems<double> systems(stream_, grid_, variable_);
    systems.solve(stream_, diffusion_, theta, start, x, x);
    EXPECT_EQ(systems.fault(stream_), "");
    stencil::hold_sides(stream_, diffusion_, start);
    auto const held = to_host(start);
    auto v = to_host(x);
    for (std::int64_t p = 0; p < grid_.size(); ++p) {
      if (!on_dirichlet(p)) {
        EXPECT_EQ(held[at(p)], in_[at(p)]);
        continue;
      }
      EXPECT_EQ(held[at(p)], given(p));
      v[at(p)] = given(p) - in_[at(p)];
    }
    for (int a = grid_.dims - 1; a >= 0; --a) {
      auto next = v;
      for (std::int64_t p = 0; p < grid_.size(); ++p)
        if (!is_held(a, p)) next[at(p)] = v[at(p)] - theta * step_ * along(a, p, v);
      v = next;
    }
    // Rounding of values of about 1, magnified by 1 + 4·θ·dt·α/h² along each axis.
    for (std::int64_t p = 0; p < grid_.size(); ++p) {
      if (on_dirichlet(p)) continue;
      EXPECT_NEAR(v[at(p)], right[at(p)], 1e-11) << p;
    }
  }

 private:
  static std::size_t at(std::int64_t p) { return static_cast<std::size_t>(p); }
  std::vector<double> random(std::size_t size, double lower, double upper) {
    std::vector<double> values(size);
    for (double& value : values)
      value = std::uniform_real_distribution<double>(lower, upper)(generator_);
    return values;
  }
  double* on_device(std::vector<double> const& values) {
    memory_.emplace_back(stream_, MemorySpace::device, values.size());
    copy_async(memory_.back().span(), std::span<double const>(values), stream_);
    stream_.synchronize();
    return memory_.back().data();
  }
  std::vector<double> to_host(double const* values) {
    std::vector<double> host(in_.size());
    copy_async(std::span(host), std::span(values, host.size()), stream_);
    stream_.synchronize();
    return host;
  }

  int side_of(int a, std::int64_t p) const {
    auto const i = grid_.indices(p)[static_cast<std::size_t>(a)];
    return i == 0 ? 0 : i == grid_.points[a] - 1 ? 1 : -1;
  }
  bool is_held(int a, std::int64_t p) const {
    int const side = side_of(a, p);
    return side >= 0 && kinds_[a][side] == SideKind::dirichlet;
  }
  bool on_dirichlet(std::int64_t p) const {
    for (int a = 0; a < grid_.dims; ++a)
      if (is_held(a, p)) return true;
    return false;
  }
  double on_face(int a, std::int64_t p) const {
    auto const i = grid_.indices(p);
    std::int64_t const place = a == 0   ? i[1] + i[2] * grid_.points[1]
                               : a == 1 ? i[0] + i[2] * grid_.points[0]
                                        : i[0] + i[1] * grid_.points[0];
    return values_[a][side_of(a, p)][at(place)];
  }
  double given(std::int64_t p) const {
    int a = 0;
    while (!is_held(a, p)) ++a;
    return on_face(a, p);
  }
  double alpha(std::int64_t p) const { return variable_ ? alpha_[at(p)] : constant_; }

  /// L_a of values at a point.
  double along(int a, std::int64_t p, std::vector<double> const& u) const {
    std::int64_t const stride = a == 0   ? 1
                                : a == 1 ? grid_.points[0]
                                         : grid_.points[0] * grid_.points[1];
    std::int64_t lower = p - stride, upper = p + stride;
    std::int64_t const around = (grid_.points[a] - 1) * stride;
    int const side = side_of(a, p);
    bool const wraps = kinds_[a][0] == SideKind::periodic;
    if (side == 0) lower = wraps ? p + around : upper;
    if (side == 1) upper = wraps ? p - around : lower;
    double sum = 0;
    for (std::int64_t const q : {lower, upper})
      sum += (alpha(p) + alpha(q)) / 2 * (u[at(q)] - u[at(p)]);
    return sum / (grid_.spacing[a] * grid_.spacing[a]);
  }
  double let_in(int a, std::int64_t p) const {
    int const side = side_of(a, p);
    if (side < 0 || kinds_[a][side] != SideKind::neumann) return 0;
    return 2 * alpha(p) * on_face(a, p) / grid_.spacing[a];
  }

  Stream stream_;
  bool variable_;
  Grid grid_;
  double constant_ = 0.8, step_ = 0.25;
  std::mt19937 generator_{1};
  std::array<std::array<SideKind, 2>, 3> kinds_ = {};
  std::array<std::array<std::vector<double>, 2>, 3> values_;
  std::vector<double> alpha_, in_, term_, source_;
  std::vector<Buffer<double>> memory_;
  stencil::Diffusion<double> diffusion_;
};

inline void check_implicit(Backend backend) {
  for (std::string const sides :
       {"pp", "dn", "dd", "dddd", "ndpp", "nndn", "dddddd", "nnddpp", "dnnddn"})
    for (bool const variable : {false, true}) {
      SCOPED_TRACE(sides + (variable ? " with a field" : ""));
      for (int const times : {1, sides.size() > 4 ? 3 : 29}) {
        ImplicitCase(sides, variable, backend, times, false).check_residual();
        for (bool const known : {false, true})
          ImplicitCase(sides, variable, backend, times, known).check_solution();
      }
    }
}

}  // namespace gridstride::test
