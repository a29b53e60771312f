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

/// The numerical range of the centers, `more` for what they are not, and what all is at most.
Rectangle rectangle_of(std::pair<double, double> real, std::pair<double, double> imaginary,
                       double more, double bound) {
  return {std::max(real.first - more, -bound), std::min(real.second + more, bound),
          std::min(std::max(imaginary.second, -imaginary.first) + more, bound)};
}

Rectangle rectangle_of_two(std::span<Disc const> discs, std::span<double const> scale,
                           std::array<double, 4> const& radius) {
  Complex const b = scale[1] / scale[0] * Complex(discs[1].real, discs[1].imaginary);
  Complex const c = scale[0] / scale[1] * Complex(discs[2].real, discs[2].imaginary);
  double const between = 0.5 * (radius[1] + radius[2]);
  double const more = perron_of_two({radius[0], between, between, radius[3]}).radius;
  double const bound = perron_of_two({discs[0].largest(), discs[1].largest(), discs[2].largest(),
                                      discs[3].largest()})
                           .radius;
  return rectangle_of(
      extremes_of(discs[0].real, discs[3].real, 0.5 * size_of(b + std::conj(c))),
      extremes_of(discs[0].imaginary, discs[3].imaginary, 0.5 * size_of(b - std::conj(c))), more,
      bound);
}

Rectangle rectangle_of_several(Matrix const& center, std::vector<double> const& radius,
                               std::span<Disc const> discs) {
  std::size_t const size = center.size;
  Matrix real(size), imaginary(size);
  std::vector<double> spread(size * size), largest(size * size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      real(i, j) = 0.5 * (center(i, j) + std::conj(center(j, i)));
      imaginary(i, j) = Complex(0, -0.5) * (center(i, j) - std::conj(center(j, i)));
      spread[i * size + j] = 0.5 * (radius[i * size + j] + radius[j * size + i]);
      largest[i * size + j] = discs[i * size + j].largest();
    }
  return rectangle_of(extremes_of(real), extremes_of(imaginary), perron(size, spread).radius,
                      perron(size, largest).radius);
}

}  // namespace

double Rectangle::size() const {
  return length(std::max(std::abs(least), std::abs(greatest)), imaginary);
}

// The numerical range of the centers is that of two Hermitian matrices, and no radius of a matrix
// without negative entries is more than its largest row.
Rectangle rough_rectangle(std::span<Disc const> discs, std::span<double const> scale) {
  constexpr double rounding = 1e-6;  // of all that find_rectangles does
  std::size_t const size = scale.size();
  double least = 0, greatest = 0, imaginary = 0, more = 0;
  for (std::size_t i = 0; i < size; ++i) {
    double others = 0, spread = 0;
    for (std::size_t j = 0; j < size; ++j) {
      Disc const &one = discs[i * size + j], &other = discs[j * size + i];
      double const weight = 0.5 * scale[j] / scale[i], back = 0.5 * scale[i] / scale[j];
      spread += weight * (one.real_radius + one.imaginary_radius) +
                back * (other.real_radius + other.imaginary_radius);
      if (i != j)
        others += weight * (std::abs(one.real) + std::abs(one.imaginary)) +
                  back * (std::abs(other.real) + std::abs(other.imaginary));
    }
    Disc const& own = discs[i * size + i];
    least = std::min(least, own.real - others);
    greatest = std::max(greatest, own.real + others);
    imaginary = std::max(imaginary, std::abs(own.imaginary) + others);
    more = std::max(more, spread);
  }
  more += rounding * (std::max(-least, greatest) + imaginary + more);
  return {least - more, greatest + more, imaginary + more};
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
  bool const is_exact =
      std::ranges::all_of(discs, [](Disc const& one) { return one.radius() == 0; });
  auto const weight = [&](std::size_t i, std::size_t j) { return scale[j] / scale[i]; };
  if (size == 2 && !is_exact) {
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
  if (!is_exact) {
    found.push_back(rectangle_of_several(center, radius, discs));
    return;
  }
  for (Complex const& one : eigenvalues(center))
    found.push_back({one.real(), one.real(), std::abs(one.imag())});
}

}  // namespace gridstride::equations
