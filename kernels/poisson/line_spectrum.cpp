#include "kernels/poisson/line_spectrum.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

namespace gridstride::poisson {

std::int64_t eigenvalues_below(Line const& line, double bound) {
  std::size_t const size = line.diagonal.size();
  if (size == 0) return 0;
  std::int64_t below = 0;
  // A zero pivot counts as a tiny one: bounds between eigenvalues are as good beside as on one.
  auto const count = [&](double pivot) {
    if (pivot < 0) ++below;
    return pivot == 0 ? std::numeric_limits<double>::min() : pivot;
  };
  // `corner` is what the last unknown's equation has of the present one, and `last` its diagonal as
  // it is after elimination so far; a line that is not periodic has none of the former.
  double const last_diagonal = line.diagonal[size - 1] - bound;
  double last = last_diagonal, corner = line.periodic ? line.upper[size - 1] : 0;
  double diagonal = line.diagonal[0] - bound;
  for (std::size_t i = 0; i + 1 < size; ++i) {
    bool const beside_last = i + 2 == size;
    // Both of them and their counterparts have the same sign, and only products count.
    double const coupling =
        std::copysign(std::sqrt(line.upper[i] * line.lower[i + 1]), line.upper[i]);
    double const pivot = count(diagonal);
    if (beside_last) {
      corner += coupling;
      last -= corner * corner / pivot;
    } else {
      diagonal = line.diagonal[i + 1] - bound - coupling * coupling / pivot;
      last -= corner * corner / pivot;
      corner *= -coupling / pivot;
    }
  }
  count(last);
  return below;
}

std::optional<double> eigenvalue_within(Line const& line, double distance) {
  auto const between = [&](double lower, double upper) {
    return eigenvalues_below(line, upper) - eigenvalues_below(line, lower);
  };
  if (between(-distance, distance) == 0) return std::nullopt;
  // The least distance that still has one, by halves.
  double with = distance, without = 0;
  while (with - without > 1e-6 * distance) {
    double const middle = (with + without) / 2;
    (between(-middle, middle) > 0 ? with : without) = middle;
  }
  return between(-with, 0) > 0 ? -with : with;
}

}  // namespace gridstride::poisson
