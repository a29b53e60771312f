#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/fft/fft.hpp"

namespace gridstride::test {

using fft::Direction;
using fft::Kind;

inline constexpr std::array real_kinds = {Kind::periodic, Kind::dirichlet_dirichlet,
                                          Kind::neumann_neumann, Kind::dirichlet_neumann,
                                          Kind::neumann_dirichlet};

/// Numbers in [−1, 1) that look random; reals or complex ones.
template <class V>
std::vector<V> noise(std::int64_t size, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  auto const next = [&] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<double>(static_cast<std::int64_t>(state) >> 11) / 4503599627370496.0;
  };
  std::vector<V> values;
  for (std::int64_t i = 0; i < size; ++i) {
    if constexpr (std::is_floating_point_v<V>) {
      values.push_back(static_cast<V>(next()));
    } else {
      using T = typename V::value_type;
      T const re = static_cast<T>(next());
      values.emplace_back(re, static_cast<T>(next()));
    }
  }
  return values;
}

/// ‖a − b‖₂ / ‖b‖₂
template <class A, class B>
double distance(std::vector<A> const& a, std::vector<B> const& b) {
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if constexpr (std::is_floating_point_v<A>) {
      gap += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
      size += std::pow(static_cast<double>(b[i]), 2);
    } else {
      gap += std::norm(std::complex<double>(a[i]) - std::complex<double>(b[i]));
      size += std::norm(std::complex<double>(b[i]));
    }
  }
  return size == 0 ? std::sqrt(gap) : std::sqrt(gap / size);
}

/// The relative error that a transform of so many points may have. Steps add errors of about ε that
/// are independent, so that their sum grows with the root of the steps' number; Bluestein's way has
/// two transforms of about 2n points, and kinds with sides have twice the points.
template <class T>
double allowed_error(double points) {
  return 4 * double{std::numeric_limits<T>::epsilon()} * std::sqrt(std::log2(points) + 3);
}

/// A device array with these values.
template <class V>
Buffer<V> on_device(Stream& stream, std::vector<V> const& values) {
  Buffer<V> buffer(stream, MemorySpace::device, values.size());
  copy_async(buffer.span(), std::span<V const>(values), stream);
  return buffer;
}
template <class V>
std::vector<V> on_host(Stream& stream, Buffer<V> const& buffer) {
  std::vector<V> values(buffer.size());
  copy_async(std::span(values), buffer.span(), stream);
  stream.synchronize();
  return values;
}

/// What became of `values`; what is not written stays 77.
template <class T, class In, class Out = In>
std::vector<Out> transformed(Stream& stream, fft::Shape const& shape, Direction direction,
                             std::vector<In> const& values, std::string_view variant,
                             std::size_t out_size = 0) {
  auto in = on_device(stream, values);
  auto out = on_device(stream, std::vector<Out>(out_size > 0 ? out_size : values.size(), Out{77}));
  if constexpr (std::is_same_v<In, Out>)
    fft::transform<T>(stream, shape, direction, in.span(), out.span(), variant);
  else
    fft::transform<T>(stream, shape, in.span(), out.span(), variant);
  return on_host(stream, out);
}
template <class V>
std::vector<V> transformed_in_place(Stream& stream, fft::Shape const& shape, Direction direction,
                                    std::vector<V> const& values, std::string_view variant) {
  auto data = on_device(stream, values);
  if constexpr (std::is_floating_point_v<V>)
    fft::transform<V>(stream, shape, direction, data.span(), data.span(), variant);
  else
    fft::transform<typename V::value_type>(stream, shape, direction, data.span(), data.span(),
                                           variant);
  return on_host(stream, data);
}

/// The oracle.
template <class T, class In, class Out = In>
std::vector<Out> by_definition(fft::Shape const& shape, Direction direction,
                               std::vector<In> const& values, std::size_t out_size = 0) {
  Stream host(Device::open(Backend::cpu));
  return transformed<T, In, Out>(host, shape, direction, values, "reference", out_size);
}

/// Rows of a backend that are not the oracle.
template <class T>
std::vector<std::string_view> fft_variants(Backend backend) {
  std::vector<std::string_view> names;
  for (auto const& row : fft::variants<T>())
    if (row.backend == backend && row.run != nullptr && row.name != "reference")
      names.push_back(row.name);
  return names;
}

