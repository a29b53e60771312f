#include "kernels/poisson/conjugate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/poisson/conjugate_steps.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::poisson {

namespace {

double number(std::uint64_t bits) { return std::bit_cast<double>(bits); }

/// Of the power of two that a number is divided by to be near 1.
int exponent_of(double value) { return std::clamp(std::ilogb(value), -1000, 1000); }

template <class Visit>
void visit(Stream& stream, Visit const& what) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_visit(stream, what);
#endif
  static_cast<void>(stream);
  host_visit(what);
}

template <class Step>
void step(Stream& stream, Step const& what, std::span<double> sums) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_step(stream, what, sums.data());
#endif
  static_cast<void>(stream);
  host_step(what, sums.data());
}

template <class T>
Largest survey(Stream& stream, Survey<T> const& what) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_survey(stream, what);
#endif
  static_cast<void>(stream);
  return host_survey(what);
}

/// A point after another, on either backend.
template <class S, class T>
krylov::Operator<S> by_points(Operator<T> const& a, double scale) {
  krylov::Operator<S> result;
  result.apply = [a, scale](Stream& stream, std::span<S const> x, std::span<S> y) {
    visit(stream, Multiply<T, S>{with_known(a), scale, x.data(), y.data()});
  };
  result.fused.partials = step_sums(a);
  result.fused.direct = [a, scale](Stream& stream, int const* stop, double const* beta,
                                   std::span<S const> r, std::span<S const> p, std::span<S> q,
                                   std::span<double> sums) {
    step(stream, Direct<T, S>{a, scale, stop, beta, r.data(), p.data(), q.data()}, sums);
  };
  result.fused.descend = [a, scale](Stream& stream, int const* stop, double const* alpha,
                                    std::span<S const> q, std::span<S> x, std::span<S> r,
                                    std::span<double> sums) {
    step(stream, Descend<T, S>{a, scale, stop, alpha, q.data(), x.data(), r.data()}, sums);
  };
  return result;
}

#ifdef GRIDSTRIDE_WITH_CUDA
template <class S>
krylov::Operator<S> by_columns(ColumnOperator<S> const& a) {
  krylov::Operator<S> result;
  result.apply = [a](Stream& stream, std::span<S const> x, std::span<S> y) {
    cuda_multiply_columns(stream, a, x.data(), y.data());
  };
  result.fused.partials = column_sums(a);
  result.fused.direct = [a](Stream& stream, int const* stop, double const* beta,
                            std::span<S const> r, std::span<S const> p, std::span<S> q,
                            std::span<double> sums) {
    cuda_direct_columns(stream, a, stop, beta, r.data(), p.data(), q.data(), sums.data());
  };
  result.fused.descend = [a](Stream& stream, int const* stop, double const* alpha,
                             std::span<S const> q, std::span<S> x, std::span<S> r,
                             std::span<double> sums) {
    cuda_descend_columns(stream, a, stop, alpha, q.data(), x.data(), r.data(), sums.data());
  };
  return result;
}
#endif

}  // namespace

template <class S, class T>
krylov::Operator<S> symmetric_operator(Stream& stream, Equation<T> const& equation, int exponent) {
  auto const a = operator_of(equation);
  double const scale = std::ldexp(1.0, exponent);
  krylov::Operator<S> result;
#ifdef GRIDSTRIDE_WITH_CUDA
  bool const varies = a.diffusivities != nullptr || a.reactions != nullptr;
  constexpr std::int64_t most = std::numeric_limits<int>::max() / 2;
  bool const fits = a.points[0] * a.points[1] <= most && a.points[2] <= most;
  if (stream.backend() == Backend::cuda && a.dims == 3 && !varies && fits)
    result = by_columns(ColumnOperator<S>::of(a, scale));
  else
#endif
    result = by_points<S>(a, scale);
  static_cast<void>(stream);
  result.size = equation.grid.size();
  return result;
}

template <class T>
struct ConjugateBody {
  ConjugateBody(Stream& stream, Equation<T> const& of, bool is_singular, ConjugateOptions how)
      : equation(of),
        a(operator_of(of)),
        singular(is_singular),
        options(std::move(how)),
        exponent(-exponent_of(number(survey(stream, Survey<T>{a, 0, nullptr}).value))),
        matrix(symmetric_operator<double>(stream, of, exponent)),
        b(stream, MemorySpace::device, size()),
        x(stream, MemorySpace::device, size()) {
    if (options.inner == Precision::float32)
      matrix.rounded = std::make_shared<krylov::Operator<float> const>(
          symmetric_operator<float>(stream, of, exponent));
  }
  std::size_t size() const { return static_cast<std::size_t>(equation.grid.size()); }

