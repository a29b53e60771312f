// `reference`: the sums as they are defined, in extended precision, one line after the other. n² work
// for a line of n points: the oracle.

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

#include "kernels/fft/passes.hpp"
#include "kernels/fft/rows.hpp"

namespace gridstride::fft {

namespace {

using Real = long double;
using Line = std::vector<std::complex<Real>>;

/// cos and sin of 2πm/period for any m.
class Circle {
 public:
  explicit Circle(std::int64_t period) {
    for (std::int64_t m = 0; m < period; ++m) {
      Real const angle =
          2 * std::numbers::pi_v<Real> * static_cast<Real>(m) / static_cast<Real>(period);
      points_.emplace_back(std::cos(angle), std::sin(angle));
    }
  }
  std::complex<Real> at(std::int64_t a, std::int64_t b) const {
    return points_[static_cast<std::size_t>(a * b % static_cast<std::int64_t>(points_.size()))];
  }

 private:
  Line points_;
};

/// Without a look at infinities, which takes most of the time of the library's.
std::complex<Real> product(std::complex<Real> a, std::complex<Real> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
std::complex<Real> product(Real a, std::complex<Real> b) { return a * b; }

/// Results Σ_j factor(j, k)·x_j for k = 0 … count − 1.
template <class Factor>
Line sums(Line const& x, std::int64_t count, Factor const& factor) {
  Line result;
  for (std::int64_t k = 0; k < count; ++k) {
    std::complex<Real> sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j)
      sum += product(factor(static_cast<std::int64_t>(j), k), x[j]);
    result.push_back(sum);
  }
  return result;
}

Line waves(Line const& x, bool inverse) {
  auto const n = static_cast<std::int64_t>(x.size());
  Circle const circle(n);
  return sums(x, n, [&](std::int64_t j, std::int64_t k) {
    return inverse ? circle.at(j, k) : std::conj(circle.at(j, k));
  });
}

/// Half of the waves' coefficients are the others' complex conjugates.
Line conjugated(Line const& half, std::int64_t n) {
  Line all = half;
  for (std::int64_t k = n / 2 + 1; k < n; ++k)
    all.push_back(std::conj(half[static_cast<std::size_t>(n - k)]));
  return all;
}

Line periodic(Line const& x, bool inverse) {
  std::size_t const n = x.size();
  if (!inverse) {
    auto result = waves(x, false);
    for (std::size_t k = n / 2 + 1; k < n; ++k) result[k] = -result[k].imag();
    for (std::size_t k = 0; k <= n / 2; ++k) result[k] = result[k].real();
    return result;
  }
  Line half;
  for (std::size_t k = 0; k <= n / 2; ++k)
    half.emplace_back(x[k].real(), k > 0 && 2 * k < n ? x[n - k].real() : 0);
  return waves(conjugated(half, static_cast<std::int64_t>(n)), true);
}

Line between_sides(Kind kind, Line const& x, bool inverse) {
  auto const n = static_cast<std::int64_t>(x.size()), last = n - 1;
  if (kind == Kind::dirichlet_dirichlet) {
    Circle const circle(2 * (n + 1));
    return sums(x, n, [&](auto j, auto k) { return 2 * circle.at(j + 1, k + 1).imag(); });
  }
  if (kind == Kind::neumann_neumann) {
    Circle const circle(2 * last);
    return sums(x, n, [&](auto j, auto k) {
      return (j == 0 || j == last ? 1 : 2) * circle.at(j, k).real();
    });
  }
  Circle const circle(4 * n);
  if (kind == Kind::neumann_dirichlet) {
    if (inverse)
      return sums(x, n, [&](auto k, auto j) { return 2 * circle.at(2 * k + 1, j).real(); });
    return sums(x, n,
                [&](auto j, auto k) { return (j == 0 ? 1 : 2) * circle.at(j, 2 * k + 1).real(); });
  }
  if (inverse)
    return sums(x, n, [&](auto k, auto j) { return 2 * circle.at(2 * k + 1, j + 1).imag(); });
  return sums(x, n, [&](auto j, auto k) {
    return (j == last ? 1 : 2) * circle.at(j + 1, 2 * k + 1).imag();
  });
}

Line transformed(Kind kind, Line const& x, bool inverse) {
  if (kind == Kind::complex) return waves(x, inverse);
  return kind == Kind::periodic ? periodic(x, inverse) : between_sides(kind, x, inverse);
}

template <class T>
class ReferencePass {
 public:
  explicit ReferencePass(Pass<T> const& pass) : pass_(pass) {}