/// Every kind at every one of these lengths, there and back, alone, as neighbours and one after the
/// other, by a variant that takes all of them.
template <class T>
void check_lines(Stream& stream, std::vector<std::int64_t> const& lengths,
                 std::string_view variant) {
  for (std::int64_t const n : lengths) {
    std::vector<Kind> kinds(real_kinds.begin(), real_kinds.end());
    kinds.push_back(Kind::complex);
    for (Kind const kind : kinds) {
      if (kind == Kind::neumann_neumann && n == 1) continue;
      auto const check = [&]<class V>(V, fft::Shape const& shape, std::string const& what) {
        auto const values = noise<V>(shape.size(), static_cast<std::uint64_t>(n));
        for (auto const direction : {Direction::forward, Direction::inverse}) {
          auto const found = transformed<T>(stream, shape, direction, values, variant);
          EXPECT_LE(distance(found, by_definition<T>(shape, direction, values)),
                    allowed_error<T>(static_cast<double>(n)))
              << variant << ' ' << what << ", " << n << " points of kind " << static_cast<int>(kind)
              << ", direction " << static_cast<int>(direction);
          EXPECT_EQ(transformed_in_place(stream, shape, direction, values, variant), found) << n;
        }
      };
      auto const check_all = [&](auto value) {
        check(value, fft::dense({n, 1, 1}, {kind, Kind::none, Kind::none}), "one line");
        if (n > 300) return;
        check(value, fft::dense({n, 3, 1}, {kind, Kind::none, Kind::none}, 2), "six lines");
        check(value, fft::dense({19, n, 1}, {Kind::none, kind, Kind::none}), "neighbours");
      };
      if (kind == Kind::complex)
        check_all(std::complex<T>{});
      else
        check_all(T{});
    }
  }
}

/// Reals to complex numbers and back, along each axis.
template <class T>
void check_halves(Stream& stream, std::vector<std::int64_t> const& lengths,
                  std::string_view variant) {
  using C = std::complex<T>;
  for (std::int64_t const n : lengths)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::array<std::int64_t, 3> points = {3, 4, 5}, half = points;
      std::array<Kind, 3> kinds = {Kind::complex, Kind::complex, Kind::complex};
      if (n % 3 == 0) kinds = {Kind::none, Kind::none, Kind::complex};
      points[axis] = n;
      half[axis] = n / 2 + 1;
      kinds[axis] = Kind::periodic;
      auto shape = fft::dense(points, kinds, 2);
      shape.out = fft::dense(half);
      auto const values = noise<T>(shape.size(), 3);
      auto const size = static_cast<std::size_t>(2 * half[0] * half[1] * half[2]);
      auto const found =
          transformed<T, T, C>(stream, shape, Direction::forward, values, variant, size);
      EXPECT_LE(distance(found, by_definition<T, T, C>(shape, Direction::forward, values, size)),
                allowed_error<T>(static_cast<double>(20 * n)))
          << n << " points of axis " << axis;
      std::swap(shape.in, shape.out);
      auto const given = noise<C>(static_cast<std::int64_t>(size), 5);
      EXPECT_LE(distance(transformed<T, C, T>(stream, shape, Direction::inverse, given, variant,
                                              values.size()),
                         by_definition<T, C, T>(shape, Direction::inverse, given, values.size())),
                allowed_error<T>(static_cast<double>(20 * n)))
          << n << " points of axis " << axis << ", back";
    }
}

/// Kinds mixed over three axes, with gaps between elements.
template <class T>
void check_mixtures(Stream& stream, std::string_view variant) {
  std::array<std::int64_t, 3> const points = {6, 5, 7};
  std::vector<Kind> kinds(real_kinds.begin(), real_kinds.end());
  kinds.push_back(Kind::none);
  for (Kind const x : kinds)
    for (Kind const y : kinds)
      for (Kind const z : kinds) {
        if (x == Kind::none && y == Kind::none && z == Kind::none) continue;
        auto shape = fft::dense(points, {x, y, z}, 2);
        shape.in = {{2, 13, 66}, 463};
        auto const values = noise<T>(2 * 463, 7);
        auto const size = static_cast<std::size_t>(shape.size());
        for (auto const direction : {Direction::forward, Direction::inverse})
          EXPECT_LE(distance(transformed<T>(stream, shape, direction, values, variant, size),
                             by_definition<T>(shape, direction, values, size)),
                    allowed_error<T>(210))
              << static_cast<int>(x) << static_cast<int>(y) << static_cast<int>(z);
      }
}

