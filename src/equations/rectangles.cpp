#include "equations/rectangles.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <limits>
#include <utility>

#include "equations/eigenvalues.hpp"

namespace gridstride::equations {
namespace {

using Complex = std::complex<double>;

double size_of(Complex z) { return length(z.real(), z.imag()); }

/// The eigenvalues of a Hermitian matrix: the least and the greatest.
std::pair<double, double> extremes_of(Matrix const& hermitian) {
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (Complex const& one : eigenvalues(hermitian)) {
    least = std::min(least, one.real());
    greatest = std::max(greatest, one.real());
  }
  return {least, greatest};
}

/// The same of ((a, b), (b*, d)).
std::pair<double, double> extremes_of(double a, double d, double size_of_b) {
  double const middle = 0.5 * (a + d), root = length(0.5 * (a - d), size_of_b);
  return {middle - root, middle + root};
}

/// The numerical range of the centers, `more` for what they are not, of it what turns, and what all is at
/// most.
Rectangle rectangle_of(std::pair<double, double> real, std::pair<double, double> imaginary,
                       double more, double more_turning, double bound) {
  double const turns = std::max(imaginary.second, -imaginary.first);
  return {std::max(real.first - more, -bound), std::min(real.second + more, bound),
          std::min(turns + more, bound), std::min(turns + more_turning, bound)};
}

Rectangle rectangle_of_two(std::span<Disc const> discs, std::span<double const> scale,
                           std::array<double, 4> const& radius) {
  Complex const b = scale[1] / scale[0] * Complex(discs[1].real, discs[1].imaginary);
  Complex const c = scale[0] / scale[1] * Complex(discs[2].real, discs[2].imaginary);
  double const between = 0.5 * (radius[1] + radius[2]);
  double const more = perron_of_two({radius[0], between, between, radius[3]}).radius;
  double const more_turning =
      perron_of_two({discs[0].imaginary_radius, between, between, discs[3].imaginary_radius})
          .radius;
  double const bound = perron_of_two({discs[0].largest(), discs[1].largest(), discs[2].largest(),
                                      discs[3].largest()})
                           .radius;
  return rectangle_of(
      extremes_of(discs[0].real, discs[3].real, 0.5 * size_of(b + std::conj(c))),
      extremes_of(discs[0].imaginary, discs[3].imaginary, 0.5 * size_of(b - std::conj(c))), more,
      more_turning, bound);
}

Rectangle rectangle_of_several(Matrix const& center, std::vector<double> const& radius,
                               std::span<Disc const> discs) {
  std::size_t const size = center.size;
  Matrix real(size), imaginary(size);
  std::vector<double> spread(size * size), turning(size * size), largest(size * size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      real(i, j) = 0.5 * (center(i, j) + std::conj(center(j, i)));
      imaginary(i, j) = Complex(0, -0.5) * (center(i, j) - std::conj(center(j, i)));
      spread[i * size + j] = 0.5 * (radius[i * size + j] + radius[j * size + i]);
      turning[i * size + j] = i == j ? discs[i * size + i].imaginary_radius : spread[i * size + j];
      largest[i * size + j] = discs[i * size + j].largest();
    }
  return rectangle_of(extremes_of(real), extremes_of(imaginary), perron(size, spread).radius,
                      perron(size, turning).radius, perron(size, largest).radius);
}

}  // namespace

double Rectangle::size() const {
  return length(std::max(std::abs(least), std::abs(greatest)), imaginary);
}

namespace {

/// The entries as they are when scaled, one and the one across the diagonal.
struct Across {
  double real, imaginary;  // |a + b*|/2 and |a − b*|/2
  double radius;           // (r_a + r_b)/2

  Across(Disc const& a, Disc const& b, double scale) {
    double const forth = 0.5 * scale, back = 0.5 / scale;
    real = length(forth * a.real + back * b.real, forth * a.imaginary - back * b.imaginary);
    imaginary = length(forth * a.real - back * b.real, forth * a.imaginary + back * b.imaginary);
    radius =
        forth * (a.real_radius + a.imaginary_radius) + back * (b.real_radius + b.imaginary_radius);
  }
};

/// With a bit more, for all roundings of find_rectangles.
Rectangle enlarged(Rectangle box, double more) {
  constexpr double rounding = 1e-6;
  more += rounding * (std::max(std::abs(box.least), std::abs(box.greatest)) + box.imaginary + more);
  return {box.least - more, box.greatest + more, box.imaginary + more};
}

}  // namespace

// The numerical range of the centers is that of two Hermitian matrices; neither their eigenvalues
// nor the radius of a matrix without negative entries are beyond what the rows add up to (Gershgorin).
Rectangle rough_rectangle(std::span<Disc const> discs, std::span<double const> scale) {
  std::size_t const size = scale.size();
  if (size == 2) {
    Disc const &a = discs[0], &d = discs[3];
    Across const across(discs[1], discs[2], scale[1] / scale[0]);
    auto const [least, greatest] = extremes_of(a.real, d.real, across.real);
    auto const [down, up] = extremes_of(a.imaginary, d.imaginary, across.imaginary);
    double const more = extremes_of(a.real_radius + a.imaginary_radius,
                                    d.real_radius + d.imaginary_radius, across.radius)
                            .second;
    return enlarged({least, greatest, std::max(up, -down)}, more);
  }
  Rectangle box;
  double more = 0;
  for (std::size_t i = 0; i < size; ++i) {
    Disc const& own = discs[i * size + i];
    double real = 0, imaginary = 0, radius = own.real_radius + own.imaginary_radius;
    for (std::size_t j = 0; j < size; ++j) {
      if (i == j) continue;
      Across const across(discs[i * size + j], discs[j * size + i], scale[j] / scale[i]);
      real += across.real;
      imaginary += across.imaginary;
      radius += across.radius;
    }
    box.least = std::min(box.least, own.real - real);
    box.greatest = std::max(box.greatest, own.real + real);
    box.imaginary = std::max(box.imaginary, std::abs(own.imaginary) + imaginary);
    more = std::max(more, radius);
  }
  return enlarged(box, more);
}

bool is_exact(std::span<Disc const> discs) {
  return std::ranges::all_of(discs, [](Disc const& one) { return one.radius() == 0; });
}

void find_rectangles(std::span<Disc const> discs, std::span<double const> scale,
                     std::vector<Rectangle>& found) {
  std::size_t const size = scale.size();
  found.clear();
  if (size == 1) {
    Disc const& one = discs.front();
    found.push_back({one.real - one.real_radius, one.real + one.real_radius,
                     std::abs(one.imaginary) + one.imaginary_radius});
    return;
  }
  auto const weight = [&](std::size_t i, std::size_t j) { return scale[j] / scale[i]; };
  bool const exact = is_exact(discs);
  if (size == 2 && !exact) {
    std::array<double, 4> radius;
    for (std::size_t at = 0; at < 4; ++at) radius[at] = weight(at / 2, at % 2) * discs[at].radius();
    found.push_back(rectangle_of_two(discs, scale, radius));
    return;
  }
  Matrix center(size);
  std::vector<double> radius(size * size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      Disc const& one = discs[i * size + j];
      center(i, j) = weight(i, j) * Complex(one.real, one.imaginary);
      radius[i * size + j] = weight(i, j) * one.radius();
    }
  if (!exact) {
    found.push_back(rectangle_of_several(center, radius, discs));
    return;
  }
  for (Complex const& one : eigenvalues(center))
    found.push_back({one.real(), one.real(), std::abs(one.imag())});
}

}  // namespace gridstride::equations
