#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "equations/discretise.hpp"
#include "equations/language.hpp"
#include "equations/space.hpp"
#include "kernels/system/march.hpp"
#include "model/scheme.hpp"
#include "model/state.hpp"
#include "simulations/pde_march.hpp"

/// Systems with schemes for passes of several stages and steps.
namespace gridstride::test {

/// A program of one component that reads these points.
inline equations::StencilProgram reading(std::vector<std::array<std::int8_t, 3>> const& offsets) {
  equations::Terms terms;
  equations::Term sum = terms.number(0);
  for (auto const& offset : offsets) sum = terms.add(sum, terms.unknown(0, offset));
  return equations::program_of(terms, std::vector<equations::Term>{sum}, 2);
}

/// By so many stages of forward Euler, periodic.
inline system::Marched marched(equations::StencilProgram const& program, int stages = 1) {
  return {.program = &program,
          .grid = {.dims = 2, .points = {1024, 1024, 1}},
          .sides = std::vector<system::SideRules>(program.results.size()),
          .stages = std::vector<system::PassStage>(static_cast<std::size_t>(stages))};
}

struct MarchCase {
  std::string name;
  std::vector<equations::Definition> lets;
  std::vector<equations::Equation> equations;
  std::string scheme;
  double dt;
  equations::Convection convection = equations::Convection::central;
};

inline equations::Equation rate(std::string const& field, std::string const& text,
                                bool is_vector = false) {
  equations::Equation equation;
  equation.name = field;
  equation.texts = {text};
  equation.is_vector = is_vector;
  return equation;
}

inline std::vector<MarchCase> march_cases() {
  std::vector<equations::Definition> const phases = {{"f", {"5*(c - 0.3)^2*(0.7 - c)^2"}},
                                                     {"mu", {"diff(f, c) - 2*laplace(c)"}}};
  return {
      {"Gray-Scott",
       {{"r", {"u*v^2"}}},
       {rate("u", "2e-2*laplace(u) - r + 0.04*(1 - u)"), rate("v", "1e-2*laplace(v) + r - 0.1*v")},
       "euler",
       0.1},
      {"Cahn-Hilliard", phases, {rate("c", "5*laplace(mu)")}, "euler", 2e-5},
      {"shallow water",
       {},
       {rate("h", "-div(q)"),
        rate("q", "-div(outer(q, q)/(1 + h) + 4.905*(1 + h)^2*identity)", true)},
       "ssp_rk3",
       1e-3,
       equations::Convection::upwind},
      {"Cahn-Hilliard by rk4", phases, {rate("c", "5*laplace(mu)")}, "rk4", 2e-5},
      {"Burgers", {}, {rate("v", "0.01*laplace(v) - advect(v, v)", true)}, "ssp_rk3", 1e-2},
      {"Schroedinger",
       {{"V", {"1.2*exp(-x^2)"}}},
       {rate("a", "-laplace(b)/2 + V*b"), rate("b", "laplace(a)/2 - V*a")},
       "rk4",
       1e-2},
      {"heat", {}, {rate("u", "0.3*laplace(u)")}, "rk4", 1e-2},
      {"gas",
       {{"p", {"0.4*(E - norm2(m)/(2*rho))"}}},
       {rate("rho", "-div(m)"), rate("m", "-div(outer(m, m)/rho + p*identity)", true),
        rate("E", "-div((E + p)/rho*m)")},
       "ssp_rk2",
       1e-3,
       equations::Convection::upwind},
      {"Swift-Hohenberg",
       {{"w", {"u + laplace(u)"}}},
       {rate("u", "0.2*u - w - laplace(w) - u^3")},
       "rk4",
       1e-4},
      {"phase-field crystal",
       {{"w", {"u + laplace(u)"}}, {"mu", {"0.3*u + w + laplace(w) + u^3"}}},
       {rate("u", "laplace(mu)")},
       "euler",
       1e-5},
      {"two potentials",
       {{"mu", {"u^3 - u + u*w^2 - laplace(u)"}}, {"nu", {"w^3 - w + w*u^2 - laplace(w)"}}},
       {rate("u", "laplace(mu) - u*nu"), rate("w", "laplace(nu) + d_dx(mu)")},
       "ssp_rk2",
       1e-5},
      {"diffusivity of x, t and u",
       {{"D", {"(1 + x^2*y)*exp(-u^2)/(1 + u^2)*(1 + sin(t))"}}},
       {rate("u", "div(D*grad(u)) + laplace(D*u)")},
       "ssp_rk3",
       1e-3},
      {"mixed",
       {},
       {rate("u", "d2_dxdy(u*v) - 0.1*d_dx(laplace(u)) + sin(t)*y + d_dy(v)"),
        rate("v", "div((1 + u^2)*grad(v)) - x*t*d_dx(d_dx(d_dx(d_dx(u))))")},
       "ssp_rk2",
       1e-3},
      {"along x", {}, {rate("u", "d2_dx2(u) - u")}, "rk4", 1e-2},
      {"along y", {}, {rate("u", "d2_dy2(u) - u")}, "ssp_rk3", 1e-2},
      {"at points", {}, {rate("u", "u*(1 - u) + x*sin(t)")}, "rk4", 1e-2},
      {"six components",
       {},
       {rate("v", "-advect(v, v) + 0.1*laplace(v) + w", true), rate("w", "-advect(v, w)", true),
        rate("s", "0.1*laplace(s) - div(s*v)"), rate("p", "s - p + 0.1*laplace(p)")},
       "ssp_rk3",
       1e-2},
  };
}

inline equations::StencilProgram program_of(MarchCase const& one, Grid const& grid) {
  equations::SystemText const text = {
      .dims = grid.dims, .constants = {}, .lets = one.lets, .equations = one.equations};
  std::vector<equations::SystemFault> faults;
  auto const system = equations::read_system(text, faults);
  if (!system) throw std::logic_error(one.name + ": " + faults.front().error.what());
  auto const stencil = equations::discretise(*system, grid, {.convection = one.convection});
  return equations::program_of(stencil.terms, stencil.rates, grid.dims);
}

/// What lies beside the grid, for each component by axis and end. In order: all kinds beside each
/// other, walls that meet, axes that wrap with signs beside plain ones, and beside walls.
struct SidesCase {
  std::string name;
  std::array<std::vector<SideKind>, 2>
      kinds;  ///< of x and y: of the ends of the components in turn
};

inline std::vector<SidesCase> sides_cases() {
  using enum SideKind;
  return {
      {"all kinds", {{{dirichlet, neumann, outflow, robin, wall}, {outflow, robin, dirichlet}}}},
      {"walls", {{{wall}, {wall}}}},
      {"antiperiodic along x", {{{antiperiodic, antiperiodic, periodic, periodic}, {periodic}}}},
      {"antiperiodic along y", {{{periodic}, {antiperiodic, antiperiodic, periodic, periodic}}}},
      {"antiperiodic, and sides", {{{antiperiodic}, {robin, dirichlet, neumann}}}},
      {"sides, and antiperiodic", {{{robin, dirichlet, outflow}, {antiperiodic}}}},
      {"sides, and periodic", {{{neumann, dirichlet, wall}, {periodic}}}},
  };
}

/// Inputs with these sides, and no values. `array(points)` gives an array for a face.
template <class T, class Array>
std::vector<system::Input<T>> sided_inputs(SidesCase const& sides, Grid const& grid,
                                           std::size_t components, Array const& array) {
  std::vector<system::Input<T>> inputs(components);
  for (std::size_t c = 0; c < components; ++c)
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis)
      for (std::size_t end = 0; end < 2; ++end) {
        auto const& kinds = sides.kinds[axis];
        SideKind const kind = kinds[(2 * c + end) % kinds.size()];
        auto const points = static_cast<std::size_t>(grid.points[1 - axis]);
        inputs[c].sides[axis][end] =
            system::side_of<T>(kind, grid.spacing[axis], has_values(kind) ? array(points) : nullptr,
                               kind == SideKind::robin ? array(points) : nullptr, c == axis);
      }
  return inputs;
}

/// Passes of a case with these sides; the same with periodic axes.
inline system::Marched marched_of(MarchCase const& one, equations::StencilProgram const& program,
                                  Grid const& grid, std::vector<system::SideRules> sides) {
  return {.program = &program,
          .grid = grid,
          .sides = std::move(sides),
          .stages = pde::pass_stages(find_scheme(one.scheme))};
}
inline system::Marched marched_of(MarchCase const& one, equations::StencilProgram const& program,
                                  Grid const& grid) {
  return marched_of(one, program, grid, std::vector<system::SideRules>(program.results.size()));
}

}  // namespace gridstride::test
