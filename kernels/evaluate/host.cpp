#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "expression/evaluate.hpp"
#include "kernels/evaluate/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::evaluate::host {
namespace {

template <class T>
double time_of(Evaluation<T> const& evaluation) {
  return evaluation.clock == nullptr ? 0 : evaluation.clock->time(evaluation.fraction);
}

double coordinate(Grid const& grid, std::size_t axis, std::int64_t i) {
  return add_product(grid.origin[axis], static_cast<double>(i), grid.spacing[axis]);
}

/// The variables of a formula at a point.
struct Place {
  std::array<double, expression::first_array> at;
  ArraysAt arrays;

  double operator[](int variable) const {
    return variable < expression::first_array ? at[static_cast<std::size_t>(variable)]
                                              : arrays[variable - expression::first_array];
  }
};

}  // namespace

template <class T>
void reference(Stream&, Evaluation<T> const& evaluation) {
  Grid const& grid = evaluation.grid;
  double const t = time_of(evaluation);
  auto const code = evaluation.program->code();
  for (std::int64_t k = 0; k < grid.size(); ++k) {
    auto const [i, j, l] = grid.indices(k);
    Place const place = {
        {coordinate(grid, 0, i), coordinate(grid, 1, j), coordinate(grid, 2, l), t},
        {evaluation.arrays, k}};
    evaluation.result[k] = static_cast<T>(expression::evaluate_point<expression::max_stack_depth>(
        code.data(), static_cast<int>(code.size()), place));
  }
}

template <class T>
void threads(Stream&, Evaluation<T> const& evaluation) {
  using expression::BlockEvaluator;
  constexpr std::int64_t block = BlockEvaluator::block_size;
  constexpr std::int64_t piece = 16 * block;  // points that one evaluator serves
  Grid const& grid = evaluation.grid;
  std::int64_t const size = grid.size();
  double const t = time_of(evaluation);

  std::int64_t const work = piece * std::ssize(evaluation.program->code());
  parallel_for((size + piece - 1) / piece, work, [&](std::int64_t p) {
    BlockEvaluator evaluator(evaluation.program->code());
    std::array<double, block> x, y, z, time, values;
    std::vector<std::array<double, block>> arrays(
        static_cast<std::size_t>(evaluation.program->array_count()));
    std::array<double const*, expression::max_variables> variables = {x.data(), y.data(), z.data(),
                                                                      time.data()};
    for (std::size_t a = 0; a < arrays.size(); ++a)
      variables[expression::first_array + a] = arrays[a].data();
    time.fill(t);
    auto [i, j, l] = grid.indices(p * piece);
    std::int64_t const end = std::min(size, (p + 1) * piece);
    for (std::int64_t start = p * piece; start < end; start += block) {
      auto const points = static_cast<std::size_t>(std::min(block, end - start));
      for (std::size_t k = 0; k < points; ++k) {
        x[k] = coordinate(grid, 0, i);
        y[k] = coordinate(grid, 1, j);
        z[k] = coordinate(grid, 2, l);
        if (++i < grid.points[0]) continue;
        i = 0;
        if (++j < grid.points[1]) continue;
        j = 0;
        ++l;
      }
      for (std::size_t a = 0; a < arrays.size(); ++a)
        for (std::size_t k = 0; k < points; ++k)
          arrays[a][k] =
              evaluation.arrays.at(static_cast<int>(a), start + static_cast<std::int64_t>(k));
      evaluator.evaluate(variables, static_cast<std::int64_t>(points), values.data());
      for (std::size_t k = 0; k < points; ++k)
        evaluation.result[start + static_cast<std::int64_t>(k)] = static_cast<T>(values[k]);
    }
  });
}

template void reference(Stream&, Evaluation<float> const&);
template void reference(Stream&, Evaluation<double> const&);
template void threads(Stream&, Evaluation<float> const&);
template void threads(Stream&, Evaluation<double> const&);

}  // namespace gridstride::evaluate::host
