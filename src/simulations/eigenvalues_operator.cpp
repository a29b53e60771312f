#include "simulations/eigenvalues_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/amg/amg.hpp"
#include "model/values.hpp"
#include "simulations/eigenvalues_parameters.hpp"

namespace gridstride::eigenvalues {

std::vector<Row> grid_rows(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  return {coefficient(run, "diffusivity", parameters.diffusivity),
          coefficient(run, "reaction", parameters.reaction)};
}

template <class T>
OperatorOf<T>::OperatorOf(config::RunConfig const& run, Stream& stream, Inputs const& inputs) {
  if (run.has_grid)
    take_grid(run, stream, inputs);
  else
    take_matrix(run, stream, inputs);
}

template <class T>
void OperatorOf<T>::take_grid(config::RunConfig const& run, Stream& stream, Inputs const& inputs) {
  auto const a = diffusivities_of(run, inputs);
  auto kappa = reactions_of(run, inputs);
  state_.emplace(stream, grid_rows(run), run, inputs, nullptr);
  auto& state = *state_;
  double rest = 0;  // no eigenvalue of the rest is more
  for (int axis = 0; axis < run.grid.dims; ++axis)
    rest += 4 * a.most / (run.grid.spacing[axis] * run.grid.spacing[axis]);
  if (is_constant(parameters_of(run).reaction) && std::abs(kappa.least) >= 2 * rest) {
    shift_ = kappa.least;
    kappa = {0, 0};
  }
  poisson::Equation<T> const equation = {.grid = run.grid,
                                         .sides = sides_of(run),
                                         .diffusivity = state["diffusivity"].constant(),
                                         .diffusivities = state["diffusivity"].data(),
                                         .reaction = shift_ == 0 ? state["reaction"].constant() : 0,
                                         .reactions = state["reaction"].data()};
  bool const cycles = has_preconditioner(run, inputs);
  if (cycles) preconditioner_ = "multigrid";
  grid_ = std::make_unique<eigen::GridOperator<T>>(
      stream, equation,
      typename eigen::GridOperator<T>::Extremes{a.least, a.most, kappa.least, kappa.most},
      cycles ? std::string_view(run.kernels.at("multigrid")) : std::string_view());
  if (std::isnormal(grid_->volume())) {
    unit_of_modes_ = 1 / std::sqrt(grid_->volume());
  } else {
    for (int axis = 0; axis < run.grid.dims; ++axis)
      unit_of_modes_ /= std::sqrt(run.grid.spacing[axis]);
  }
}

namespace {

/// A dense matrix by rows, without its zeros.
Csr<double> without_zeros(std::vector<double> const& dense, std::int64_t n) {
  Csr<double> rows;
  rows.rows = rows.columns = n;
  rows.offsets.push_back(0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double const value = dense[static_cast<std::size_t>(i * n + j)];
      if (value == 0) continue;
      rows.column_indices.push_back(static_cast<std::int32_t>(j));
      rows.values.push_back(value);
    }
    rows.offsets.push_back(std::ssize(rows.values));
  }
  return rows;
}

Csr<double> read_rows(config::RunConfig const& run, Stream& stream, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  if (sparse_extents(parameters, inputs)) return read_sparse(parameters, inputs);
  std::int64_t const n = unknowns_of(run, inputs);
  Grid const grid{2, {n, n, 1}, {0, 0, static_cast<double>(n)}, {1, 1, 1}};
  Buffer<double> there(stream, MemorySpace::device, static_cast<std::size_t>(n * n));
  fill(stream, parameters.matrix, grid, inputs, there.span());
  std::vector<double> dense(there.size());
  copy_async(std::span(dense), std::as_const(there).span(), stream);
  stream.synchronize();
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (!std::isfinite(dense[i]))
      throw ConfigError({run.problem(
          parameters.matrix.location,
          fmt::format("is {} at i = {}, j = {} (all values have to be finite)", dense[i],
                      i / static_cast<std::size_t>(n), i % static_cast<std::size_t>(n)))});
  return without_zeros(dense, n);
}

void require_symmetry(config::RunConfig const& run, Csr<double> const& rows) {
  auto const found = examine(rows);
  if (found.symmetric()) return;
  auto const i = found.row, j = found.column;
  throw ConfigError({run.problem(
      parameters_of(run).matrix.location,
      fmt::format(
          "is not symmetric: A({}, {}) = {} and A({}, {}) = {}, counted from 0 (eigenvalues "
          "of other matrices may be complex)",
          i, j, element(rows, i, j), j, i, element(rows, j, i)))});
}

struct RowBounds {
  double excess = 0;         ///< of the diagonal over the magnitudes of all others
  bool is_diffusion = true;  ///< no element beside the diagonal is positive
};

RowBounds bounds_of(Csr<double> const& rows, std::size_t i) {
  RowBounds found;
  for (auto k = static_cast<std::size_t>(rows.offsets[i]);
       k < static_cast<std::size_t>(rows.offsets[i + 1]); ++k) {
    bool const is_diagonal = rows.column_indices[k] == static_cast<std::int32_t>(i);
    found.excess += is_diagonal ? rows.values[k] : -std::abs(rows.values[k]);
    if (!is_diagonal && rows.values[k] > 0) found.is_diffusion = false;
  }
  return found;
}

/// Whether three couplings lead to no more unknowns than in meshes, 13 times as many as one where all
/// of 27 points are coupled in 3D: levels of other graphs fill up.
bool is_mesh(Csr<double> const& rows) {
  constexpr std::int64_t looks = 32;
  double one = 0, three = 0;
  for (std::int64_t look = 0; look < looks; ++look) {
    std::set<std::int64_t> near = {look * rows.rows / looks};
    for (int away = 1; away <= 3 && near.size() < 10000; ++away) {
      for (std::int64_t const i : std::vector(near.begin(), near.end()))
        near.insert(rows.column_indices.begin() + rows.offsets[static_cast<std::size_t>(i)],
                    rows.column_indices.begin() + rows.offsets[static_cast<std::size_t>(i + 1)]);
      if (away == 1) one += static_cast<double>(near.size());
    }
    three += static_cast<double>(near.size());
  }
  return three <= 20 * one;
}

/// How many parts that hang together have constants as a mode of `below`.
std::int64_t count_constants(Csr<double> const& rows, double below, double roundings) {
  std::vector<std::int64_t> root(static_cast<std::size_t>(rows.rows));
  std::iota(root.begin(), root.end(), 0);
  auto const root_of = [&](std::int64_t i) {
    while (root[static_cast<std::size_t>(i)] != i)
      i = root[static_cast<std::size_t>(i)] =
          root[static_cast<std::size_t>(root[static_cast<std::size_t>(i)])];
    return i;
  };
  for (std::int64_t i = 0; i < rows.rows; ++i)
    for (auto k = rows.offsets[static_cast<std::size_t>(i)];
         k < rows.offsets[static_cast<std::size_t>(i + 1)]; ++k)
      root[static_cast<std::size_t>(root_of(rows.column_indices[static_cast<std::size_t>(k)]))] =
          root_of(i);
  std::set<std::int64_t> all, held;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    all.insert(root_of(i));
    if (bounds_of(rows, static_cast<std::size_t>(i)).excess > below + roundings)
      held.insert(root_of(i));
  }
  return std::ssize(all) - std::ssize(held);
}

