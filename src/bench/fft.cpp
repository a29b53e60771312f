#include "kernels/fft/fft.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_fft {

using fft::Direction;
using fft::Kind;

/// The arrays of a workload.
struct Case {
  std::string_view operation;
  int dims;
  Kind kind;                ///< of all axes
  std::int64_t size;        ///< on a GPU
  std::int64_t points = 0;  ///< of each of many lines; 0: the array is a line, a square, a cube
  bool of_float64_by_default = true;
};

std::int64_t root(std::int64_t size, int dims) {
  auto const edge = std::llround(std::pow(static_cast<double>(size), 1.0 / dims));
  std::int64_t power = 4;
  while (2 * power <= edge) power *= 2;
  return power;
}

fft::Shape shape_of(Case const& what, std::int64_t size) {
  if (what.points > 0)
    return fft::dense({what.points, std::max<std::int64_t>(size / what.points, 1), 1},
                      {what.kind, Kind::none, Kind::none});
  // Between two held sides there is a point less.
  std::int64_t const edge =
      root(size, what.dims) - (what.kind == Kind::dirichlet_dirichlet ? 1 : 0);
  std::array<std::int64_t, 3> points = {1, 1, 1};
  std::array<Kind, 3> kinds = {Kind::none, Kind::none, Kind::none};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(what.dims); ++axis) {
    points[axis] = edge;
    kinds[axis] = what.kind;
  }
  return fft::dense(points, kinds);
}

/// ‖a − scale·b‖ / ‖scale·b‖
template <class A, class B>
double distance(A const& a, B const& b, double scale) {
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const expected = scale * static_cast<double>(b[i]);
    double const off = static_cast<double>(a[i]) - expected;
    gap += off * off;
    size += expected * expected;
  }
  double const error = std::sqrt(gap / size);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

/// Errors of √log n; twice for there and back.
template <class T>
double allowed(fft::Shape const& shape) {
  return 8 * double{std::numeric_limits<T>::epsilon()} *
         std::sqrt(std::log2(static_cast<double>(shape.size())) + 3);
}

/// Complex transforms, judged by the way back.
template <class T>
Problem transforms(Stream& stream, Case const& what, std::int64_t size, int sets) {
  auto const shape = shape_of(what, size);
  Arrays<std::complex<T>> const in(stream, shape.size(), sets), out(stream, shape.size(), sets);
  auto const parts = [](std::span<std::complex<T>> numbers) {
    return std::span(reinterpret_cast<T*>(numbers.data()), 2 * numbers.size());
  };
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, parts(in(set)), static_cast<std::uint64_t>(set));
                spoil(stream, out(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                fft::transform<T>(stream, shape, Direction::forward, in.constant(set), out(set),
                                  variant);
              },
          .accuracy =
              [=, &stream](std::string_view) {
                fft::transform<T>(stream, shape, Direction::inverse, out.constant(0), out(0));
                Values back, before;
                sample<T>(stream, parts(out(0)), back);
                sample<T>(stream, parts(in(0)), before);
                return Accuracy{distance(back, before, fft::round_trip(shape)), allowed<T>(shape)};
              }};
}

