#pragma once

#include <cstddef>
#include <vector>

#include "equations/terms.hpp"

/// What of a system depends on space alone, so that arrays may hold it.
namespace gridstride::equations {

/// The most arrays of what lasts: each takes memory, and the registers of kernels that keep rows.
inline constexpr int most_lasting = 4;

/// Finds terms that are worth an array which is made once: pointwise, of coordinates, random
/// numbers that stay and numbers, and with functions, roots or quotients in them. What depends on
/// one axis of several is none: the points of a line share it, and kernels find it for all of them.
class LastingTerms {
 public:
  /// Of systems in `dims` dimensions; at most `most` of them are given numbers.
  LastingTerms(Terms const& terms, int dims, int most);

  /// The number of its array, from 0 on in the order of asking; −1: it has none.
  int number_of(Term term);
  /// The terms that have one, in this order.
  std::vector<Term> const& numbered() const { return numbered_; }
  /// Whether its values differ along an axis.
  bool varies_along(Term term, std::size_t axis) { return (at(term).axes >> axis & 1) != 0; }

 private:
  struct Properties {
    bool lasts = false;
    unsigned axes = 0;  ///< a bit for each that it varies along
    double cost = 0;    ///< as `arithmetic_cost`, with all operands
  };
  Properties const& at(Term term);
  Properties properties_of(Node const& node) const;

  Terms const& terms_;
  unsigned all_axes_;
  int fewest_axes_, most_;
  std::vector<Properties> all_;  // of terms, as far as they were asked for
  std::vector<Term> numbered_;
};

}  // namespace gridstride::equations