  void run() const {
    for (std::int64_t c = 0; c < pass_.counts[2]; ++c)
      for (std::int64_t b = 0; b < pass_.counts[1]; ++b)
        for (std::int64_t a = 0; a < pass_.counts[0]; ++a) {
          std::array<std::int64_t, 3> const index = {a, b, c};
          put(result(get(at(index, pass_.in_strides)), index), at(index, pass_.out_strides));
        }
  }

 private:
  static std::int64_t at(std::array<std::int64_t, 3> const& index,
                         std::array<std::int64_t, 3> const& strides) {
    return index[0] * strides[0] + index[1] * strides[1] + index[2] * strides[2];
  }
  bool in_complex() const { return pass_.kind == Kind::complex || pass_.task == Task::complete; }
  bool out_complex() const { return pass_.kind == Kind::complex || pass_.task == Task::halve; }

  Line get(std::int64_t first) const {
    Line line;
    std::int64_t const count = pass_.task == Task::complete ? pass_.points / 2 + 1 : pass_.points;
    for (std::int64_t j = 0; j < count; ++j) {
      std::int64_t const place = first + j * pass_.in_stride;
      if (in_complex())
        line.emplace_back(pass_.in[2 * place], pass_.in[2 * place + 1]);
      else
        line.emplace_back(pass_.in[place]);
    }
    return line;
  }
  void put(Line const& line, std::int64_t first) const {
    for (auto const& value : line) {
      if (out_complex()) {
        pass_.out[2 * first] = static_cast<T>(value.real());
        pass_.out[2 * first + 1] = static_cast<T>(value.imag());
      } else {
        pass_.out[first] = static_cast<T>(value.real());
      }
      first += pass_.out_stride;
    }
  }

  Line result(Line line, std::array<std::int64_t, 3> const& index) const {
    switch (pass_.task) {
      case Task::forward:
        return transformed(pass_.kind, line, false);
      case Task::inverse:
        return transformed(pass_.kind, line, true);
      case Task::halve:
        line = waves(line, false);
        line.resize(line.size() / 2 + 1);
        return line;
      case Task::complete:
        return completed(line);
      case Task::solve:
        break;
    }
    line = transformed(pass_.kind, line, false);
    for (std::size_t k = 0; k < line.size(); ++k) {
      Real value = pass_.constant;
      if (pass_.along != nullptr) value += pass_.along[k];
      for (std::size_t axis = 0; axis < 2; ++axis)
        if (pass_.across[axis] != nullptr) value += pass_.across[axis][index[axis]];
      line[k] = value == 0 ? 0 : line[k].real() * pass_.scale / value;
    }
    return transformed(pass_.kind, line, true);
  }
  /// What has no counterpart among reals, the imaginary part of the mean, is of no influence.
  Line completed(Line line) const {
    line[0] = line[0].real();
    if (pass_.points % 2 == 0) line.back() = line.back().real();
    return waves(conjugated(line, pass_.points), true);
  }

  Pass<T> const& pass_;
};

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& work) {
  for (auto const& pass : passes_of(work)) ReferencePass<T>(pass).run();
}

template void host_reference(Stream&, Arguments<float> const&);
template void host_reference(Stream&, Arguments<double> const&);

}  // namespace gridstride::fft
