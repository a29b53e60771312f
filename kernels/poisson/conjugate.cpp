#include "kernels/poisson/conjugate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/upload.hpp"
#include "kernels/poisson/aggregation.hpp"
#include "kernels/poisson/conjugate_steps.hpp"
#include "kernels/poisson/shared.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::poisson {

namespace {

double number(std::uint64_t bits) { return std::bit_cast<double>(bits); }

/// Of the power of two that a number is divided by to be near 1.
int exponent_of(double value) { return std::clamp(std::ilogb(value), -1000, 1000); }

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

/// What an operator's functions do beside their own where several ranks share the grid, and where
/// they find values.
template <class S, class T>
struct Part {
  Equation<T> equation;
  Operator<T> a;
  double scale;
  S const* roots;  ///< at places

  Part(Equation<T> const& of, double factor, S const* of_diagonal)
      : equation(of),
        a(operator_of(of)),
        scale(factor),
        roots(of_diagonal == nullptr ? nullptr : at_places(of, of_diagonal)) {}

  Symmetric<T, S> symmetric() const { return {a, scale, roots}; }

  template <class U>
  U* at(std::span<U> values) const {
    return at_places(equation, values.data());
  }
  /// What is read of others.
  void bring(Stream& stream, std::span<S const> values) const {
    if (equation.ranks == nullptr) return;
    equation.ranks->exchange(stream, std::span(const_cast<S*>(values.data()), values.size()));
  }
  /// r, which others read next.
  void send(Stream& stream, std::span<S> r) const {
    if (equation.ranks != nullptr) equation.ranks->start(stream, r);
  }
  /// q where others have what r and p are.
  void follow(Stream& stream, int const* stop, double const* beta, std::span<S const> r,
              std::span<S const> p, std::span<S> q) const {
    if (equation.ranks == nullptr) return;
    visit(stream, Follow<T, S>{beside(a), stop, beta, at(r), at(p), at(q)});
  }
  /// Whose sums are whose, where the first planes have so many.
  template <class Count>
  RankCuts cuts(Count const& of_planes) const {
    return equation.ranks == nullptr ? RankCuts() : equation.ranks->cuts_of(of_planes);
  }
};

/// A point after another, on either backend.
template <class S, class T>
krylov::Operator<S> by_points(Part<S, T> const& part) {
  krylov::Operator<S> result;
  auto const parts = Parts::of(part.a);
  result.apply = [part](Stream& stream, std::span<S const> x, std::span<S> y) {
    part.bring(stream, x);
    visit(stream,
          Multiply<T, S>{{with_known(part.a), part.scale, part.roots}, part.at(x), part.at(y)});
  };
  auto& steps = result.fused;
  steps.partials = parts.count;
  steps.direct_cuts = part.cuts([&](std::int64_t planes) { return parts.of_first(planes); });
  steps.descend_cuts = steps.direct_cuts;
  steps.direct = [part](Stream& stream, int const* stop, double const* beta, std::span<S const> r,
                        std::span<S const> p, std::span<S> q, std::span<double> sums) {
    part.bring(stream, r);
    part.follow(stream, stop, beta, r, p, q);
    step(stream, Direct<T, S>{part.symmetric(), stop, beta, part.at(r), part.at(p), part.at(q)},
         sums);
  };
  steps.descend = [part](Stream& stream, int const* stop, double const* alpha, std::span<S const> q,
                         std::span<S> x, std::span<S> r, std::span<double> sums) {
    step(stream, Descend<T, S>{part.symmetric(), stop, alpha, part.at(q), part.at(x), part.at(r)},
         sums);
    part.send(stream, r);
  };
  return result;
}

#ifdef GRIDSTRIDE_WITH_CUDA
/// Whether columns take an equation.
bool goes_by_columns(Backend backend, Grid const& grid, bool has_fields) {
  constexpr std::int64_t most = std::numeric_limits<int>::max() / 2;
  bool const fits = grid.points[0] * grid.points[1] <= most && grid.points[2] <= most;
  return backend == Backend::cuda && grid.dims == 3 && !has_fields && fits;
}

template <class S, class T>
krylov::Operator<S> by_columns(Part<S, T> const& part) {
  auto const a = ColumnOperator<S>::of(part.a, part.scale);
  krylov::Operator<S> result;
  result.apply = [a, part](Stream& stream, std::span<S const> x, std::span<S> y) {
    part.bring(stream, x);
    cuda_multiply_columns(stream, a, part.at(x), part.at(y));
  };
  auto& steps = result.fused;
  steps.partials = column_sums(a);
  steps.direct_cuts = part.cuts([&](std::int64_t planes) { return direct_sums(a, planes); });
  steps.descend_cuts = part.cuts([&](std::int64_t planes) { return descend_sums(a, planes); });
  steps.direct = [a, part](Stream& stream, int const* stop, double const* beta,
                           std::span<S const> r, std::span<S const> p, std::span<S> q,
                           std::span<double> sums) {
    part.bring(stream, r);
    part.follow(stream, stop, beta, r, p, q);
    cuda_direct_columns(stream, a, stop, beta, part.at(r), part.at(p), part.at(q), sums.data());
  };
  steps.descend = [a, part](Stream& stream, int const* stop, double const* alpha,
                            std::span<S const> q, std::span<S> x, std::span<S> r,
                            std::span<double> sums) {
    cuda_descend_columns(stream, a, stop, alpha, part.at(q), part.at(x), part.at(r), sums.data());
    part.send(stream, r);
  };
  return result;
}
#endif

}  // namespace

