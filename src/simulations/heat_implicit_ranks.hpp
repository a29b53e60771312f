#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "core/rank_sums.hpp"
#include "kernels/stencil/alternating_ranks.hpp"
#include "kernels/stencil/implicit.hpp"
#include "kernels/support/rank_planes.hpp"
#include "kernels/support/rank_transposition.hpp"
#include "kernels/system/slopes.hpp"
#include "model/out_of_core.hpp"
#include "model/state.hpp"

/// Implicit steps of heat that several ranks share: each has its planes of the slowest axis, and for
/// the lines along that one all planes of some columns, between which its values go to and fro.
namespace gridstride::heat {

/// How implicit steps of these rows go by slabs, or over ranks.
SlabSteps implicit_slabs(config::RunConfig const& run, Device const& device,
                         std::vector<Row> const& rows);

/// The planes of a rank. Spans of arrays are those of its own planes, in arrays that have one plane
/// more on each side. Instantiated for float and double.
template <class T>
class ImplicitPart {
 public:
  /// All ranks make one. `whole` is the equation with the faces of the whole grid, and α and the
  /// source as `state` has them. `has_rows`: systems are not all alike. Without `lines` there are no
  /// systems along axes, and nothing for those of the slowest one.
  ImplicitPart(Stream& stream, SweepPlan const& plan, stencil::Diffusion<T> const& whole,
               State<T>& state, bool has_rows, bool lines);

  Planes const& own() const { return own_; }
  /// The equation at the rank's planes.
  stencil::Diffusion<T> const& diffusion() const { return diffusion_; }
  /// An array.
  Buffer<T> make_array(Stream& stream) const;
  std::span<T> own_of(T* first_held) const { return {first_held + line_, own_values()}; }
  /// All planes of an array, as `RankPlanes` has them.
  std::span<T> held_of(std::span<T> own) const {
    return {own.data() - line_, own.size() + 2 * static_cast<std::size_t>(line_)};
  }
  RankPlanes& planes() { return planes_; }
  /// Copies all planes of an array.
  void copy(Stream& stream, std::span<T> to, std::span<T> from) const;

  /// Queues that faces follow those of the whole grid, which have changed.
  void renew_faces(Stream& stream);
  /// Queues that the planes beside the rank's own have what the ranks beside it have there.
  void exchange(Stream& stream, std::span<T> values);
  /// As `stencil::AxisSystems`, with W by `split` at the rank's planes; `start` has the planes beside.
  void solve(Stream& stream, stencil::Diffusion<T> const& split, double theta, T const* start,
             T* right, T* x);
  /// Of steps that alternate: queues one to `out`, where `u` has the planes beside; `work` gets any
  /// values.
  void alternate(Stream& stream, double step, std::span<T> u, std::span<T> work, std::span<T> out);
  /// How lines along the slowest axis go over ranks, in words.
  std::string_view transport() const;
  std::string fault(Stream& stream) const { return systems_.fault(stream); }
  /// As `system::worst_error` of one slope: a part for each rank, which all of them have.
  void find_worst(Stream& stream, system::Slopes<T> const& slopes, system::ErrorScale scale,
                  evaluate::DeviceClock const* clock, std::span<system::WorstError> parts);

 private:
  std::size_t own_values() const { return static_cast<std::size_t>(own_.count() * line_); }
  void place(stencil::Diffusion<T> const& whole, State<T>& state);
  void to_columns(Stream& stream, T const* planes);

  int slowest_;
  std::int64_t line_;  // values of a plane
  Planes own_;
  RankCuts columns_;  // along the axis before
  std::array<std::array<WindowFace<T>, 2>, 3> faces_;
  stencil::Diffusion<T> diffusion_;
  RankPlanes planes_;
  stencil::AlternatingStep<T> step_;  // of the whole grid
  std::optional<stencil::SharedLines<T>> lines_;
  std::optional<RankTransposition> transposition_;  // of lines without those
  Grid across_;                                     // all planes of the rank's columns
  std::array<std::array<typename stencil::DiffusionStep<T>::Side, 2>, 3> sides_across_;
  Buffer<T> diffusivity_across_;
  stencil::AxisSystems<T> systems_;
  Buffer<system::WorstError> errors_;  // of the rank's own planes
};

}  // namespace gridstride::heat