/// A + σ, with all elements of the diagonal.
Csr<double> shifted(Csr<double> const& rows, double by) {
  Csr<double> result;
  result.rows = result.columns = rows.rows;
  result.offsets.push_back(0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows); ++i) {
    auto const first = rows.offsets[i], last = rows.offsets[i + 1];
    result.column_indices.insert(result.column_indices.end(), rows.column_indices.begin() + first,
                                 rows.column_indices.begin() + last);
    result.values.insert(result.values.end(), rows.values.begin() + first,
                         rows.values.begin() + last);
    result.column_indices.push_back(static_cast<std::int32_t>(i));
    result.values.push_back(by);
    result.offsets.push_back(std::ssize(result.values));
  }
  (void)order_rows(result);
  return result;
}

}  // namespace

template <class T>
void OperatorOf<T>::take_matrix(config::RunConfig const& run, Stream& stream,
                                Inputs const& inputs) {
  auto rows = read_rows(run, stream, inputs);
  require_symmetry(run, rows);
  double largest = 0;
  for (double const value : rows.values) largest = std::max(largest, std::abs(value));
  exponent_ = largest > 0 ? std::ilogb(largest) : 0;
  for (double& value : rows.values) value = std::ldexp(value, -exponent_);
  double norm = 0;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    double sum = 0;
    for (auto k = rows.offsets[static_cast<std::size_t>(i)];
         k < rows.offsets[static_cast<std::size_t>(i + 1)]; ++k)
      sum += std::abs(rows.values[static_cast<std::size_t>(k)]);
    norm = std::max(norm, sum);
  }
  matrix_ = std::make_unique<sparse::Matrix<double>>(stream, rows, run.kernels.at("sparse"));
  matrix_operator_ = {.space = {rows.rows, nullptr},
                      .unknowns = rows.rows,
                      .norm = norm,
                      .apply = [this](Stream& s, int count, double const* x, double* y) {
                        auto const size = static_cast<std::size_t>(matrix_->rows()) *
                                          static_cast<std::size_t>(count);
                        matrix_->multiply(s, {x, size}, {y, size}, count);
                      }};
  if (!has_preconditioner(run, inputs)) return;
  double below = std::numeric_limits<double>::infinity();  // all eigenvalues (Gershgorin)
  bool is_diffusion = rows.nonzeros() > rows.rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows); ++i) {
    auto const [excess, of_diffusion] = bounds_of(rows, i);
    below = std::min(below, excess);
    is_diffusion = is_diffusion && of_diffusion;
  }
  if (is_diffusion && is_mesh(rows) && count_constants(rows, below, 1e-12 * norm) <= 1)
    take_levels(stream, rows, below);
  else
    take_diagonal(stream, rows, below);
}

