#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "driver/diagnostics/formula.hpp"
#include "driver/diagnostics/numbers.hpp"
#include "expression/transform.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "model/values.hpp"

namespace gridstride::formula {

std::optional<std::int64_t> OnPieces::first_non_finite() const {
  for (std::size_t p = 0; p < pieces.size(); ++p)
    if (std::int64_t const index = found[p].first_non_finite; index >= 0)
      return pieces[p].first + index;
  return {};
}

double OnPieces::integral() const {
  double sum = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) sum += pieces[p].weight * found[p].sum;
  for (int axis = 0; axis < grid.dims; ++axis) sum *= grid.spacing[axis];
  return sum;
}

OnPieces::Extreme OnPieces::extreme(Find find) const {
  auto const best = find == Find::minimum ? std::ranges::min_element(found, {}, &Moments::minimum)
                                          : std::ranges::max_element(found, {}, &Moments::maximum);
  return {best - found.begin(), find == Find::minimum ? best->minimum : best->maximum};
}

void throw_not_finite(std::string_view name, Grid const& grid, std::int64_t point,
                      Clock const& clock) {
  throw NumericalError(fmt::format("{} is not finite at {}, step {}, time {}", name,
                                   format_place(grid, point), clock.step, clock.time));
}

namespace {

/// Not a number where a value, the one array, is this one, else 0.
Expression mark(double value) {
  using expression::Operation;
  Expression const is_value = expression::apply(
      Operation::equal, Expression::variable(expression::first_array), Expression(value));
  return expression::apply(Operation::select, is_value,
                           Expression(std::numeric_limits<double>::quiet_NaN()), Expression(0.0));
}

/// Evaluates each formula piece by piece in float64, times the weights for an integral, and finds
/// the moments of each piece.
template <Find find>
class Finder final : public SceneFinder {
 public:
  Finder(config::RunOptions const& run, std::span<Field const> fields, Stream& stream)
      : grid_(run.grid),
        pieces_(pieces_of(run, grid_)),
        may_have_gaps_(run.simulation->has_gaps),
        reduce_variant_(reduce::variant_of_blocks(variant_of(run, "reduce"), stream.backend())) {
    std::vector<Array> of_fields;
    for (Variable const& array : arrays_of(run))
      if (!array.own_grid) of_fields.push_back(place(fields, array.field, array.component));
    if (find == Find::integral) {
      weights_ = {stream, MemorySpace::device, values_of_piece(grid_)};
      copy_async(weights_.span(), weights_of(run, grid_), stream);
    }
    auto const variant = evaluate_variant(run, stream.backend());
    for (auto const* asked : asked_for<Of<find>>(run)) {
      bool const is_quantity = !asked->quantity().empty();
      auto const arrays =
          is_quantity ? std::vector{place(fields, asked->quantity(), 0)} : of_fields;
      Expression formula = is_quantity
                               ? Expression::variable(expression::first_array)
                               : evaluate::by_index(asked->formula(), grid_, grid_.dims - 1);
      int const weight = expression::first_array + static_cast<int>(arrays.size());
      if (find == Find::integral) formula = formula * Expression::variable(weight);
      tasks_.push_back({asked->name(),
                        asked->where(),
                        arrays,
                        reads(formula, arrays.size()),
                        evaluate::Program(stream, formula, variant),
                        {stream, MemorySpace::pinned, pieces_.size()}});
    }
    stream.synchronize();
  }

  void queue(Scene const& scene) override {
    Buffer<double> values(scene.stream, MemorySpace::device, values_of_piece(grid_));
    Buffer<Moments> found(scene.stream, MemorySpace::device, pieces_.size());
    for (Task& task : tasks_) {
      for (std::size_t p = 0; p < pieces_.size(); ++p)
        reduce::moments<double>(scene.stream, evaluate_piece(scene, task, pieces_[p], values),
                                found.span().subspan(p, 1), reduce_variant_);
      copy_async(task.found.span(), std::as_const(found).span(), scene.stream);
    }
  }

  void collect(Scene const& scene, std::vector<double>& values) override {
    for (Task& task : tasks_) {
      OnPieces const found{grid_, pieces_, std::as_const(task.found).span()};
      if (auto const point = found.first_non_finite(); !point) {
        if (find == Find::integral)
          values.push_back(found.integral());
        else
          add_extreme(task, found.extreme(find), scene, values);
      } else {
        if (!may_have_gaps_) throw_not_finite(task.name, grid_, *point, scene.clock);
        auto const count = task.where ? 1 + static_cast<std::size_t>(grid_.dims) : 1;
        values.insert(values.end(), count, std::numeric_limits<double>::quiet_NaN());
      }
    }
  }

 private:
  /// A field, or a component of a vector.
  struct Array {
    std::size_t place;  ///< of the field among those of a scene
    int component;
  };

