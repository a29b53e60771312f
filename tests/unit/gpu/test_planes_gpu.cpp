#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/system/planes.hpp"
#include "model/entry.hpp"
#include "support/heat_cases.hpp"
#include "support/system_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Some of the cases in 3D with sides of all kinds, and vectors of all widths along several chunks
/// of planes.
std::vector<test::SystemCase> cases_of_planes() {
  constexpr SideKind p = SideKind::periodic, d = SideKind::dirichlet, a = SideKind::antiperiodic;
  std::vector<test::SystemCase> cases;
  int number = 0;
  for (auto const& one : test::system_cases())
    if (one.grid.dims == 3 && number++ % 9 == 4) cases.push_back(one);
  for (std::array<std::int64_t, 3> const& points :
       {std::array<std::int64_t, 3>{132, 9, 37}, {134, 17, 40}, {2, 1, 1}})
    for (bool const in_place : {false, true})
      cases.push_back({.grid = {.dims = 3, .points = points, .origin = {}, .spacing = {1, 0.5, 2}},
                       .kinds = {{{p, p}, {p, p}, {p, p}}},
                       .addends = in_place ? 2 : 0,
                       .in_place = in_place});
  cases.push_back({.grid = {.dims = 3, .points = {68, 33, 70}, .origin = {}, .spacing = {1, 1, 1}},
                   .kinds = {{{d, d}, {p, p}, {a, a}}}});
  return cases;
}

template <class T>
void expect_bits_of_points() {
  Stream gpu(Device::open(Backend::cuda));
  for (auto const& one : cases_of_planes()) {
    auto const expected = test::run_system<T>(gpu, one, "points");
    EXPECT_TRUE(std::ranges::all_of(expected, [](T value) { return std::isfinite(value); }));
    EXPECT_EQ(test::run_system<T>(gpu, one, "planes"), expected) << one.text();
  }
}

TEST(PlanesGpu, HaveTheBitsOfPointsInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points<float>();
}
TEST(PlanesGpu, HaveTheBitsOfPointsInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points<double>();
}

/// Arrays that begin between multiples of 16 bytes, with a module for those that do not.
TEST(PlanesGpu, TakesArraysAnywhere) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream gpu(Device::open(Backend::cuda));
  Grid const grid{.dims = 3, .points = {64, 10, 12}};
  equations::System equations{.dims = 3, .terms = {}, .unknowns = {{"u", 1, 0}}, .rates = {}};
  auto& terms = equations.terms;
  equations.rates = {terms.derivative(terms.derivative(terms.unknown(0), {2, 0, 0}), {0, 1, 1})};
  auto const stencil = equations::discretise(equations, grid);
  auto const program = equations::program_of(stencil.terms, stencil.rates, 3);
  auto const size = static_cast<std::size_t>(grid.size());
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i * 7 % 31);
  Buffer<float> in(gpu, MemorySpace::device, size + 4), out(gpu, MemorySpace::device, size + 4);
  system::Prepared of_points, of_planes;
  auto const advanced = [&](std::size_t shift, system::Prepared& prepared,
                            std::string_view variant) {
    copy_async(in.span().subspan(shift, size), std::span<float const>(values), gpu);
    system::Step<float> step;
    step.program = &program;
    step.grid = grid;
    step.factor = 0.5;
    step.inputs = {{.values = in.data() + shift}};
    step.outputs = {{.values = out.data() + shift, .base = in.data() + shift}};
    step.prepared = &prepared;
    system::advance(gpu, step, variant);
    std::vector<float> found(size);
    copy_async(std::span(found), std::as_const(out).span().subspan(shift, size), gpu);
    gpu.synchronize();
    return found;
  };
  auto const expected = advanced(0, of_points, "points");
  EXPECT_EQ(advanced(0, of_planes, "auto"), expected);
  EXPECT_EQ(of_planes.variant, "planes");
  for (std::size_t const shift : {1, 2, 4})
    EXPECT_EQ(advanced(shift, of_planes, "auto"), expected) << shift;
}

TEST(PlanesGpu, AreOfVolumes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream gpu(Device::open(Backend::cuda));
  auto const cases = test::system_cases();
  EXPECT_THROW(test::run_system<float>(gpu, cases.front(), "planes"), std::invalid_argument);
  EXPECT_EQ(system::default_variant(Backend::cuda, 3), "planes");
  EXPECT_EQ(system::default_variant(Backend::cuda, 2), system::default_variant(Backend::cuda));
}

TEST(PlanesGpu, AreRefusedByName) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const config = test::config_of(
      "simulation: pde\ngrid: {points: [20, 18]}\nboundary: {x: periodic, y: periodic}\n"
      "equations: {u: laplace(u)}\ninitial: {u: 0}\nkernels: {system: planes}\n"
      "time: {scheme: rk4, end: 1}\n");
  auto const problems = variant_problems(entry_of(config), config, {}, Device::open(Backend::cuda));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].text().find("'planes' takes grids in 3D, not in 2D"), std::string::npos);
}

constexpr char const* reaction =
    "boundary: {x: periodic, y: {neumann: 0.5}, z: periodic}\n"
    "equations:\n"
    "  u: 2e-3*laplace(u) - u*v^2 + 0.04*(1 - u) + 0.01*sin(t)\n"
    "  v: 1e-3*laplace(v) + u*v^2 - 0.1*v + 0.001*mean(u)\n"
    "initial: {u: \"1 - sin(2*pi*x)^2/2\", v: \"sin(2*pi*z)^2/4\"}\n";
/// Six components, whose planes leave registers for narrow vectors only.
constexpr char const* two_vectors =
    "boundary: {x: periodic, y: periodic, z: periodic}\n"
    "fields: {v: vector, w: vector}\n"
    "equations: {v: \"0.01*laplace(v) - advect(v, v) + w\", w: \"0.02*laplace(w) - advect(v, "
    "w)\"}\n"
    "initial: {v: [sin(2*pi*y), cos(2*pi*x), 0], w: [0, sin(2*pi*z), cos(2*pi*x)]}\n";

/// All fields of a run by a scheme of stages, or by one that keeps slopes.
std::vector<std::byte> run_with(std::string const& row, std::string const& system,
                                std::string const& time) {
  auto const config = test::config_of("simulation: pde\ngrid: {points: [20, 18, 17]}\n" + system +
                                      "kernels: {system: " + row + "}\ntime: {" + time + "}\n");
  Stream stream(Device::open(Backend::cuda));
  auto const simulation = entry_of(config).make(config, stream, {});
  for (double const until : {0.02, 0.1})
    simulation->advance(std::numeric_limits<std::int64_t>::max(), until);
  std::vector<std::byte> bytes;
  for (Field const& field : simulation->fields()) {
    auto const host = test::to_host(field, stream);
    bytes.insert(bytes.end(), host.memory.begin(), host.memory.end());
  }
  return bytes;
}

TEST(PlanesGpu, RunsHaveTheBitsOfPoints) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& [system, time] : std::vector<std::pair<std::string, std::string>>{
           {reaction, "scheme: euler, step: 0.002, end: 0.1"},
           {reaction, "scheme: rk4, step: 0.002, end: 0.1"},
           {reaction, "scheme: rk45, step: adaptive, end: 0.1"},
           {two_vectors, "scheme: ssprk3, step: 0.002, end: 0.1"}}) {
    auto const expected = run_with("points", system, time);
    EXPECT_EQ(run_with("planes", system, time), expected) << time;
    EXPECT_EQ(run_with("auto", system, time), expected) << time;
  }
}

}  // namespace
}  // namespace gridstride
