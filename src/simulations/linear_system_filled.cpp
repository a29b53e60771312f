#include "simulations/linear_system_filled.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/factorize/factorize.hpp"
#include "simulations/linear_system_parameters.hpp"

namespace gridstride::linear_system {

template <class T, class U>
Buffer<T> filled_up(Stream& stream, Csr<U> const& matrix) {
  auto const rows = static_cast<std::size_t>(matrix.rows),
             columns = static_cast<std::size_t>(matrix.columns);
  std::vector<T> dense(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k)
      dense[i * columns + static_cast<std::size_t>(matrix.column_indices[k])] =
          static_cast<T>(matrix.values[k]);
  Buffer<T> filled(stream, MemorySpace::device, dense.size());
  copy_async(filled.span(), std::span<T const>(dense), stream);
  stream.synchronize();
  return filled;
}

bool may_fill_up(config::RunConfig const& run, std::int64_t rows) {
  return parameters_of(run).method == "auto" && rows <= most_filled_rows;
}

std::string hint_of_filling(config::RunConfig const& run, std::int64_t rows) {
  if (parameters_of(run).method == "auto" || rows > most_filled_rows) return {};
  return "; method: auto factorizes matrices of so few rows where nothing else does";
}

namespace {

template <class T>
struct Factors {
  std::int64_t rows;
  factorize::Variants variants;
  Buffer<T> lu;
  Buffer<std::int32_t> pivots;

  Factors(Stream& stream, Csr<T> const& matrix)
      : rows(matrix.rows),
        variants{.factorize = stream.backend() == Backend::cpu ? "reference" : "auto"},
        lu(filled_up<T>(stream, matrix)),
        pivots(stream, MemorySpace::device, static_cast<std::size_t>(matrix.rows)) {}

  /// Returns whether the factors are of use.
  bool factorize(Stream& stream) {
    Buffer<std::int32_t> status(stream, MemorySpace::device, 1);
    factorize::lu<T>(stream, {lu.data(), rows, rows}, pivots.span(), status.span(), variants);
    std::array<std::int32_t, 1> found = {};
    copy_async(std::span<std::int32_t>(found), std::as_const(status).span(), stream);
    stream.synchronize();
    return found[0] == 0;
  }

  void solve(Stream& stream, std::span<T> vectors) const {
    auto const n = static_cast<std::size_t>(rows);
    for (std::size_t first = 0; first < vectors.size(); first += n)
      factorize::lu_solve<T>(stream, Op::none, Matrix<T const>(lu.data(), rows, rows),
                             pivots.span(), Matrix<T>(vectors.data() + first, rows, 1), variants);
  }
};

}  // namespace

template <class T>
Preconditioning<T> by_filled_factors(Stream& stream, ScaledSystem<T> const& system) {
  auto const factors = std::make_shared<Factors<T>>(stream, system.rows());
  if (!factors->factorize(stream)) return {};
  Preconditioning<T> found;
  found.apply = [factors](Stream& on, std::span<T const> from, std::span<T> to) {
    copy_async(to, from, on);
    factors->solve(on, to);
  };
  return found;
}

template Buffer<float> filled_up(Stream&, Csr<double> const&);
template Buffer<double> filled_up(Stream&, Csr<double> const&);
template Preconditioning<float> by_filled_factors(Stream&, ScaledSystem<float> const&);
template Preconditioning<double> by_filled_factors(Stream&, ScaledSystem<double> const&);

}  // namespace gridstride::linear_system
