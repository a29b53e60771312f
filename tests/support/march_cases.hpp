#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "equations/discretise.hpp"
#include "equations/language.hpp"
#include "kernels/system/march.hpp"
#include "model/scheme.hpp"
#include "simulations/pde_march.hpp"

/// Systems with schemes for passes of several stages and steps.
namespace gridstride::test {

struct MarchCase {
  std::string name;
  std::vector<equations::Definition> lets;
  std::vector<equations::Equation> equations;
  std::string scheme;
  double dt;
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
      {"Cahn-Hilliard by rk4", phases, {rate("c", "5*laplace(mu)")}, "rk4", 2e-5},
      {"Burgers", {}, {rate("v", "0.01*laplace(v) - advect(v, v)", true)}, "ssp_rk3", 1e-2},
      {"Schroedinger",
       {{"V", {"1.2*exp(-x^2)"}}},
       {rate("a", "-laplace(b)/2 + V*b"), rate("b", "laplace(a)/2 - V*a")},
       "rk4",
       1e-2},
      {"heat", {}, {rate("u", "0.3*laplace(u)")}, "rk4", 1e-2},
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
  auto const stencil = equations::discretise(*system, grid);
  return equations::program_of(stencil.terms, stencil.rates, grid.dims);
}

/// The same with periodic axes.
inline system::Marched marched_of(MarchCase const& one, equations::StencilProgram const& program,
                                  Grid const& grid) {
  return {.program = &program,
          .grid = grid,
          .wraps = {true, true, true},
          .stages = pde::pass_stages(find_scheme(one.scheme))};
}

}  // namespace gridstride::test
