#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/evaluate/rows.hpp"
#include "kernels/fft/block_source.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/modes/joined.hpp"
#include "kernels/modes/modes.hpp"
#include "kernels/riemann/rows.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "kernels/support/runtime_files.hpp"
#include "kernels/system/march.hpp"
#include "kernels/system/planes.hpp"
#include "kernels/system/rows.hpp"
#include "support/formulas_cases.hpp"
#include "support/system_cases.hpp"

namespace gridstride {
namespace {

using expression::Expression;

/// A file of kernels with an integrand, and what is defined before it.
struct Entry {
  std::string_view file;
  std::vector<std::string> definitions = {};
};

std::vector<Entry> const& entries() {
  static std::vector<Entry> const table = {
      {"kernels/adaptive/breadth_first.cuh", {"KRONROD_POINTS 21"}},
      {"kernels/adaptive/on_chip.cuh", {"KRONROD_POINTS 21"}},
      {"kernels/cubature/cubature.cuh"},
      {"kernels/cubature/cubature.cuh", {"LOCATE_NON_FINITE"}},
      {"kernels/sampling/monte_carlo.cuh"},
      {"kernels/sampling/monte_carlo.cuh", {"ANTITHETIC"}},
      {"kernels/sampling/sobol.cuh"},
      {"kernels/riemann/ladder.cuh"},
      {"kernels/riemann/locate.cuh"},
      {"kernels/adaptive/running.cuh", {"KRONROD_POINTS 21"}},
      {"kernels/adaptive/tanh_sinh.cuh"},
      {"kernels/riemann/tensor/tensor.cuh"},
      {"kernels/riemann/tensor/tensor.cuh", {"LOCATE_NON_FINITE"}},
      {"kernels/sampling/vegas/vegas.cuh"},
  };
  return table;
}

/// Passes of a plane of waves: of two sums of modes, the product of both at the points.
template <class T>
std::vector<RuntimeSource> passes_of_modes() {
  constexpr std::array around = {equations::Beyond::periodic, equations::Beyond::periodic};
  equations::BeyondSides const sides = {around, around, around};
  Grid const grid{.dims = 2, .points = {64, 48, 1}, .spacing = {1, 1, 1}};
  equations::Terms terms;
  std::vector const product = {terms.multiply(terms.unknown(0), terms.unknown(1))};
  auto const program = equations::program_of(terms, product, 2);
  equations::Operator const d_dx = {{{1, 0, 0}, 1}}, laplace = {{{2, 0, 0}, 1}, {{0, 2, 0}, 1}};
  std::vector<equations::ModalSum> const arrays = {{{0, d_dx, {}}}, {{0, d_dx, laplace}}};
  std::vector<modes::Quantity> const fields = {{sides}};
  auto const layout = modes::layout_of(grid, sides, {2.0 / 3, 2.0 / 3, 1});
  Stream stream(Device::open(Backend::cpu));
  modes::SumList const sums(stream, grid, layout, equations::Symbols::exact, 2, arrays, fields,
                            fields);
  return modes::Joined<T>::sources(48 << 10, {grid, sides, layout, &program, 2}, sums);
}

/// Everything that the program may compile at run time, in one precision.
template <class T>
std::vector<RuntimeSource> sources() {
  quadrature::Integrand const integrand{Expression::parse("exp(-x^2)*sin(z) + log(2 + z)"), 1, 2};
  std::vector<RuntimeSource> all = {quadrature::compensated_source<T>(integrand)};
  for (Entry const& entry : entries())
    all.push_back(quadrature::source_of<T>(integrand, entry.file, entry.definitions));
  Grid const grid{.dims = 3, .points = {64, 64, 64}};
  for (bool const wraps : {true, false})
    all.push_back(system::source_of<T>(test::mixed_program(grid), {wraps, false, wraps}, 2));
  auto const of_volumes = test::mixed_program(grid);
  system::Step<T> step;
  step.program = &of_volumes;
  step.grid = grid;
  step.inputs.resize(2);
  step.outputs.resize(2);
  for (auto& input : step.inputs)
    for (auto& side : input.sides[0]) side.wraps = false;
  all.push_back(system::planes_source(step));
  all.push_back(system::extremes_source(step));
  fft::BlockKind const lines{.task = fft::Task::solve,
                             .kind = fft::LineKind::quarter_sine,
                             .points = 12,
                             .neighbours = true};
  fft::BlockNeeds const needs{.points = 6,
                              .neighbours = true,
                              .element_bytes = sizeof(T),
                              .number_bytes = 2 * sizeof(T),
                              .shared_bytes = 48 << 10};
  all.push_back(fft::block_source<T>(lines, *fft::block_plan(needs)));
  auto const pair = fft::pair_plan(needs, needs);
  fft::BlockKind halves = lines;
  halves.task = fft::Task::inverse;
  all.push_back(fft::pair_source<T>(halves, pair->first, halves, pair->second));
  Grid const plane{.dims = 2, .points = {64, 64, 1}};
  auto const program = test::mixed_program(plane);
  for (bool const wraps : {true, false}) {
    system::SideRule const side = {.wraps = wraps};
    system::SideRules const sides = {{{side, side}, {side, side}}};
    system::Marched const what = {
        .program = &program, .grid = plane, .sides = {sides, sides}, .stages = {{}}};
    all.push_back(system::march_source<T>(what, {.turns = 2}));
  }
  for (RuntimeSource& pass : passes_of_modes<T>()) all.push_back(std::move(pass));
  return all;
}

constexpr char const* named_architectures = "GRIDSTRIDE_ARCHITECTURES";

std::vector<int> architectures() {
  char const* const named = std::getenv(named_architectures);
  std::istringstream words(named == nullptr ? "90" : named);
  std::vector<int> numbers;
  for (std::string word; words >> word;) numbers.push_back(std::stoi(word));
  return numbers;
}

TEST(RuntimeArchitectures, EveryFileOfKernelsIsAmongThem) {
  // Those two are parts of compensated.cuh and monte_carlo.cuh; `compiled` is of fields, what
  // follows of systems, lines and modes.
  std::vector<std::string_view> known = {
      "kernels/riemann/team.cuh",      "kernels/sampling/tiles.cuh",
      "kernels/evaluate/compiled.cuh", "kernels/system/points.cuh",
      "kernels/system/planes.cuh",     "kernels/system/march.cuh",
      "kernels/system/extremes.cuh",   "kernels/fft/blocks/single.cuh",
      "kernels/fft/blocks/pair.cuh",   "kernels/modes/joined/columns.cuh",
      "kernels/modes/joined/rows.cuh"};
  for (Entry const& entry : entries()) known.push_back(entry.file);
  for (RuntimeFile const& file : runtime_files())
    if (file.text.find("extern \"C\" __global__") != std::string_view::npos) {
      EXPECT_NE(std::ranges::find(known, file.path), known.end()) << file.path;
    }
}

/// tools/check_architectures names those that the environment variable holds. Whether they compile does
/// not depend on how much is optimised.
TEST(RuntimeArchitectures, AllCompile) {
  auto all = sources<double>();
  auto const single = sources<float>();
  all.insert(all.end(), single.begin(), single.end());
  all.push_back(evaluate::source_of(Expression::parse("sin(x) + y*t")));
  all.push_back(evaluate::source_of(test::five_formulas(), 2));
  for (RuntimeSource& source : all) source.options.emplace_back("--Ofast-compile=max");
  for (int const architecture : architectures())
    for (RuntimeSource const& source : all) try {
        compile_cubin(source, architecture);
      } catch (RuntimeCompilerMissing const& missing) {
        GTEST_SKIP() << missing.what();
      } catch (Error const& error) {
        ADD_FAILURE() << "sm_" << architecture << ": " << error.what();
      }
}

}  // namespace
}  // namespace gridstride
