#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "kernels/multigrid/multigrid.hpp"
#include "kernels/multigrid/progress.hpp"
#include "kernels/multigrid/relaxation.hpp"
#include "kernels/multigrid/rows.hpp"

/// How far u is from the solution, of what sweeps have come to. For multigrid.cpp only.
namespace gridstride::multigrid {

/// Where a or κ vary nothing that is seen of sweeps tells what they have hardly begun to take: what a part of the
/// grid has that hardly anything couples to the rest. Directions by cycles see it.
template <class T>
class SweptError {
 public:
  SweptError(Stream& stream, poisson::Equation<T> const& equation, bool singular)
      : equation_(equation),
        singular_(singular),
        right_(stream, MemorySpace::device, static_cast<std::size_t>(equation.grid.size())),
        error_(stream, MemorySpace::device, right_.size()),
        found_(stream, MemorySpace::device, 1),
        solver_(stream, equation, singular, options_of_error()) {
    if constexpr (!std::is_same_v<T, double>) exact_ = {stream, MemorySpace::device, right_.size()};
    zero_async(right_.span(), stream);
    zero_async(error_.span(), stream);
  }

  /// The largest error of the u that `residual` looks at, whose largest residual is `left`; infinity where cycles do
  /// not find it. The level's r is used. Waits for the stream.
  double largest(Stream& stream, TakeResidual<T, double> residual, double left) {
    residual.scale = unit_of(poisson::bits_of_magnitude(left));
    take(stream, residual);
    if (!solver_.solve(stream, right_.span(), error_.span()).converged) return none;
    if (singular_) {
      auto const found = poisson::integrate(stream, equation_, error_.span());
      poisson::shift(stream, -found.sum / found.volume, error_.span());
    }
    zero_async(found_.span(), stream);
    find(
        stream,
        Begin<T>{points_of(residual.level), places_of(residual.a), error_.data(), nullptr, nullptr},
        found_.data());
    Found found;
    copy_async(std::span(&found, 1), std::as_const(found_).span(), stream);
    stream.synchronize();
    return std::bit_cast<double>(found.first) / residual.scale;
  }

 private:
  /// Queues right = the residual, at the grid's points and without the shares of cells.
  void take(Stream& stream, TakeResidual<T, double> const& residual) {
    auto step = residual;
    std::ranges::fill(step.level.face, nullptr);
    step.level.f = step.level.r;
    find(stream, step, found_.data());
    step.level.u = step.level.r;
    Places const places = places_of(step.a);
    if constexpr (std::is_same_v<T, double>) {
      each(stream, GiveSolution<double>{step.level, places, right_.data()});
    } else {
      each(stream, GiveSolution<double>{step.level, places, exact_.data()});
      each(stream, Round<T>{points_of(step.level), places, exact_.data(), right_.data()});
    }
  }

  poisson::Equation<T> equation_;
  bool singular_;
  Buffer<T> right_, error_;
  Buffer<double> exact_;  // where the arrays are not of float64
  Buffer<Found> found_;
  Solver<T> solver_;
};

}  // namespace gridstride::multigrid
