#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "config/run_config.hpp"
#include "core/stream.hpp"
#include "model/simulation.hpp"
#include "model/window_steps.hpp"

namespace gridstride {

/// Arrays of a field: one, or one for each component of a vector.
template <class T>
using Targets = std::span<T* const>;

/// First values of the planes that a rank owns, into arrays of a window's (`begin_with`); of a formula those
/// of all planes of the window. All ranks call it. A formula each evaluates for itself. Of a file the first
/// one reads a slab after the other; all of it is there for a while where it is stored in another order, and
/// so are the values of a formula that cannot be evaluated at some points alone. Throws as `fill` does, on the
/// first rank. Waits for what goes from rank to rank. Instantiated for float and double.
template <class T>
void fill_own(Stream& stream, config::FieldSource const& source, SweepPlan const& plan,
              Inputs const& inputs, Window<T> const& window, Targets<T> targets,
              std::string_view variant);
template <class T>
void fill_own(Stream& stream, config::FieldSource const& source, SweepPlan const& plan,
              Inputs const& inputs, Window<T> const& window, T* target, std::string_view variant) {
  fill_own(stream, source, plan, inputs, window, Targets<T>(&target, 1), variant);
}

/// The same of any planes of the grid, or strips of them, by one process. Throws `std::invalid_argument` for a
/// formula that cannot be evaluated at some points alone (`goes_by_planes`).
template <class T>
void fill_brick(Stream& stream, config::FieldSource const& source, Grid const& grid,
                Brick const& brick, Inputs const& inputs, Targets<T> targets,
                std::string_view variant);

/// Whether all of a field's first values can be evaluated at some points alone, where they are formulas.
bool goes_by_planes(config::FieldSource const& source, Grid const& grid);

/// The planes of a window that this rank owns.
template <class T, class U>
std::span<U> own_planes(SweepPlan const& plan, Window<T> const& window, U* array) {
  std::int64_t const plane = plan.shape.plane_values();
  return {array + window.made[0] * plane,
          static_cast<std::size_t>((window.made[1] - window.made[0]) * plane)};
}

}  // namespace gridstride