/// A line's bits, alone and among others.
template <class T>
void check_batch(Stream& stream, std::int64_t n, std::string_view variant) {
  for (Kind const kind : real_kinds) {
    std::int64_t const lines = 21;
    auto const values = noise<T>(lines * n, 11);
    auto const all =
        transformed<T>(stream, fft::dense({n, lines, 1}, {kind, Kind::none, Kind::none}),
                       Direction::forward, values, variant);
    for (std::int64_t const line : {0, 1, 7, 20}) {
      auto const part = [&](std::vector<T> const& from) {
        return std::vector<T>(from.begin() + line * n, from.begin() + (line + 1) * n);
      };
      auto const alone =
          transformed<T>(stream, fft::dense({n, 1, 1}, {kind, Kind::none, Kind::none}),
                         Direction::forward, part(values), variant);
      EXPECT_EQ(alone, part(all)) << n << " points, line " << line;
    }
  }
}

/// x_(j−1) − 2x_j + x_(j+1) along an axis, with what the kind has beyond its ends.
template <class T>
double second_difference(std::vector<T> const& x, std::size_t place, std::int64_t index,
                         std::int64_t n, std::int64_t stride, Kind kind) {
  auto const at = [&](std::int64_t j) -> double {
    bool const first_is_held = kind == Kind::dirichlet_dirichlet || kind == Kind::dirichlet_neumann;
    bool const last_is_held = kind == Kind::dirichlet_dirichlet || kind == Kind::neumann_dirichlet;
    if (kind == Kind::periodic) j = (j + n) % n;
    if (j < 0 && first_is_held) return 0;
    if (j >= n && last_is_held) return 0;
    if (j < 0) j = -j;
    if (j >= n) j = 2 * (n - 1) - j;
    return x[static_cast<std::size_t>(static_cast<std::int64_t>(place) + (j - index) * stride)];
  };
  return at(index - 1) - 2 * at(index) + at(index + 1);
}

/// κu − Δu = f on lines, planes and volumes of all mixtures of sides: what is solved has f for its
/// left-hand side. The residual is at most ε·‖A‖·‖u‖ times what transforms lose.
template <class T>
void check_solves(Stream& stream, std::array<std::int64_t, 3> const& points,
                  std::string_view variant) {
  for (Kind const x : real_kinds)
    for (Kind const y : real_kinds)
      for (Kind const z : real_kinds) {
        auto const shape = fft::dense(points, {x, y, z});
        auto f = noise<T>(shape.size(), 13);
        std::array<Buffer<T>, 3> lambda;
        fft::Eigenvalues<T> eigenvalues{.constant = T{0.5}};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          std::vector<T> values;
          for (double const angle : fft::angles(shape.kinds[axis], points[axis]))
            values.push_back(static_cast<T>(4 * std::pow(std::sin(angle / 2), 2)));
          lambda[axis] = on_device(stream, values);
          eigenvalues.axes[axis] = lambda[axis].span();
        }
        auto in = on_device(stream, f);
        fft::solve<T>(stream, shape, eigenvalues, in.span(), in.span(), variant);
        auto const u = on_host(stream, in);
        double largest = 0, residual = 0;
        for (std::size_t place = 0; place < u.size(); ++place) {
          largest = std::max(largest, std::abs(double{u[place]}));
          double left = 0.5 * u[place];
          std::int64_t rest = static_cast<std::int64_t>(place), stride = 1;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            left -= second_difference(u, place, rest % points[axis], points[axis], stride,
                                      shape.kinds[axis]);
            rest /= points[axis];
            stride *= points[axis];
          }
          residual = std::max(residual, std::abs(left - f[place]));
        }
        EXPECT_LE(residual,
                  12.5 * largest * 2 * allowed_error<T>(static_cast<double>(shape.size())))
            << variant << ' ' << static_cast<int>(x) << static_cast<int>(y) << static_cast<int>(z);
      }
}

/// Lines between two kinds of sides whose quotients are far below the coefficients, where a rounding of
/// one is as large as they are.
template <class T>
void check_small_quotients(Stream& stream, std::vector<std::int64_t> const& lengths,
                           std::string_view variant) {
  Stream host(Device::open(Backend::cpu));
  for (std::int64_t const n : lengths)
    for (Kind const kind : {Kind::dirichlet_neumann, Kind::neumann_dirichlet}) {
      auto const shape = fft::dense({3, n, 1}, {Kind::none, kind, Kind::none});
      auto const f = noise<T>(shape.size(), 17);
      fft::Eigenvalues<T> const eigenvalues{.constant = T{1e6}};
      auto const solved = [&](Stream& on, std::string_view row) {
        auto data = on_device(on, f);
        fft::solve<T>(on, shape, eigenvalues, data.span(), data.span(), row);
        return on_host(on, data);
      };
      EXPECT_LE(distance(solved(stream, variant), solved(host, "reference")),
                2 * allowed_error<T>(static_cast<double>(n)))
          << variant << ", " << n << " points of kind " << static_cast<int>(kind);
    }
}

}  // namespace gridstride::test