/// A cycle of algebraic multigrid for A − σ, a little above 0 also where A takes constants to `below`.
template <class T>
void OperatorOf<T>::take_levels(Stream& stream, Csr<double> const& rows, double below) {
  auto const levels = std::make_shared<amg::Hierarchy<double> const>(
      stream, amg::on_device(stream, shifted(rows, 1e-10 * matrix_operator_.norm - below)),
      amg::Options{.vectors = cycles_at_once});
  cycled_ = {stream, MemorySpace::device, cycles_at_once * static_cast<std::size_t>(rows.rows)};
  preconditioner_ = "amg";
  matrix_operator_.precondition = [this, levels](Stream& s, std::span<double const> norms,
                                                 double* w) {
    auto const n = static_cast<std::size_t>(matrix_operator_.unknowns);
    for (std::size_t first = 0; first < norms.size(); first += cycles_at_once) {
      std::span const some(w + first * n, std::min(cycles_at_once, norms.size() - first) * n);
      auto const cycled = cycled_.span().first(some.size());
      levels->cycle(s, some, cycled);
      copy_async(some, std::span<double const>(cycled), s);
    }
  };
}

/// The inverse of the diagonal of A − `below`.
template <class T>
void OperatorOf<T>::take_diagonal(Stream& stream, Csr<double> const& rows, double below) {
  auto diagonal = diagonal_of(rows);
  double const least = 1e-8 * matrix_operator_.norm;
  for (double& value : diagonal) value = least > 0 ? 1 / std::max(value - below, least) : 1;
  inverse_diagonal_ = on_device<double>(stream, diagonal);
  preconditioner_ = "jacobi";
  matrix_operator_.precondition = [this](Stream& s, std::span<double const> norms, double* w) {
    eigen::Rows const some{{{w, static_cast<int>(norms.size())}, {}, {}}};
    eigen::scale_points(s, matrix_operator_.space, inverse_diagonal_.data(), some);
  };
}

/// Columns are products with unit vectors, some at a time.
template <class T>
std::vector<double> OperatorOf<T>::matrix(Stream& stream, std::vector<std::int64_t> const& places,
                                          std::vector<double> const& roots) const {
  constexpr std::size_t at_once = 64;
  auto const size = static_cast<std::size_t>(get().space.size), n = places.size();
  std::vector<double> result(n * n), vectors(at_once * size);
  Buffer<double> x(stream, MemorySpace::device, vectors.size()),
      y(stream, MemorySpace::device, vectors.size());
  zero_async(y.span(), stream);
  for (std::size_t first = 0; first < n; first += at_once) {
    std::size_t const count = std::min(at_once, n - first);
    std::fill(vectors.begin(), vectors.end(), 0.0);
    for (std::size_t i = 0; i < count; ++i)
      vectors[i * size + static_cast<std::size_t>(places[first + i])] = 1;
    copy_async(x.span(), std::span<double const>(vectors), stream);
    get().apply(stream, static_cast<int>(count), x.data(), y.data());
    copy_async(std::span(vectors), std::as_const(y).span(), stream);
    stream.synchronize();
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < n; ++j)
        result[(first + i) * n + j] =
            vectors[i * size + static_cast<std::size_t>(places[j])] * (roots[j] / roots[first + i]);
  }
  return result;
}

template class OperatorOf<float>;
template class OperatorOf<double>;

}  // namespace gridstride::eigenvalues
