#include "simulations/poisson_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/reduce/reduce.hpp"

namespace gridstride::poisson {

template <class T>
LineSolver<T>::LineSolver(Stream& stream, Equation<T> const& equation, bool singular,
                          bool dominance)
    : equation_(equation) {
  for (auto* const buffer : {&lower_, &diagonal_, &upper_, &u_, &residual_, &correction_})
    *buffer = {stream, MemorySpace::device, static_cast<std::size_t>(equation.grid.size())};
  fill_coefficients(stream, equation, lower_.span(), diagonal_.span(), upper_.span());
  auto [first, count] = unknowns(equation.grid, equation.sides, 0);
  if (singular) ++first, --count;
  first_ = first;
  shape_ = tridiagonal::contiguous(count, 1);
  shape_.periodic = equation.sides[0][0] == SideKind::periodic && !singular;
  // The host exchanges no rows of a line without ends, whose solution is judged all the same.
  bool const exchanges = !dominance && !(shape_.periodic && stream.backend() == Backend::cpu);
  variant_ = exchanges ? "pivoted" : tridiagonal::default_variant(stream.backend());
}

template <class T>
auto LineSolver<T>::nearest_eigenvalue(Stream& stream, double share) const -> Nearest {
  Line line;
  line.periodic = shape_.periodic;
  std::pair<Buffer<double> const*, std::vector<double>*> const parts[] = {
      {&lower_, &line.lower}, {&diagonal_, &line.diagonal}, {&upper_, &line.upper}};
  for (auto const& [from, to] : parts) {
    to->resize(static_cast<std::size_t>(shape_.size));
    copy_async(std::span(*to), inner(from->span()), stream);
  }
  stream.synchronize();
  Nearest nearest;
  for (std::size_t i = 0; i < line.diagonal.size(); ++i)
    nearest.norm = std::max(nearest.norm, std::abs(line.lower[i]) + std::abs(line.diagonal[i]) +
                                              std::abs(line.upper[i]));
  nearest.eigenvalue = eigenvalue_within(line, share * nearest.norm);
  return nearest;
}

template <class T>
void LineSolver<T>::eliminate(Stream& stream) {
  Buffer<tridiagonal::Findings> findings(stream, MemorySpace::device, 1);
  zero_async(findings.span(), stream);
  tridiagonal::solve<double>(
      stream, shape_,
      {inner(std::as_const(lower_).span()), inner(std::as_const(diagonal_).span()),
       inner(std::as_const(upper_).span())},
      inner(std::as_const(residual_).span()), inner(correction_.span()), findings.span(), variant_);
  auto const report = tridiagonal::read(stream, shape_, std::as_const(findings).span());
  // Rows that are solved only nearly are corrected.
  if (report.bad_pivot || (report.backward_error && std::isinf(*report.backward_error)))
    throw NumericalError("poisson: " + report.template fault<double>());
}

template <class T>
double LineSolver<T>::largest(Stream& stream, Buffer<double> const& values) const {
  std::array<reduce::Moments<double>, 1> found;
  Buffer<reduce::Moments<double>> moments(stream, MemorySpace::device, 1);
  reduce::moments<double>(stream, inner(values.span()), moments.span());
  copy_async(std::span<reduce::Moments<double>>(found), moments.span(), stream);
  stream.synchronize();
  return std::max(std::abs(found[0].minimum), std::abs(found[0].maximum));
}

template <class T>
void LineSolver<T>::solve(Stream& stream, std::span<T const> right, std::span<T> u) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  constexpr int most = 10;
  zero_async(u_.span(), stream);
  // Each correction is to the one before as that is to the one before it.
  for (double share = 1, next = 1; !(next <= epsilon); ++solves_) {
    if (solves_ == most)
      throw NumericalError(fmt::format(
          "poisson: after {} corrections the last one is still {:.2g} of the solution (the "
          "equations are all but singular: a reaction that is too small, or a resonance)",
          most - 1, share));
    line_residual(stream, equation_, std::as_const(u_).span(), right, residual_.span());
    eliminate(stream);
    correct<T>(stream, inner(std::as_const(correction_).span()), inner(u_.span()), inner(u));
    double const correction = largest(stream, correction_), before = share;
    share = correction == 0 ? 0 : correction / largest(stream, u_);
    next = share == 0 ? 0 : share * share / before;
  }
}

template class LineSolver<float>;
template class LineSolver<double>;

}  // namespace gridstride::poisson
