#include <fmt/format.h>

#include <string>
#include <string_view>

#include "kernels/krylov/methods.hpp"

namespace gridstride::krylov {

namespace {

std::string_view more_of(Method method) {
  switch (method) {
    case Method::gmres:
      return "more of them, a longer restart or a preconditioner may do";
    case Method::bicgstab:
      return "more of them, a preconditioner or method: gmres may do";
    default:
      return "more of them or a preconditioner may do";
  }
}

/// Where the residual stays where it is.
std::string_view instead_of(Method method, double residual) {
  constexpr double small = 1e-3;
  if (method == Method::gmres)
    return "a longer restart may do; or rounding allows no less: float64, or a larger tolerance";
  if (residual <= small) return "rounding allows no less: float64, or a larger tolerance";
  return method == Method::cg
             ? "the matrix may be singular, which method: minres or gmres would tell"
             : "method: gmres may do; or the matrix is singular, which it would tell";
}

/// Of a singular matrix. The smallest residual is that of methods that look for it, unless rounding has
/// led x away.
std::string no_solution(Method method, std::string const& told, double residual,
                        bool preconditioned) {
  if (method == Method::cg || method == Method::bicgstab)
    return fmt::format(
        "the matrix is singular as far as rounding tells: {} (method: {} looks for the x with the "
        "smallest one)",
        told, method == Method::cg ? "minres" : "gmres");
  if (residual > 1)
    return fmt::format(
        "the matrix is singular as far as rounding tells, and x has gone off along what it takes "
        "to 0: {}{}",
        told, method == Method::gmres ? "" : " (method: gmres goes less far)");
  // Of a matrix that takes to 0 something that is among its own products, gmres need not meet the best x.
  bool const looked_everywhere = method != Method::gmres;
  return fmt::format(
      "the matrix{} is singular as far as rounding tells, and no x {}has a smaller residual: {}",
      !looked_everywhere && preconditioned ? " times its preconditioner" : "",
      looked_everywhere ? "" : "that gmres finds ", told);
}

}  // namespace

std::string advice_of(Method method, Outcome outcome, Result const& result, bool preconditioned) {
  std::string const residual =
      fmt::format("the residual is {:.2e} of the right-hand side after {} iteration{}",
                  result.residual_norm, result.iterations, result.iterations == 1 ? "" : "s");
  switch (outcome) {
    case Outcome::converged:
      return {};
    case Outcome::iterations:
      return fmt::format("{} ({})", residual, more_of(method));
    case Outcome::stagnated:
      return fmt::format("{} and does not become smaller ({})", residual,
                         instead_of(method, result.residual_norm));
    case Outcome::breakdown:
      return fmt::format("bicgstab has broken down: {} (method: gmres does not)", residual);
    case Outcome::indefinite:
      return fmt::format(
          "p·A·p <= 0 after {} iterations: the matrix is not positive definite (method: minres "
          "takes symmetric matrices that are not, gmres and bicgstab any)",
          result.iterations);
    case Outcome::preconditioner:
      return fmt::format(
          "r·z <= 0 after {} iterations: the preconditioner is not positive definite (cg and "
          "minres need one that is; gmres and bicgstab take any)",
          result.iterations);
    case Outcome::incompatible:
      return no_solution(method, residual, result.residual_norm, preconditioned);
    case Outcome::not_finite:
      return fmt::format(
          "sums are not finite after {} iterations (values so large or small that their squares "
          "have no place, or a method that diverges: gmres does not)",
          result.iterations);
  }
  return {};
}

}  // namespace gridstride::krylov