template <class S, class T>
Buffer<S> diagonal_roots(Stream& stream, Equation<T> const& equation, int exponent) {
  bool const has_fields = equation.diffusivities != nullptr || equation.reactions != nullptr;
  if (!has_fields) return {};
  Buffer<S> roots(stream, MemorySpace::device, static_cast<std::size_t>(points_held(equation)));
  visit(stream, FindRoots<T, S>{with_known(operator_of(equation)), std::ldexp(1.0, exponent),
                                at_places(equation, roots.data())});
  if (equation.ranks != nullptr) equation.ranks->exchange(stream, roots.span());
  return roots;
}

template <class S, class T>
krylov::Operator<S> symmetric_operator(Stream& stream, Equation<T> const& equation, int exponent,
                                       S const* roots) {
  Part<S, T> const part(equation, std::ldexp(1.0, exponent), roots);
  Grid const& grid = equation.grid;
  krylov::Operator<S> result;
#ifdef GRIDSTRIDE_WITH_CUDA
  bool const has_fields = part.a.diffusivities != nullptr || part.a.reactions != nullptr;
  if (goes_by_columns(stream.backend(), grid, has_fields))
    result = by_columns<S>(part);
  else
#endif
    result = by_points<S>(part);
  static_cast<void>(stream);
  result.size = points_held(equation);
  result.plane = grid.dims == 1 ? 0 : grid.face_size(grid.dims - 1);
  result.ranks = equation.ranks;
  return result;
}

std::int64_t planes_together(Backend backend, Grid const& grid, Sides const& sides, bool has_fields,
                             Precision inner) {
  std::int64_t const planes = grid.points[grid.dims - 1];
  std::int64_t together = std::max(Parts::planes_together(planes), krylov::planes_together(planes));
#ifdef GRIDSTRIDE_WITH_CUDA
  if (!goes_by_columns(backend, grid, has_fields)) return together;
  auto const a = operator_of(Equation<double>{.grid = grid, .sides = sides});
  together = std::max(together, column_planes(ColumnOperator<double>::of(a, 1)));
  if (inner == Precision::float32)
    together = std::max(together, column_planes(ColumnOperator<float>::of(a, 1)));
#endif
  static_cast<void>(backend), static_cast<void>(sides), static_cast<void>(inner);
  static_cast<void>(has_fields);
  return together;
}

