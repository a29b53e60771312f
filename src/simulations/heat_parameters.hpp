#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/visitor.hpp"
#include "kernels/stencil/stencil.hpp"
#include "model/entry.hpp"
#include "model/surveyed_values.hpp"
#include "model/values.hpp"

/// What explicit and implicit steps of heat have in common.
namespace gridstride::heat {

class Parameters final : public config::ParameterSet {
 public:
  config::FieldSource diffusivity;
  config::FieldSource source = {{"0", expression::Expression(0.0), {}}, {}, {}, {}};
  mutable SurveyedValues surveyed_diffusivity, surveyed_source;

  std::string solver = "auto";
  std::optional<double> tolerance;  ///< empty: 1e-12, in float32 1e-7

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;
};

/// u in so many buffers, and what the equation has beside it; `scheme` decides on how sides change.
std::vector<Row> rows_of(config::RunConfig const& run, int buffers, Scheme const& scheme);

/// Whether α is a field, and no number.
bool has_field(config::RunConfig const& run);

/// The largest α (m²/s). Throws `ConfigError` where it is not positive.
double largest_diffusivity(config::RunConfig const& run, Inputs const& inputs);

/// Files of other shapes than the grid, or with values that it does not take.
std::vector<Problem> file_problems(config::RunConfig const& run, Inputs const& inputs);

/// What checkpoints have of these files. `require_same_files` throws `ConfigError` where a file holds
/// other values now.
void save_files(config::RunConfig const& run, CheckpointSink& sink);
void require_same_files(config::RunConfig const& run, CheckpointSource const& source);

/// What kinds of sides there are, with their values.
template <class T>
std::array<std::array<typename stencil::DiffusionStep<T>::Side, 2>, 3> sides_of(
    config::RunConfig const& run, State<T>& state) {
  std::array<std::array<typename stencil::DiffusionStep<T>::Side, 2>, 3> sides;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int side = 0; side < 2; ++side)
      sides[axis][side] = {run.sides_of("u")[axis][side].kind, state.side("u", axis, side)};
  return sides;
}

}  // namespace gridstride::heat