/// 1.5·u − Δu = f with h = 1, judged by what u makes of f by transforms and eigenvalues apart.
template <class T>
Problem solves(Stream& stream, Case const& what, std::int64_t size, int sets) {
  auto const shape = shape_of(what, size);
  Arrays<T> const in(stream, shape.size(), sets), out(stream, shape.size(), sets);
  std::vector<T> lambda;
  for (double const angle : fft::angles(what.kind, shape.points[0]))
    lambda.push_back(static_cast<T>(4 * std::pow(std::sin(angle / 2), 2)));
  Arrays<T> const values(stream, shape.points[0], 1);
  copy_async(values(0), std::span<T const>(lambda), stream);
  stream.synchronize();
  auto const eigenvalues = [=] {
    fft::Eigenvalues<T> all{.constant = static_cast<T>(1.5)};
    for (int axis = 0; axis < what.dims; ++axis)
      all.axes[static_cast<std::size_t>(axis)] = values.constant(0);
    return all;
  };
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, in(set), static_cast<std::uint64_t>(set));
                spoil(stream, out(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                fft::solve<T>(stream, shape, eigenvalues(), in.constant(set), out(set), variant);
              },
          .accuracy =
              [=, &stream](std::string_view) {
                // û·(κ + Σλ) = f̂
                fft::transform<T>(stream, shape, Direction::forward, out.constant(0), out(0));
                auto found = on_host<T>(stream, out.constant(0));
                for (std::size_t place = 0; place < found.size(); ++place) {
                  double value = 1.5;
                  std::size_t rest = place;
                  for (int axis = 0; axis < what.dims; ++axis) {
                    value += lambda[rest % lambda.size()];
                    rest /= lambda.size();
                  }
                  found[place] = static_cast<T>(value * found[place]);
                }
                fft::transform<T>(stream, shape, Direction::forward, in.constant(0), out(0));
                return Accuracy{distance(found, on_host<T>(stream, out.constant(0)), 1),
                                2 * allowed<T>(shape)};
              }};
}

template <class T>
Workload workload(Backend backend, Case const& what) {
  bool const is_complex = what.kind == Kind::complex;
  double const bytes = (is_complex ? 4 : 2) * sizeof(T);
  auto const passes = static_cast<double>(is_complex ? what.dims : 2 * what.dims - 1);
  Workload result{
      .family = "fft",
      .operation = what.operation,
      .type = type_name<T>(),
      .by_default = (sizeof(T) == 8) == what.of_float64_by_default,
      .size = backend == Backend::cuda ? what.size : std::int64_t{1} << 14,
      .work =
          [=](std::int64_t wanted) {
            auto const size = static_cast<double>(shape_of(what, wanted).size());
            double const moved = passes * bytes * size;
            // 5·n·log₂ n is what is usually counted of a complex transform.
            double const flops =
                5 * size * std::log2(what.points > 0 ? static_cast<double>(what.points) : size);
            return Work{.bytes = moved,
                        .flops = flops,
                        .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                        .set_bytes = bytes * size,
                        .elements = size};
          },
      .rows = rows_of(fft::variants<T>(), backend, fft::default_variant(backend)),
      .make =
          [=](Stream& stream, std::int64_t size, int sets) {
            return is_complex ? transforms<T>(stream, what, size, sets)
                              : solves<T>(stream, what, size, sets);
          },
      .error = "the distance of there and back, relative to the norm"};
  if (what.kind == Kind::dirichlet_dirichlet)
    std::erase_if(result.rows, [](Row const& row) { return row.name == "cufft"; });
  return result;
}

}  // namespace of_fft

std::vector<Workload> fft_workloads(Backend backend) {
  using namespace of_fft;
  constexpr std::int64_t one = 1;
  std::vector<Workload> all;
  for (Case const& what :
       {Case{"complex, square", 2, Kind::complex, one << 24},
        Case{"complex, one line", 1, Kind::complex, one << 26},
        Case{.operation = "complex, cube",
        .dims = 3,
        .kind = Kind::complex,
        .size = one << 27,
        .of_float64_by_default = false},
        Case{"complex, lines of 1000", 1, Kind::complex, one << 24, 1000},
        Case{"complex, lines of 1536", 1, Kind::complex, one << 24, 1536},
        Case{"complex, lines of 4099", 1, Kind::complex, one << 24, 4099},
        Case{"complex, lines of 8191", 1, Kind::complex, one << 24, 8191},
        Case{"solve, periodic cube", 3, Kind::periodic, one << 27},
        Case{"solve, Dirichlet cube", 3, Kind::dirichlet_dirichlet, one << 27}}) {
    // The reference has n² to do for a line of n points.
    if (backend == Backend::cpu && what.points > 2000) continue;
    all.push_back(workload<double>(backend, what));
    all.push_back(workload<float>(backend, what));
  }
  return all;
}

}  // namespace gridstride::bench
