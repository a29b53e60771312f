#include "equations/upwind.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <set>

namespace gridstride::equations {
namespace {

using expression::Operation;

/// Five values at points in the order in which things travel; the face comes after the third.
using Five = std::array<Term, 5>;

class Reconstruction {
 public:
  Reconstruction(Terms& terms, double least) : terms_(terms), least_(least) {}

  /// The value at the face: the third one, and a mean of three ways to go on from it, of differences
  /// of values, with weights that fall where these are large.
  Term face(Five const& values) {
    if (values[0] == values[4]) return values[2];
    Term const size = size_of(values), scale = terms_.divide(terms_.number(1), size);
    std::array<Term, 4> scaled;
    for (std::size_t k = 0; k < 4; ++k)
      scaled[k] = terms_.multiply(terms_.subtract(values[k + 1], values[k]), scale);
    auto const [a, b, c, d] = scaled;
    std::array<Term, 3> const rough = {roughness(b, a, terms_.subtract(times(3, b), a)),
                                       roughness(c, b, terms_.add(b, c)),
                                       roughness(d, c, terms_.subtract(times(3, c), d))};
    // 0.1/rough₀², 0.6/rough₁², 0.3/rough₂² times all of these, which needs no divisions.
    std::array<Term, 3> const weights = {times(0.1, square(terms_.multiply(rough[1], rough[2]))),
                                         times(0.6, square(terms_.multiply(rough[0], rough[2]))),
                                         times(0.3, square(terms_.multiply(rough[0], rough[1])))};
    std::array<Term, 3> const ways = {terms_.subtract(times(5, b), times(2, a)),
                                      terms_.add(times(2, c), b), terms_.subtract(times(4, c), d)};
    Term const all = terms_.add(terms_.add(weights[0], weights[1]), weights[2]);
    Term const sum = terms_.add(
        terms_.add(terms_.multiply(weights[0], ways[0]), terms_.multiply(weights[1], ways[1])),
        terms_.multiply(weights[2], ways[2]));
    // In the field's unit at last: weights are some 1e-25 where all is smooth.
    return terms_.add(values[2], terms_.multiply(size, terms_.divide(sum, times(6, all))));
  }

 private:
  static constexpr double smooth = 1e-6;  // squared relative differences that count as nothing

  Term times(double factor, Term of) { return terms_.multiply(terms_.number(factor), of); }
  Term square(Term of) { return terms_.multiply(of, of); }

  Term size_of(Five const& values) {
    Term size = terms_.number(least_);
    for (Term const value : values)
      size = terms_.operation(Operation::max, size, terms_.operation(Operation::abs, value));
    return size;
  }

  /// 13/12·(b − a)² + slope²/4 + smooth
  Term roughness(Term b, Term a, Term slope) {
    return terms_.add(
        terms_.add(times(13.0 / 12, square(terms_.subtract(b, a))), times(0.25, square(slope))),
        terms_.number(smooth));
  }

  Terms& terms_;
  double least_;  // beside which values count
};

/// (face(0) − face(−1))·scale
template <class Face>
Term difference(Terms& to, double scale, Face const& face) {
  return to.multiply(to.number(scale), to.subtract(face(0), face(-1)));
}

}  // namespace

Term convective_difference(Terms& to, Space const& space, ValueAlong const& at,
                           ConvectiveFlux const& flux, Term unknown, double spacing) {
  Reconstruction reconstruction(to, space.least_normal);
  // Faces have twice what goes through them.
  return difference(to, 0.5 / spacing, [&](int here) {
    auto const value = [&](Term term, int point) { return at(term, flux.axis, here + point); };
    // From the third point before the face to the third after it, or the nearest two.
    int const first = space.convection == Convection::weno5 ? -2 : 0, last = 1 - first;
    std::set<Term> speeds;
    for (int point = first; point <= last; ++point) speeds.insert(value(flux.speed, point));
    Term speed = *speeds.begin();
    for (Term const other : speeds)
      if (other != speed) speed = to.operation(Operation::max, speed, other);
    if (space.convection == Convection::upwind)
      return to.subtract(to.add(value(flux.flux, 0), value(flux.flux, 1)),
                         to.multiply(speed, to.subtract(value(unknown, 1), value(unknown, 0))));
    Five onward, backward;
    for (int k = 0; k < 5; ++k) {
      auto const carried = [&](int point) { return to.multiply(speed, value(unknown, point)); };
      auto const place = static_cast<std::size_t>(k);
      onward[place] = to.add(value(flux.flux, k - 2), carried(k - 2));
      backward[place] = to.subtract(value(flux.flux, 3 - k), carried(3 - k));
    }
    return to.add(reconstruction.face(onward), reconstruction.face(backward));
  });
}

Term transported_difference(Terms& to, Space const& space, ValueAlong const& at,
                            ConvectiveTransport const& transport, double spacing) {
  int const axis = transport.axis;
  auto const value = [&](int point) { return at(transport.of, axis, point); };
  Term const onward = to.operation(Operation::greater, at(transport.drift, axis, 0), to.number(0));
  auto const choose = [&](Term a, Term b) { return to.operation(Operation::select, onward, a, b); };
  if (space.convection == Convection::upwind)
    return to.multiply(to.number(1 / spacing),
                       choose(to.subtract(value(0), value(-1)), to.subtract(value(1), value(0))));
  Reconstruction reconstruction(to, space.least_normal);
  return difference(to, 1 / spacing, [&](int here) {
    Five values;
    for (int k = 0; k < 5; ++k)
      values[static_cast<std::size_t>(k)] = choose(value(here + k - 2), value(here + 3 - k));
    return reconstruction.face(values);
  });
}

std::vector<std::complex<double>> convection_symbol(Convection scheme) {
  std::vector<std::complex<double>> found;
  constexpr int parts = 24;
  auto const add = [&found](double real, double imaginary) {
    found.emplace_back(real, imaginary);
    found.emplace_back(real, -imaginary);
  };
  for (int i = 1; i <= parts && scheme != Convection::central; ++i) {
    double const theta = std::numbers::pi * i / parts;
    add(std::cos(theta) - 1, std::sin(theta));
    if (scheme == Convection::weno5)
      add(-std::pow(2 * std::sin(theta / 2), 6) / 60,
          (45 * std::sin(theta) - 9 * std::sin(2 * theta) + std::sin(3 * theta)) / 30);
  }
  return found;
}

}  // namespace gridstride::equations
