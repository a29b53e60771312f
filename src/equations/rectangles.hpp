#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "equations/stability.hpp"

/// Where the eigenvalues of a matrix lie whose entries are known to lie in rectangles.
namespace gridstride::equations {

/// Where eigenvalues lie: real parts from `least` to `greatest`, imaginary ones up to ±`imaginary`.
struct Rectangle {
  double least = 0;
  double greatest = 0;
  double imaginary = 0;
  /// The same as `imaginary`, without what real entries of the diagonal are not known to: these turn nothing.
  double turning = imaginary;

  /// The largest |λ|.
  double size() const;
};

/// √(a² + b²)
inline double length(double a, double b) {
  if (b == 0) return std::abs(a);
  return a == 0 ? std::abs(b) : std::hypot(a, b);
}

/// An entry of the matrix at one θ: a center, and how far it may be from it, along both axes.
struct Disc {
  double real = 0, imaginary = 0;
  double real_radius = 0, imaginary_radius = 0;

  void add_real(double factor, Range range) { add(factor, range, real, real_radius); }
  void add_imaginary(double factor, Range range) {
    add(factor, range, imaginary, imaginary_radius);
  }
  void add_radius(double radius) {
    real_radius += radius;
    imaginary_radius += radius;
  }
  double radius() const { return length(real_radius, imaginary_radius); }
  double largest() const {
    return length(std::abs(real) + real_radius, std::abs(imaginary) + imaginary_radius);
  }

 private:
  static void add(double factor, Range range, double& center, double& radius) {
    center += factor * 0.5 * (range.least + range.greatest);
    radius += std::abs(factor) * 0.5 * (range.greatest - range.least);
  }
};

/// Whether no entry may be anywhere but at its center.
bool is_exact(std::span<Disc const> discs);

/// Of the matrix with these entries, row after row: a point for each eigenvalue where they are
/// exact, else what holds all of them. `scale` makes it as symmetric as can be.
void find_rectangles(std::span<Disc const> discs, std::span<double const> scale,
                     std::vector<Rectangle>& found);

/// What all of these are in for sure, found in less time; of two components hardly larger.
Rectangle rough_rectangle(std::span<Disc const> discs, std::span<double const> scale);

}  // namespace gridstride::equations
