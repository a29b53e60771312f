#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "equations/language.hpp"
#include "simulations/pde_globals.hpp"

/// First values of fields that are no formulas of space: of other fields, of names under `let`, with
/// operators and random numbers.
namespace gridstride::pde {

/// Reads what stands under `initial` in the language of `text`, whose equations are right. Its
/// terms are those of the fields' first values; the rates stand for themselves (`dt`). Nothing
/// where all are formulas of space or files, and where `visitor` was told what is wrong.
std::optional<equations::System> read_initial(config::Visitor& visitor,
                                              config::RunOptions const& run,
                                              equations::SystemText text);

/// Whether such a field has first values of this kind.
bool is_read(config::RunOptions const& run, std::string const& field);

/// What these values cannot be on this grid.
std::vector<Problem> initial_problems(config::RunConfig const& run,
                                      std::optional<equations::System> const& initial,
                                      Wraps const& wraps);

/// The fields with such values, each after those that it is made of.
std::vector<equations::Unknown> in_order(config::RunOptions const& run,
                                         equations::System const& initial);

/// What finds the first values of such a field.
equations::Stencil first_stencil(config::RunConfig const& run, equations::Unknown const& field);

/// What gives such a field its first values at some points of the grid, from those of other fields there and beside
/// them.
struct FirstValues {
  equations::Unknown field;
  equations::StencilProgram program;
  std::size_t operands;  ///< what it takes over the whole grid

  std::vector<std::size_t> components() const;
};
/// All of them, each after those that it is made of.
std::vector<FirstValues> first_values(config::RunConfig const& run);
/// Whether they follow from points nearby alone, and from nothing over the whole grid.
bool first_values_are_nearby(config::RunConfig const& run);
/// Points along an axis that they look at, one after the other.
std::int64_t reach_of_first_values(config::RunConfig const& run, int axis);

/// Queues the first values of a field, component by component into `targets`, which no input is.
/// Instantiated for float and double.
template <class T>
void fill_initial(Stream const& stream, Grid const& grid, equations::Space const& space,
                  Wraps const& wraps, equations::System const& initial,
                  equations::Unknown const& field, std::vector<system::Input<T>> const& inputs,
                  evaluate::DeviceClock const* clock, std::span<T* const> targets,
                  std::string_view variant);

}  // namespace gridstride::pde
