#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/multigrid/shares.hpp"
#include "kernels/multigrid/stored.hpp"

/// How several ranks make equations that are stored. For the family's own files only.
///
/// A rank makes those of its own planes, as one process makes them, and has those of the planes beside
/// from the ranks that made them: a window of the next level reaches twice as far as that which it
/// would be made from. Of the first level that is not cut all ranks have all.
namespace gridstride::multigrid {

/// Numbers of the equations in a plane of so many unknowns by so many, of a plane's rows by one; or of a
/// field that takes as much memory as more.
std::int64_t equation_values(int x, int y, int slowest);
/// Planes have one face more between them and at both ends, and a field lies beside them too: for
/// `sent_bytes`.
constexpr int equations_more = 2;

template <class S>
class SharedEquations {
 public:
  /// All ranks make one. It goes after what has been queued by it is done.
  SharedEquations(Stream const& stream, RankPlanes const& planes, Shares const& shares,
                  std::span<Level<S> const> levels);

  /// Of what a rank holds of a level that is cut, or of the next one, its own planes.
  Stored<S> own(std::size_t level, Stored<S> held) const;
  /// Queues that a rank has all that it holds of such a level, after it has made its own.
  void complete(Stream& stream, std::size_t level, Stored<S> const& held);
  /// The same of the weights of a level that is cut, which a rank has of its own planes: what they are
  /// found from lies beside.
  void complete(Stream& stream, std::size_t level, StoreWeights<S> const& weights);
  /// The same of the finest level's field, of which a rank has its own planes and a step beside them.
  Level<S> own(Level<S> const& finest) const;
  void complete_field(Stream& stream, Level<S> const& finest, Coefficient* field);

 private:
  RankPieces::Pieces pieces(std::size_t level, Stored<S> const& held, int first, int end,
                            bool with_end) const;
  /// Of a level that is cut, `pieces(first, end, with_end)` between ranks.
  template <class Pieces>
  void exchange(Stream& stream, std::size_t level, Pieces const& pieces);

  Shares const& shares_;
  int rank_;
  RankPieces ways_;
};

}  // namespace gridstride::multigrid
