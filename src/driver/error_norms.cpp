#include "driver/error_norms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/rank_sums.hpp"
#include "driver/diagnostics/numbers.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/support/parallel_for.hpp"
#include "model/own_parts.hpp"
#include "model/rank_arrays.hpp"
#include "model/value_boxes.hpp"

namespace gridstride {

void BlockErrors::add(double error) {
  squares.add(error);
  if (std::isnan(error) || error > maximum) maximum = error;
}

void BlockErrors::add(BlockErrors const& other) {
  squares.add(other.squares);
  if (std::isnan(other.maximum) || other.maximum > maximum) maximum = other.maximum;
}

namespace {

using expression::Expression;

constexpr std::int64_t block_points = reduce::host_block;

/// A formula and a grid on some planes of which it has the very values that it has there in the whole.
struct Planewise {
  Expression formula;
  Grid grid;
};

/// One that is too long with numbers of planes in the place of a coordinate stays as it is.
Planewise by_planes(Expression const& formula, Grid const& grid) try {
  int const axis = grid.dims - 1;
  Planewise result{evaluate::by_index(formula, grid, axis), grid};
  result.grid.origin[axis] = 0;
  result.grid.spacing[axis] = 1;
  return result;
} catch (Error const&) {
  return {formula, grid};
}

/// The numbers of a field in the largest slab of its grid.
std::size_t slab_values(Field const& field) {
  return evaluate::slab_size(field.grid) * static_cast<std::size_t>(field.components);
}

/// Errors that come piece after piece, in blocks of the whole, so that neither pieces nor threads change
/// the bits.
class ErrorsInOrder {
 public:
  /// Those of `count` points from number `first` on: `error(k)` is that of point first + k.
  template <class Error>
  void add(std::int64_t first, std::int64_t count, Error const& error) {
    if (count == 0) return;
    std::int64_t const begin = first / block_points, end = first + count;
    blocks_.assign(static_cast<std::size_t>((end - 1) / block_points - begin + 1), {});
    blocks_.front() = open_;
    parallel_for(std::ssize(blocks_), [&](std::int64_t i) {
      std::int64_t const place = (begin + i) * block_points;
      for (auto k = std::max(first, place); k < std::min(end, place + block_points); ++k)
        blocks_[static_cast<std::size_t>(i)].add(error(k - first));
    });
    auto const whole = static_cast<std::size_t>(end / block_points - begin);
    for (std::size_t i = 0; i < whole; ++i) all_.add(blocks_[i]);
    open_ = whole < blocks_.size() ? blocks_[whole] : BlockErrors{};
  }

  BlockErrors all() const {
    auto result = all_;
    result.add(open_);
    return result;
  }

 private:
  BlockErrors all_, open_;
  std::vector<BlockErrors> blocks_;
};

template <class T>
ErrorNorms norms_of(Field const& field, Expression const& exact, double time, Stream& stream,
                    int component) {
  bool const on_host = stream.backend() == Backend::cpu;
  std::span<T const> const values(static_cast<T const*>(field.data),
                                  static_cast<std::size_t>(field.values()));
  Buffer<T> copy(stream, MemorySpace::pinned, on_host ? 0 : slab_values(field));
  auto const numbers = static_cast<std::size_t>(field.components);
  auto const [formula, grid] = by_planes(exact, field.grid);
  ErrorsInOrder errors;
  evaluate::for_each_slab(formula, grid, time, [&](evaluate::Slab const& slab) {
    auto part = values.subspan(static_cast<std::size_t>(slab.first) * numbers,
                               slab.values.size() * numbers);
    if (!on_host) {
      copy_async(copy.span().first(part.size()), part, stream);
      stream.synchronize();
      part = copy.span().first(part.size());
    }
    errors.add(slab.first, std::ssize(slab.values), [&](std::int64_t k) {
      auto const i = static_cast<std::size_t>(k);
      auto const value = part[i * numbers + static_cast<std::size_t>(component)];
      return std::abs(static_cast<double>(value) - slab.values[i]);
    });
  });
  auto const all = errors.all();
  return {all.squares.value(), all.maximum};
}

}  // namespace

ErrorNorms error_norms(Field const& field, Expression const& exact, double time, Stream& stream,
                       int component) {
  return field.precision == Precision::float32
             ? norms_of<float>(field, exact, time, stream, component)
             : norms_of<double>(field, exact, time, stream, component);
}

std::size_t error_norms_bytes(Field const& field, Backend backend) {
  std::size_t const copy = backend == Backend::cuda ? slab_values(field) : 0;
  return evaluate::slab_size(field.grid) * sizeof(double) + copy * size_of(field.precision);
}

namespace {

/// Errors of one number at this rank's own points, on the host.
template <class T>
class OwnErrors {
 public:
  OwnErrors(OwnParts<T> const& parts, std::span<T const> own, Expression const& exact, double time)
      : plan_(parts.plan),
        ranks_(parts.ranks),
        grid_(whole_grid(plan_)),
        own_(own),
        host_(Device::open(Backend::cpu)),
        program_(host_, evaluate::by_indices(exact, grid_)),
        clock_{time, 0, 0},
        slabs_(host_, plan_, ranks_) {}

