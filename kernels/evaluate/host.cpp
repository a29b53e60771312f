#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
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

namespace {

constexpr std::int64_t block_points = expression::BlockEvaluator::block_size;
constexpr std::int64_t most_columns = 1024;      // of a tile
constexpr std::int64_t tile_points = 16 * 1024;  // or fewer

/// Some rows of a grid between two columns, and a formula's parts there.
template <class T>
class Tile {
 public:
  Tile(Evaluation<T> const& evaluation, Separated const& parts, std::size_t axis,
       std::int64_t column, std::int64_t columns)
      : evaluation_(evaluation),
        parts_(parts),
        axis_(axis),
        column_(column),
        columns_(columns),
        time_(time_of(evaluation)),
        rest_(parts.rest),
        along_(parts.along.size() * static_cast<std::size_t>(columns)),
        across_(parts.across.size() * block_points),
        across_values_(parts.across.size()),
        arrays_(static_cast<std::size_t>(evaluation.program->array_count()) * block_points) {
    fill_along();
  }

  void evaluate_rows(std::int64_t first, std::int64_t last) {
    std::int64_t const length = evaluation_.grid.points[axis_];
    for (std::int64_t row = first; row < last; ++row) {
      fill_across(row * length, row == first);
      for (std::int64_t start = 0; start < columns_; start += block_points)
        evaluate_block(row * length + column_ + start, start,
                       std::min(block_points, columns_ - start));
    }
  }

 private:
  void fill_along() {
    auto const count = static_cast<std::size_t>(columns_);
    std::vector<double> at(count), time(count, time_);
    for (std::size_t i = 0; i < count; ++i)
      at[i] = coordinate(evaluation_.grid, axis_, column_ + static_cast<std::int64_t>(i));
    std::array<double const*, expression::first_array> variables = {};
    variables[axis_] = at.data();
    variables[expression::time_variable] = time.data();
    for (std::size_t k = 0; k < parts_.along.size(); ++k)
      expression::BlockEvaluator(parts_.along[k])
          .evaluate(variables, columns_, along_.data() + k * count);
  }

  /// What is the same all along a row, and mostly from row to row.
  void fill_across(std::int64_t point, bool always) {
    auto const [i, j, l] = evaluation_.grid.indices(point);
    std::array const at = {coordinate(evaluation_.grid, 0, i), coordinate(evaluation_.grid, 1, j),
                           coordinate(evaluation_.grid, 2, l), time_};
    for (std::size_t k = 0; k < parts_.across.size(); ++k) {
      auto const& code = parts_.across[k];
      double const value = expression::evaluate_point<expression::max_stack_depth>(
          code.data(), static_cast<int>(code.size()), at);
      if (!always && std::bit_cast<std::uint64_t>(value) == across_values_[k]) continue;
      across_values_[k] = std::bit_cast<std::uint64_t>(value);
      std::fill_n(across_.begin() + static_cast<std::ptrdiff_t>(k) * block_points,
                  std::min(block_points, columns_), value);
    }
  }

  void evaluate_block(std::int64_t point, std::int64_t start, std::int64_t count) {
    variables_.clear();
    for (std::size_t k = 0; k < parts_.along.size(); ++k)
      variables_.push_back(along_.data() + static_cast<std::int64_t>(k) * columns_ + start);
    for (std::size_t k = 0; k < parts_.across.size(); ++k)
      variables_.push_back(across_.data() + k * block_points);
    for (int a = 0; a < evaluation_.program->array_count(); ++a)
      variables_.push_back(read(a, point, count));
    if constexpr (std::is_same_v<T, double>) {
      rest_.evaluate(variables_, count, evaluation_.result + point);
    } else {
      std::array<double, block_points> values;
      rest_.evaluate(variables_, count, values.data());
      for (std::int64_t k = 0; k < count; ++k)
        evaluation_.result[point + k] = static_cast<T>(values[static_cast<std::size_t>(k)]);
    }
  }

  /// Values of an array, in float64.
  double const* read(int array, std::int64_t point, std::int64_t count) {
    Arrays const& arrays = evaluation_.arrays;
    if ((arrays.singles >> array & 1U) == 0)
      return static_cast<double const*>(arrays.data[array]) + point;
    double* const values = arrays_.data() + static_cast<std::int64_t>(array) * block_points;
    std::copy_n(static_cast<float const*>(arrays.data[array]) + point, count, values);
    return values;
  }

  Evaluation<T> const& evaluation_;
  Separated const& parts_;
  std::size_t axis_;
  std::int64_t column_, columns_;
  double time_;
  expression::BlockEvaluator rest_;
  std::vector<double> along_, across_;
  std::vector<std::uint64_t> across_values_;  // their bits
  std::vector<double> arrays_;
  std::vector<double const*> variables_;
};

}  // namespace

template <class T>
void separated(Stream&, Evaluation<T> const& evaluation) {
  Grid const& grid = evaluation.grid;
  if (grid.size() == 0) return;
  std::size_t axis = 0;
  while (axis < 2 && grid.points[axis] == 1) ++axis;
  Separated const& parts = evaluation.program->separated(static_cast<int>(axis));
  std::int64_t const length = grid.points[axis], rows = grid.size() / length;
  std::int64_t const width = std::min(length, most_columns), height = tile_points / width;
  std::int64_t const across = (length + width - 1) / width, down = (rows + height - 1) / height;
  std::int64_t const work = std::min(tile_points, grid.size()) * std::ssize(parts.rest);
  parallel_for(across * down, work, [&](std::int64_t tile) {
    std::int64_t const column = tile % across * width, row = tile / across * height;
    Tile<T>(evaluation, parts, axis, column, std::min(width, length - column))
        .evaluate_rows(row, std::min(rows, row + height));
  });
}

template void reference(Stream&, Evaluation<float> const&);
template void reference(Stream&, Evaluation<double> const&);
template void threads(Stream&, Evaluation<float> const&);
template void threads(Stream&, Evaluation<double> const&);
template void separated(Stream&, Evaluation<float> const&);
template void separated(Stream&, Evaluation<double> const&);

}  // namespace gridstride::evaluate::host