  struct Task {
    std::string name;
    bool where;
    std::vector<Array> arrays;  ///< that its formula may read
    std::vector<bool> reads;    ///< which of them it does
    evaluate::Program program;
    Buffer<Moments> found;  ///< of each piece, in pinned memory
  };

  Array place(std::span<Field const> fields, std::string_view name, int component) const {
    auto const field = std::ranges::find(fields, name, &Field::name);
    if (field == fields.end() || field->grid != grid_ || component >= field->components)
      throw std::invalid_argument("diagnostics: a field is missing, or on another grid");
    return {static_cast<std::size_t>(field - fields.begin()), component};
  }

  /// The values of an array on a piece; those of a component, which are brought side by side, lie in
  /// one of the buffers.
  template <class T>
  static evaluate::ArrayView view(Stream& stream, Field const& field, int component,
                                  Piece const& piece, std::vector<Buffer<T>>& components) {
    auto const values = static_cast<T const*>(field.data) + piece.first * field.components;
    if (field.components == 1) return {values, field.precision};
    auto const size = static_cast<std::size_t>(piece.grid.size());
    auto& target = components.emplace_back(stream, MemorySpace::device, size);
    extract<T>(stream, {values, size * static_cast<std::size_t>(field.components)},
               field.components, component, target.span());
    return {target.data(), field.precision};
  }

  /// The values of the formula on a piece, at the begin of `memory`.
  std::span<double const> evaluate_piece(Scene const& scene, Task const& task, Piece const& piece,
                                         Buffer<double>& memory) const {
    std::vector<evaluate::ArrayView> arrays;
    std::vector<Buffer<float>> floats;
    std::vector<Buffer<double>> doubles;
    for (std::size_t i = 0; i < task.arrays.size(); ++i) {
      auto const [place, component] = task.arrays[i];
      Field const& field = scene.fields[place];
      if (!task.reads[i])
        arrays.push_back({field.data, field.precision});
      else if (field.precision == Precision::float32)
        arrays.push_back(view(scene.stream, field, component, piece, floats));
      else
        arrays.push_back(view(scene.stream, field, component, piece, doubles));
    }
    arrays.push_back({weights_.data(), Precision::float64});
    Buffer<evaluate::DeviceClock> clock(scene.stream, MemorySpace::device, 1);
    evaluate::set_clock(scene.stream, clock.data(), {scene.clock.time, 0, 0});
    auto const values = memory.span().first(static_cast<std::size_t>(piece.grid.size()));
    evaluate::evaluate<double>(scene.stream, task.program, piece.grid, clock.data(), 0, values,
                               arrays);
    return values;
  }

  void add_extreme(Task const& task, OnPieces::Extreme const& extreme, Scene const& scene,
                   std::vector<double>& values) const {
    values.push_back(extreme.value);
    if (!task.where) return;
    Piece const& piece = pieces_[static_cast<std::size_t>(extreme.piece)];
    auto const at = grid_.indices(place_of(extreme.value, task, piece, scene));
    for (int axis = 0; axis < grid_.dims; ++axis)
      values.push_back(grid_.coordinate(axis, at[axis]));
  }

  /// The first point of the piece with this value, which some point of it has.
  std::int64_t place_of(double value, Task const& task, Piece const& piece,
                        Scene const& scene) const {
    Stream& stream = scene.stream;
    Buffer<double> values(stream, MemorySpace::device, values_of_piece(grid_));
    Buffer<double> marks(stream, MemorySpace::device, values_of_piece(grid_));
    evaluate::ArrayView const array{evaluate_piece(scene, task, piece, values).data(),
                                    Precision::float64};
    evaluate::Program const program(stream, mark(value),
                                    evaluate::default_variant(stream.backend()));
    auto const target = marks.span().first(static_cast<std::size_t>(piece.grid.size()));
    evaluate::evaluate<double>(stream, program, piece.grid, nullptr, 0, target,
                               std::span(&array, 1));
    return piece.first + first_non_finite<double>(stream, target, reduce_variant_);
  }

  Grid grid_;
  std::vector<Piece> pieces_;
  bool may_have_gaps_;
  std::string reduce_variant_;
  Buffer<double> weights_;  ///< of an integral, on one piece
  std::vector<Task> tasks_;
};

}  // namespace

template <Find find>
std::unique_ptr<SceneFinder> make_finder(config::RunOptions const& run,
                                         std::span<Field const> fields, Stream& stream) {
  return std::make_unique<Finder<find>>(run, fields, stream);
}

#define GRIDSTRIDE_INSTANTIATE(FIND)                                                     \
  template std::unique_ptr<SceneFinder> make_finder<FIND>(config::RunOptions const& run, \
                                                          std::span<Field const>, Stream&);
GRIDSTRIDE_INSTANTIATE(Find::integral)
GRIDSTRIDE_INSTANTIATE(Find::minimum)
GRIDSTRIDE_INSTANTIATE(Find::maximum)
#undef GRIDSTRIDE_INSTANTIATE

}  // namespace gridstride::formula