  /// All ranks call it; the first one has what comes of it.
  ErrorNorms find() {
    std::mutex mutex;
    std::vector<Block> own;
    auto const make = [this](std::size_t, PointBox const& box, double* errors) {
      evaluate_box(box, errors);
    };
    slabs_.look_at_made(1, make, RankArrays<double>::Owners::all, [&](auto const& slab) {
      auto const blocks = blocks_of(slab.first, slab.values.front());
      std::scoped_lock const lock(mutex);
      own.insert(own.end(), blocks.begin(), blocks.end());
    });
    auto blocks = to_first(ranks_, own);
    std::ranges::sort(blocks, {}, &Block::place);
    BlockErrors all;
    for (Block const& block : blocks) all.add(block.errors);
    return {all.squares.value(), all.maximum};
  }

 private:
  struct Block {
    std::int64_t place;
    BlockErrors errors;
  };

  void evaluate_box(PointBox const& box, double* errors) {
    auto const size = static_cast<std::size_t>(size_of(box));
    evaluate::evaluate<double>(host_, program_, index_grid(grid_, box), &clock_, 0,
                               std::span(errors, size));
    for (std::int64_t z = box[2].lower; z < box[2].upper; ++z)
      for (std::int64_t y = box[1].lower; y < box[1].upper; ++y) {
        PointBox const line = {box[0], Planes{y, y + 1}, Planes{z, z + 1}};
        T const* const values = own_.data() + place_of_box(plan_, ranks_.rank(), line);
        for (std::int64_t x = 0; x < box[0].count(); ++x, ++errors)
          *errors = std::abs(static_cast<double>(values[x]) - *errors);
      }
  }

  static std::vector<Block> blocks_of(std::int64_t first, std::span<double const> errors) {
    std::vector<Block> blocks;
    for (std::int64_t place = first / block_points; !errors.empty(); ++place) {
      auto const some = errors.first(std::min<std::size_t>(errors.size(), block_points));
      Block& block = blocks.emplace_back(place);
      for (double const error : some) block.errors.add(error);
      errors = errors.subspan(some.size());
    }
    return blocks;
  }

  SweepPlan const& plan_;
  Ranks& ranks_;
  Grid grid_;
  std::span<T const> own_;
  Stream host_;
  evaluate::Program program_;
  evaluate::DeviceClock clock_;
  RankArrays<double> slabs_;
};

}  // namespace

PartsComparison::PartsComparison(config::RunConfig const& run, std::span<Field const> fields,
                                 double time)
    : run_(run), fields_(fields.begin(), fields.end()), time_(time) {}

void PartsComparison::find(OwnParts<float> const& parts, FoundByParts&) { compare(parts); }
void PartsComparison::find(OwnParts<double> const& parts, FoundByParts&) { compare(parts); }

template <class T>
void PartsComparison::compare(OwnParts<T> const& parts) {
  errors_.clear();
  for (auto const& [name, formula] : run_.verify.exact) {
    auto const [field, component] = find_number(run_.fields, fields_, name);
    auto const known = std::ranges::find(parts.fields, field.name, &OwnField::name);
    if (known == parts.fields.end()) throw std::invalid_argument("verify: a field is missing");
    auto const own = parts.values[static_cast<std::size_t>(known - parts.fields.begin())]
                                 [static_cast<std::size_t>(component)];
    bool const is_there = parts.stream.backend() == Backend::cpu;
    Stream stream = parts.stream;
    Buffer<T> copy(stream, MemorySpace::pinned, is_there ? 0 : own.size());
    if (!is_there) copy_async(copy.span(), own, stream);
    stream.synchronize();
    OwnErrors<T> errors(parts, is_there ? own : std::span<T const>(copy.span()), formula.expression,
                        time_);
    errors_.push_back(errors.find());
  }
}

}  // namespace gridstride