std::int64_t most_shared_sums(Grid const& grid) {
  // Of points; of columns, which are 32 by 16 points at least, and 64 planes unless those are few.
  std::int64_t const columns = (grid.points[0] / 32 + 1) * (grid.points[1] / 16 + 1);
  std::int64_t const of_steps = 2 * Parts::most + columns * (grid.points[2] / 64 + 2);
  return std::max(krylov::sums_kept(grid.size(), grid.face_size(grid.dims - 1)), of_steps);
}

template <class T>
struct ConjugateBody {
  ConjugateBody(Stream& stream, Equation<T> const& of, bool is_singular, ConjugateOptions how)
      : equation(of),
        a(operator_of(of)),
        singular(is_singular),
        options(std::move(how)),
        exponent(-exponent_of(number(look(stream, 0, nullptr).value))),
        roots(diagonal_roots<double>(stream, of, exponent)),
        matrix(symmetric_operator<double>(stream, of, exponent, pointer(roots))),
        b(stream, MemorySpace::device, size()),
        x(stream, MemorySpace::device, size()) {
    if (options.aggregates)
      preconditioner = aggregation(stream, of, singular, exponent, pointer(roots));
    if (options.aggregates || options.inner == Precision::float64) return;
    rounded_roots = diagonal_roots<float>(stream, of, exponent);
    matrix.rounded = std::make_shared<krylov::Operator<float> const>(
        symmetric_operator<float>(stream, of, exponent, pointer(rounded_roots)));
  }
  template <class S>
  static S const* pointer(Buffer<S> const& values) {
    return values.size() == 0 ? nullptr : values.data();
  }
  /// At places.
  double const* scaling() const {
    return roots.size() == 0 ? nullptr : at_places(equation, roots.data());
  }
  std::size_t size() const { return static_cast<std::size_t>(points_held(equation)); }
  Largest look(Stream& stream, double mean, T const* right) const {
    return of_all_ranks(equation, survey(stream, Survey<T>{a, mean, at_places(equation, right)}));
  }

