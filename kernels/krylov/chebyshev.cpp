// Chebyshev's iteration from z = 0, so many steps of it: corrections d follow from each other by the
// recurrence of the polynomials, with factors that depend on nothing but the interval.

#include "kernels/krylov/chebyshev.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/krylov/passes_chebyshev.hpp"
#include "kernels/krylov/run.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::krylov {

namespace {

template <class T>
struct Chebyshev {
  Chebyshev(Stream& stream, Operator<T> const& given, std::size_t n)
      : a(given), scratch(stream, a.size), inverse(stream, MemorySpace::device, n) {
    make_room(stream, 1);
  }

  void make_room(Stream& stream, std::size_t vectors) {
    if (vectors <= room) return;
    room = vectors;
    for (auto* const work : {&d, &w}) {
      *work = {};
      *work = {stream, MemorySpace::device, vectors * inverse.size()};
    }
  }

  void apply(Stream& stream, std::span<T const> r, std::span<T> z) {
    auto const vectors = r.size() / inverse.size();
    make_room(stream, vectors);
    auto const count = static_cast<std::int64_t>(vectors);
    double const middle = (upper + lower) / 2, half = (upper - lower) / 2, sigma = middle / half;
    double rho = 1 / sigma;
    run(scratch,
        ChebyshevBegin<T>{static_cast<T>(1 / middle), inverse.data(), r.data(), d.data(), z.data()},
        count);
    for (int product = 0; product < products; ++product) {
      a.apply(stream, z, w.span().first(z.size()));
      double const next = 1 / (2 * sigma - rho);
      run(scratch,
          ChebyshevStep<T>{static_cast<T>(next * rho), static_cast<T>(2 * next / half),
                           inverse.data(), r.data(), w.data(), d.data(), z.data()},
          count);
      rho = next;
    }
  }

  Operator<T> a;
  Scratch scratch;
  Buffer<T> inverse, d, w;
  std::size_t room = 0;  // vectors that d and w are for
  double upper = 0, lower = 0;
  int products = 0;
};

}  // namespace

template <class T>
Preconditioner<T> chebyshev(Stream& stream, Operator<T> const& a,
                            std::type_identity_t<std::span<T const>> diagonal_on_host, double bound,
                            int products, double ratio) {
  require_size("krylov", named("diagonal", diagonal_on_host), static_cast<std::size_t>(a.size));
  if (!(bound > 0 && std::isfinite(bound) && ratio > 1 && products >= 1))
    throw std::invalid_argument(fmt::format("krylov: {} products for eigenvalues in [{}/{}, {}]",
                                            products, bound, ratio, bound));
  std::vector<T> inverse(diagonal_on_host.begin(), diagonal_on_host.end());
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    if (!(inverse[i] > T{0}))
      throw std::invalid_argument(
          fmt::format("krylov: element {} of the diagonal is {} (Chebyshev's preconditioner takes "
                      "positive ones)",
                      i, inverse[i]));
    inverse[i] = T{1} / inverse[i];
  }
  auto const kept = std::make_shared<Chebyshev<T>>(stream, a, inverse.size());
  kept->upper = bound;
  kept->lower = bound / ratio;
  kept->products = products;
  copy_async(kept->inverse.span(), std::span(inverse), stream);
  kept->scratch.write(State{});
  stream.synchronize();
  return [kept](Stream& s, std::span<T const> r, std::span<T> z) { kept->apply(s, r, z); };
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                               \
  template Preconditioner<T> chebyshev(Stream&, Operator<T> const&, std::span<T const>, double, \
                                       int, double);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::krylov
