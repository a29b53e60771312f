#include "kernels/eigen/grid.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/eigen/grid_rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::eigen {

namespace {

template <class Step>
void for_unknowns(Stream& stream, Step const& step) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_for_unknowns(stream, step);
#else
  (void)stream;
#endif
  auto const& a = step.a;
  parallel_for(a.count[1] * a.count[2], 40 * a.count[0], [&](std::int64_t line) {
    std::int64_t at[3] = {0, a.first[1] + line % a.count[1], a.first[2] + line / a.count[1]};
    for (at[0] = a.first[0]; at[0] < a.first[0] + a.count[0]; ++at[0]) step(at);
  });
}

template <class T>
bool has_side(poisson::Equation<T> const& equation, SideKind kind) {
  for (int axis = 0; axis < equation.grid.dims; ++axis)
    for (SideKind const side : equation.sides[static_cast<std::size_t>(axis)])
      if (side == kind) return true;
  return false;
}

}  // namespace

template <class T>
GridOperator<T>::GridOperator(Stream& stream, poisson::Equation<T> const& equation,
                              Extremes const& extremes, std::string_view cycle) {
  auto const a = poisson::operator_of(equation);
  std::int64_t const size = equation.grid.size();
  double largest = std::max(std::abs(extremes.least_reaction), std::abs(extremes.most_reaction));
  for (int axis = 0; axis < equation.grid.dims; ++axis) {
    double const h = equation.grid.spacing[axis];
    largest += 4 * extremes.most_diffusivity / (h * h);
  }
  exponent_ = std::ilogb(largest);
  double const scale = std::ldexp(1.0, -exponent_);
  volume_ = a.volume;
  operator_.space.size = size;
  operator_.unknowns = a.size();
  operator_.norm = largest * scale;
  if (has_side(equation, SideKind::dirichlet) || has_side(equation, SideKind::neumann)) {
    weights_ = {stream, MemorySpace::device, static_cast<std::size_t>(size)};
    zero_async(weights_.span(), stream);
    for_unknowns(stream, GridWeights<T>{a, weights_.data()});
    operator_.space.weights = weights_.data();
  }
  operator_.apply = [a, scale](Stream& s, int rows, double const* x, double* y) {
    for_unknowns(s, GridProduct<T>{a, scale, rows, x, y});
  };
  if (!cycle.empty()) precondition_with(stream, equation, extremes, cycle);
  stream.synchronize();
}

/// Without a side on which u is given constants need a reaction, too: as much as the longest wave has.
template <class T>
void GridOperator<T>::precondition_with(Stream& stream, poisson::Equation<T> equation,
                                        Extremes const& extremes, std::string_view cycle) {
  double shift = -extremes.least_reaction;
  if (!has_side(equation, SideKind::dirichlet)) {
    double longest = 0;
    for (int axis = 0; axis < equation.grid.dims; ++axis)
      longest = std::max(
          longest, equation.grid.spacing[axis] * static_cast<double>(equation.grid.points[axis]));
    double const wave = std::numbers::pi / longest;
    shift += extremes.least_diffusivity * wave * wave;
  }
  if (equation.reactions != nullptr) {
    reactions_ = {stream, MemorySpace::device, static_cast<std::size_t>(equation.grid.size())};
    copy_async(reactions_.span(), std::span<T const>(equation.reactions, reactions_.size()),
               stream);
    poisson::shift(stream, shift, reactions_.span());
    equation.reactions = reactions_.data();
  } else {
    equation.reaction += shift;
  }
  multigrid::Options const options{.cycle = multigrid::Cycle::v};
  cycle_ = std::make_unique<multigrid::Solver<T>>(stream, equation, false, options, cycle);
  operator_.precondition = [this](Stream& s, std::span<double const> norms, double* w) {
    auto const size = static_cast<std::size_t>(operator_.space.size);
    double const points = std::sqrt(static_cast<double>(operator_.unknowns));
    for (std::size_t row = 0; row < norms.size(); ++row) {
      std::span<double> const values(w + row * size, size);
      cycle_->precondition(s, values, norms[row] / points, values);
    }
  };
}

template class GridOperator<float>;
template class GridOperator<double>;

}  // namespace gridstride::eigen