  Equation<T> equation;
  Operator<T> a;
  bool singular;
  ConjugateOptions options;
  int exponent;                 ///< of what rows are multiplied by
  Buffer<double> roots;         ///< of the diagonal, where coefficients are fields
  Buffer<float> rounded_roots;  ///< the same for float32 inside
  krylov::Operator<double> matrix;
  krylov::Preconditioner<double> preconditioner;
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

/// Of a row of A·x, whose terms, and x, are each rounded: what that may leave of Σ_j |A_ij| times the
/// largest value.
constexpr double roundings_of_row = 8 * std::numeric_limits<double>::epsilon();

/// r ← b − A·x; ‖·‖₂ of what is left where each row is let off what roundings may make of it, with
/// `largest` of R·x.
template <class T>
double left_beyond_roundings(Stream& stream, ConjugateBody<T> const& body, double largest,
                             std::span<double> r) {
  auto const& equation = body.equation;
  Part<double, T> const part(equation, std::ldexp(1.0, body.exponent),
                             ConjugateBody<T>::pointer(body.roots));
  auto const parts = Parts::of(part.a);
  double const rounding = roundings_of_row * largest;
  Buffer<double> factor(stream, MemorySpace::device, 1);
  upload(factor.span(), std::span(&rounding, 1), stream);
  Buffer<int> goes_on(stream, MemorySpace::device, 1);
  zero_async(goes_on.span(), stream);
  Buffer<double> sums(stream, MemorySpace::device, static_cast<std::size_t>(parts.count));
  zero_async(sums.span(), stream);
  zero_async(r, stream);
  part.bring(stream, std::as_const(body.x).span());
  step(stream,
       Exceed<T>{part.symmetric(), goes_on.data(), factor.data(),
                 part.at(std::as_const(body.b).span()), part.at(std::as_const(body.x).span()),
                 part.at(r)},
       sums.span());
  std::vector<double> squares(sums.size());
  copy_async(std::span(squares), std::as_const(sums).span(), stream);
  stream.synchronize();
  if (equation.ranks != nullptr)
    share_parts(equation.ranks->ranks(), std::span(squares),
                part.cuts([&](std::int64_t planes) { return parts.of_first(planes); }));
  double sum = 0;
  for (double const square : squares) sum += square;
  return std::sqrt(sum);
}

/// Whether x, of which u is `unit` times as much, is a solution but for roundings: every row is, or what
/// the preconditioner makes of the rest changes u by less than the tolerance. That of rows alone says
/// nothing of u where coefficients differ by many orders of magnitude.
template <class T>
bool is_solved_but_for_roundings(Stream& stream, ConjugateBody<T>& body, double unit,
                                 std::span<T const> u, double right_norm) {
  auto const largest_of = [&](std::span<T const> values) {
    return number(body.look(stream, 0, values.data()).relative);
  };
  double const largest = largest_of(u);
  if (!std::isfinite(largest)) return false;
  Buffer<double> r(stream, MemorySpace::device, body.size());
  double const left = left_beyond_roundings(stream, body, largest / unit, r.span());
  if (!body.preconditioner) return left == 0;
  if (!(left <= body.options.tolerance * right_norm)) return false;
  body.preconditioner(stream, std::as_const(r).span(), body.b.span());
  Buffer<T> change(stream, MemorySpace::device, body.size());
  visit(stream,
        GiveSolution<T>{body.a, unit, body.scaling(), std::as_const(body.b).data(), change.data()});
  return largest_of(std::as_const(change).span()) <= body.options.tolerance * largest;
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
  auto const found = body.look(stream, mean, right.data());
  double const largest = number(found.residual), given = number(found.relative);
  // What is left of a constant is its roundings.
  bool const is_nothing = largest <= 4 * std::numeric_limits<double>::epsilon() * given;
  int const unit = is_nothing || !std::isfinite(largest) ? 0 : exponent_of(largest);
  visit(stream, TakeRight<T>{with_known(body.a), mean, is_nothing ? 0.0 : std::ldexp(1.0, -unit),
                             body.scaling(), at_places(body.equation, right.data()),
                             at_places(body.equation, body.b.data())});
  zero_async(body.x.span(), stream);
  krylov::Options const options{.tolerance = body.options.tolerance,
                                .iterations = body.options.iterations,
                                .progress = body.options.progress};
  auto result = krylov::solve<double>(stream, krylov::Method::cg, body.matrix, body.preconditioner,
                                      std::as_const(body.b).span(), body.x.span(), options);
  go_on(stream, body, options, result);
  double const scale = std::ldexp(1.0, unit + body.exponent);
  visit(stream, GiveSolution<T>{body.a, scale, body.scaling(),
                                at_places(body.equation, std::as_const(body.x).data()),
                                at_places(body.equation, u.data())});
  stream.synchronize();
  if (result.converged() || result.outcome == krylov::Outcome::not_finite) return result;
  if (is_solved_but_for_roundings<T>(stream, body, scale, u, result.right_norm)) {
    result.outcome = krylov::Outcome::converged;
    result.advice.clear();
  }
  return result;
}

std::size_t conjugate_bytes(Grid const& grid, bool has_fields, Precision inner) {
  bool const is_rounded = inner == Precision::float32;
  // b, x, r and what is for A·x; then directions, of float32 with r and what x is to be changed by.
  std::size_t const numbers =
      is_rounded ? 4 * sizeof(double) + 4 * sizeof(float) : 5 * sizeof(double);
  std::size_t const of_roots = !has_fields ? 0 : sizeof(double) + (is_rounded ? sizeof(float) : 0);
  return (numbers + of_roots) * static_cast<std::size_t>(grid.size());
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template class ConjugateSolver<T>;                                                     \
  template Buffer<double> diagonal_roots(Stream&, Equation<T> const&, int);              \
  template Buffer<float> diagonal_roots(Stream&, Equation<T> const&, int);               \
  template krylov::Operator<double> symmetric_operator(Stream&, Equation<T> const&, int, \
                                                       double const*);                   \
  template krylov::Operator<float> symmetric_operator(Stream&, Equation<T> const&, int,  \
                                                      float const*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::poisson