  Equation<T> equation;
  Operator<T> a;
  bool singular;
  ConjugateOptions options;
  int exponent;  ///< of what rows are multiplied by
  krylov::Operator<double> matrix;
  Buffer<double> b, x;
};

namespace {

/// From x on, in float64, where float32 inside has not come to the tolerance.
template <class T>
void go_on(Stream& stream, ConjugateBody<T>& body, krylov::Options options,
           krylov::Result& result) {
  if (!body.matrix.rounded || result.converged() || result.iterations >= options.iterations) return;
  auto plain = body.matrix;
  plain.rounded = nullptr;
  options.iterations -= result.iterations;
  if (options.progress)
    options.progress = [told = options.progress,
                        before = result.iterations](krylov::Progress const& progress) {
      told({before + progress.iteration, progress.residual_norm});
    };
  auto rest = krylov::solve<double>(stream, krylov::Method::cg, plain, {},
                                    std::as_const(body.b).span(), body.x.span(), options);
  rest.iterations += result.iterations;
  if (!result.history.empty()) result.history.pop_back();
  rest.history.insert(rest.history.begin(), result.history.begin(), result.history.end());
  result = std::move(rest);
}

}  // namespace

template <class T>
ConjugateSolver<T>::ConjugateSolver(Stream& stream, Equation<T> const& equation, bool singular,
                                    ConjugateOptions options)
    : body_(std::make_unique<ConjugateBody<T>>(stream, equation, singular, std::move(options))) {}
template <class T>
ConjugateSolver<T>::~ConjugateSolver() = default;
template <class T>
ConjugateSolver<T>::ConjugateSolver(ConjugateSolver&&) noexcept = default;
template <class T>
ConjugateSolver<T>& ConjugateSolver<T>::operator=(ConjugateSolver&&) noexcept = default;

template <class T>
krylov::Result ConjugateSolver<T>::solve(Stream& stream,
                                         std::type_identity_t<std::span<T const>> right,
                                         std::span<T> u) {
  auto& body = *body_;
  require_size("poisson", named("right", right), body.size());
  require_size("poisson", named("u", u), body.size());
  double mean = 0;
  if (body.singular) {
    auto const found = integrate(stream, body.equation, right);
    mean = found.sum / found.volume;
  }
  auto const found = survey(stream, Survey<T>{body.a, mean, right.data()});
  double const largest = number(found.residual), given = number(found.relative);
  // What is left of a constant is its roundings.
  bool const is_nothing = largest <= 4 * std::numeric_limits<double>::epsilon() * given;
  int const unit = is_nothing || !std::isfinite(largest) ? 0 : exponent_of(largest);
  visit(stream, TakeRight<T>{with_known(body.a), mean, is_nothing ? 0.0 : std::ldexp(1.0, -unit),
                             right.data(), body.b.data()});
  zero_async(body.x.span(), stream);
  krylov::Options const options{.tolerance = body.options.tolerance,
                                .iterations = body.options.iterations,
                                .progress = body.options.progress};
  auto result = krylov::solve<double>(stream, krylov::Method::cg, body.matrix, {},
                                      std::as_const(body.b).span(), body.x.span(), options);
  go_on(stream, body, options, result);
  visit(stream,
        GiveSolution<T>{body.a, std::ldexp(1.0, unit + body.exponent), body.x.data(), u.data()});
  stream.synchronize();
  return result;
}

std::size_t conjugate_bytes(Grid const& grid, Precision inner) {
  bool const is_rounded = inner == Precision::float32;
  // b, x, r and what is for A·x; then directions, of float32 with r and what x is to be changed by.
  std::size_t const numbers =
      is_rounded ? 4 * sizeof(double) + 4 * sizeof(float) : 5 * sizeof(double);
  return numbers * static_cast<std::size_t>(grid.size());
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                         \
  template class ConjugateSolver<T>;                                                      \
  template krylov::Operator<double> symmetric_operator(Stream&, Equation<T> const&, int); \
  template krylov::Operator<float> symmetric_operator(Stream&, Equation<T> const&, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::poisson
