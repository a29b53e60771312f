#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/krylov/krylov.hpp"
#include "simulations/linear_system_scaled.hpp"

/// Columns of sparse systems on their way, for `linear_system` alone.
namespace gridstride::linear_system {

/// A column of the solution in the units of the system, and what it is worth.
template <class T>
struct Solved {
  krylov::Result result;
  typename ScaledSystem<T>::template Values<T> x;
  Residual left;
};

/// Refuses x, a solution in the given units, where rounding to T has taken from it what solves the
/// equations. Throws `NumericalError`.
template <class T>
void require_held(ScaledSystem<T> const& system, double tolerance, Solved<T>& solved,
                  std::span<T const> right, int exponent, std::span<T const> x);

/// Right-hand sides in the units of the system that are solved together, from the column `first` on.
template <class T>
struct Group {
  std::int64_t first;
  std::vector<typename ScaledSystem<T>::template Values<T>> rights = {};
  std::vector<int> exponents = {};
  Buffer<T> b = {}, x = {};  ///< columns one after the other
  std::vector<krylov::Result> results = {};
  /// What they are, on the host, and what they leave.
  std::vector<typename ScaledSystem<T>::template Values<T>> found = {};
  std::vector<Residual> left = {};

  std::size_t size() const { return rights.size(); }
  std::span<T const> b_of(std::size_t k) const {
    return b.span().subspan(k * rights[k].size(), rights[k].size());
  }
  std::span<T> b_of(std::size_t k) {
    return b.span().subspan(k * rights[k].size(), rights[k].size());
  }
  std::span<T> x_of(std::size_t k) {
    return x.span().subspan(k * rights[k].size(), rights[k].size());
  }
};

/// With b, and memory for x. Throws `NumericalError` where T cannot hold more than a part `tolerance` of a b
/// in the units of the system.
template <class T>
Group<T> begin_group(Stream& stream, ScaledSystem<T> const& system, double tolerance,
                     std::span<std::span<double const> const> rights, std::int64_t first);

}  // namespace gridstride::linear_system
