// Products of rules on the host: equal runs of pieces, a fixed number of them, are shared among the
// threads, and each run evaluates the formula for as many pieces at once as fill a block of points.
// The sums of the runs are added in their order, so that the bits do not depend on the threads.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/riemann/tensor/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::quadrature {

namespace {

constexpr int pieces_at_once = 16;
constexpr int block = pieces_at_once * tensor_piece;
constexpr std::int64_t runs = 1024;

/// Some neighbouring pieces and the integrand at their samples, for one thread.
class PieceBlock {
 public:
  PieceBlock(HostIntegrand const& integrand, std::span<double const> parameters)
      : integrand_(integrand),
        variables_(static_cast<std::size_t>(integrand.dimensions()) + parameters.size()),
        memory_(variables_.size() * block) {
    for (std::size_t k = 0; k < variables_.size(); ++k) variables_[k] = &memory_[k * block];
    for (std::size_t k = 0; k < parameters.size(); ++k)
      std::fill_n(values_of(static_cast<std::size_t>(integrand.dimensions()) + k), block,
                  parameters[k]);
  }

  /// Evaluates pieces from where the cursor is, at most `most`, and moves it behind them. Returns
  /// their number.
  int evaluate(TensorCursor<double>& cursor, TensorProduct const& product, std::int64_t most) {
    int const count = static_cast<int>(std::min<std::int64_t>(pieces_at_once, most));
    int const dimensions = integrand_.dimensions();
    int points = 0;
    for (int piece = 0; piece < count; ++piece) {
      int const first = cursor.begin(), size = cursor.end(product.axes) - first;
      for (int i = 0; i < size; ++i) {
        values_of(0)[points + i] = product.nodes[first + i].position;
        weights_[points + i] = product.nodes[first + i].weight;
      }
      for (int k = 1; k < dimensions; ++k)
        std::fill_n(values_of(static_cast<std::size_t>(k)) + points, size, cursor.v[k]);
      sizes_[piece] = size;
      line_weights_[piece] = cursor.weight();
      points += size;
      cursor.advance(product.axes, dimensions);
    }
    integrand_.evaluate(variables_, points, results_.data());
    return count;
  }

  void add_to(TensorSums& sums, int count) const {
    int point = 0;
    for (int piece = 0; piece < count; ++piece) {
      double sum = 0;
      for (int i = 0; i < sizes_[piece]; ++i, ++point) sum += weights_[point] * results_[point];
      sums.add(line_weights_[piece] * sum);
    }
  }

  /// The first sample that is not finite, 64 times its piece of these and its place in it.
  std::int64_t first_non_finite(int count) const {
    int point = 0;
    for (int piece = 0; piece < count; ++piece)
      for (int i = 0; i < sizes_[piece]; ++i, ++point)
        if (!std::isfinite(results_[point])) return std::int64_t{piece} * tensor_piece + i;
    return all_finite;
  }

 private:
  double* values_of(std::size_t variable) { return &memory_[variable * block]; }

  HostIntegrand const& integrand_;
  std::vector<double const*> variables_;
  std::vector<double> memory_;
  std::array<double, block> weights_, results_;
  std::array<int, pieces_at_once> sizes_;
  std::array<double, pieces_at_once> line_weights_;
};

class HostTensor final : public TensorSummation {
 public:
  HostTensor(Integrand const& integrand, std::span<double const> parameters)
      : integrand_(integrand), parameters_(parameters.begin(), parameters.end()) {}

  TensorSums sum(TensorProduct const& product) override {
    std::vector<TensorSums> partials(runs);
    for_each_block(product,
                   [&](std::int64_t run, std::int64_t, PieceBlock const& pieces, int count) {
                     pieces.add_to(partials[static_cast<std::size_t>(run)], count);
                   });
    TensorSums sums;
    for (TensorSums const& partial : partials) sums.add(partial);
    return sums;
  }

  std::int64_t first_non_finite(TensorProduct const& product) override {
    std::vector<std::int64_t> found(runs, all_finite);
    for_each_block(product,
                   [&](std::int64_t run, std::int64_t first, PieceBlock const& pieces, int count) {
                     auto& least = found[static_cast<std::size_t>(run)];
                     if (least != all_finite) return;
                     std::int64_t const here = pieces.first_non_finite(count);
                     if (here != all_finite) least = first * tensor_piece + here;
                   });
    auto const first = std::ranges::find_if(found, [](auto n) { return n != all_finite; });
    return first == found.end() ? all_finite : *first;
  }

 private:
  /// `use(run, first piece, block, number of pieces)` for all pieces of the product.
  void for_each_block(TensorProduct const& product, auto const& use) const {
    std::int64_t const pieces = product.axes.pieces, length = (pieces + runs - 1) / runs;
    parallel_for(runs, 16 * length * tensor_piece, [&](std::int64_t run) {
      std::int64_t piece = run * length;
      std::int64_t const last = std::min(piece + length, pieces);
      if (piece >= last) return;
      PieceBlock block_of_run(integrand_, parameters_);
      TensorCursor<double> cursor(product.axes, integrand_.dimensions(), piece);
      while (piece < last) {
        int const count = block_of_run.evaluate(cursor, product, last - piece);
        use(run, piece, block_of_run, count);
        piece += count;
      }
    });
  }

  HostIntegrand integrand_;
  std::vector<double> parameters_;
};

}  // namespace

std::unique_ptr<TensorSummation> make_host_tensor(Stream&, Integrand const& integrand,
                                                  std::span<double const> parameters) {
  return std::make_unique<HostTensor>(integrand, parameters);
}

}  // namespace gridstride::quadrature
