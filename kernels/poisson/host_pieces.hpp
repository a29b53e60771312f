#pragma once

#include <algorithm>
#include <vector>

#include "kernels/poisson/point.hpp"
#include "kernels/support/parallel_for.hpp"

/// Points of the grid on the host. For the family's own files only.
namespace gridstride::poisson {

/// Calls `visit(found, at)` for every unknown, with what is found in its piece so far.
template <class Found, class T, class Visit>
std::vector<Found> for_each_piece(Operator<T> const& a, Visit const& visit) {
  Pieces const pieces = Pieces::of(a);
  std::vector<Found> found(static_cast<std::size_t>(pieces.count));
  parallel_for(pieces.count, 32 * std::min(Pieces::length, a.count[0]), [&](std::int64_t piece) {
    std::int64_t at[3];
    std::int64_t const end = pieces.place(a, piece, at);
    Found own{};
    for (; at[0] < end; ++at[0]) visit(own, at);
    found[static_cast<std::size_t>(piece)] = own;
  });
  return found;
}

inline void add(double& all, double one) { all += one; }
inline void add(Sums& all, Sums const& one) {
  all.sum += one.sum;
  all.magnitude += one.magnitude;
}

/// What is found in each of this rank's parts: of its pieces, in their order.
template <class Found, class T, class Visit>
void for_each_part(Operator<T> const& a, Visit const& visit, Found* found) {
  Pieces const pieces = Pieces::of(a);
  Parts const parts = Parts::of(a);
  std::int64_t const work = a.size() / std::max<std::int64_t>(parts.own, 1);
  parallel_for(parts.own, 32 * work, [&](std::int64_t number) {
    auto const [first, last] = parts.range(parts.first + number);
    Found all{};
    for (std::int64_t piece = first; piece < last; ++piece) {
      std::int64_t at[3];
      std::int64_t const end = pieces.place(a, piece, at);
      Found own{};
      for (; at[0] < end; ++at[0]) visit(own, at);
      add(all, own);
    }
    found[number] = all;
  });
}

/// The largest of what `visit(own, at)` raises.
template <class T, class Visit>
Largest largest_of_pieces(Operator<T> const& a, Visit const& visit) {
  Largest all;
  for (Largest const& largest : for_each_piece<Largest>(a, visit)) raise(all, largest);
  return all;
}

}  // namespace gridstride::poisson
