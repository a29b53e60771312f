#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/system/system.hpp"
#include "model/state.hpp"
#include "model/sweep_plan.hpp"
#include "simulations/pde_globals.hpp"

/// What of the equations depends on space alone and is held by arrays.
namespace gridstride::pde {

/// Adds the arrays, with what they hold beyond sides that do not wrap.
void add_lasting(std::vector<Row>& rows, config::RunConfig const& run,
                 equations::Stencil const& stencil);

bool is_lasting_row(Row const& row);

/// How many of the arrays a program reads.
std::size_t lasting_read(config::RunConfig const& run, equations::StencilProgram const& program);
/// Whether names with sides read any: then they have to be there for the whole grid.
bool names_read_lasting(config::RunConfig const& run, equations::Stencil const& stencil);

/// The arrays of a stencil over a piece of the grid, made once, by the programs and the arithmetic of the
/// device that else would find them in each evaluation. Instantiated for float and double.
template <class T>
class LastingArrays {
 public:
  /// Makes them; `stream` is that of evaluations. `piece` has the origin of the whole grid, where its first
  /// point has the number `first` along each axis.
  LastingArrays(Stream const& stream, config::RunConfig const& run,
                equations::Stencil const& stencil, Grid const& piece,
                std::array<std::int64_t, 3> const& first = {});
  LastingArrays(LastingArrays const&) = delete;
  LastingArrays& operator=(LastingArrays const&) = delete;
  ~LastingArrays();

  /// What evaluations of all of it read after components and names.
  std::vector<system::Input<T>> const& inputs() {
    return inputs_on({0, piece_.points[static_cast<std::size_t>(piece_.dims - 1)]});
  }
  /// The same of some of its planes, which are a grid of their own. Waits where it is asked for these for
  /// the first time, for nothing that is queued elsewhere.
  std::vector<system::Input<T>> const& inputs_on(Planes const& planes);

 private:
  void make(long long const (&points)[3], long long const (&at)[3], std::vector<Buffer<T>>& arrays,
            std::int64_t place);
  void wrap(system::Sides<T>& sides) const;

  Stream stream_, making_;
  Grid piece_;
  std::array<std::int64_t, 3> first_, whole_;
  Wraps around_;
  std::array<int, 3> margin_ = {};
  std::string_view variant_;
  equations::StencilProgram program_;
  std::vector<Buffer<T>> arrays_;
  /// Of planes that were asked for.
  struct Part {
    std::vector<Buffer<T>> beyond;
    std::vector<system::Input<T>> inputs;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Part> parts_;
};

}  // namespace gridstride::pde
