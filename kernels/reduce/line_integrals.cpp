#include "kernels/reduce/line_integrals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/support/arguments.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::reduce {

namespace {

using Operation = LineIntegrals::Operation;

/// How an array is cut along an axis.
struct Cut {
  std::int64_t width, length, inner, results, strands;
  bool slowest;

  Cut(Operation const& operation, int axis) : width(1), inner(1), results(1) {
    for (int k = 0; k < operation.dims; ++k) {
      if (k < operation.dims - 1) width *= operation.points[static_cast<std::size_t>(k)];
      if (k < axis) inner *= operation.points[static_cast<std::size_t>(k)];
      if (k != axis) results *= operation.points[static_cast<std::size_t>(k)];
    }
    length = operation.points[static_cast<std::size_t>(axis)];
    slowest = axis == operation.dims - 1;
    // Enough threads for a GPU, and neighbours that load neighbours; but strands of eight points.
    constexpr std::int64_t enough = std::int64_t{1} << 16, warp = 32, most = 1024;
    std::int64_t const wanted = std::max(enough / results, warp / inner);
    std::int64_t const fitting = std::min({most, wanted, length / 8});
    strands = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(fitting, 1))));
  }
  std::int64_t partials(std::int64_t most_rows) const {
    return slowest ? strands * width : most_rows * (width / length) * strands;
  }
};

}  // namespace

LineIntegrals::LineIntegrals(Stream const& stream, Operation const& operation, int axis,
                             std::int64_t most_rows)
    : operation_(operation), axis_(axis), most_rows_(most_rows) {
  Cut const cut(operation, axis);
  slowest_ = cut.slowest;
  width_ = cut.width;
  length_ = cut.length;
  inner_ = cut.inner;
  strands_ = cut.strands;
  results_ = cut.results;
  partials_ = Buffer<double>(stream, MemorySpace::device,
                             static_cast<std::size_t>(cut.partials(most_rows)));
  values_ = Buffer<double>(stream, MemorySpace::device, static_cast<std::size_t>(results_));
}

std::size_t LineIntegrals::bytes(Operation const& operation, int axis, std::int64_t most_rows) {
  Cut const cut(operation, axis);
  return static_cast<std::size_t>(cut.partials(most_rows) + cut.results) * sizeof(double);
}

void LineIntegrals::add([[maybe_unused]] Stream& stream, std::span<double const> rows) {
  std::int64_t const count = std::ssize(rows) / width_;
  std::int64_t const all = operation_.points[static_cast<std::size_t>(operation_.dims - 1)];
  if (count * width_ != std::ssize(rows) || count > most_rows_ || count > all - done_)
    throw std::invalid_argument(
        fmt::format("line integrals: {} elements are not up to {} rows of {}", rows.size(),
                    std::min(most_rows_, all - done_), width_));
  if (count == 0) return;
  LinePiece piece{operation_, axis_,    rows.data(), partials_.data(), 1, count,
                  inner_,     strands_, done_,       done_ > 0};
  if (!slowest_) {
    piece.outer = count * (width_ / inner_ / length_);
    piece.length = length_;
    piece.first = 0;
    piece.goes_on = false;
  }
  double* const values = values_.data() + (slowest_ ? 0 : done_ * (width_ / length_));
  done_ += count;
  bool const ends = !slowest_ || done_ == all;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) {
    cuda_line_strands(stream, piece);
    if (ends) cuda_line_values(stream, piece, values);
    return;
  }
#endif
  host_line_strands(piece);
  if (ends) host_line_values(piece, values);
}

void LineIntegrals::finish(Stream& stream, std::span<double> target) {
  std::int64_t const all = operation_.points[static_cast<std::size_t>(operation_.dims - 1)];
  if (done_ != all)
    throw std::logic_error(fmt::format("line integrals: {} of {} rows have come", done_, all));
  require_size("line integrals", named("target", target), static_cast<std::size_t>(results_));
  copy_async(target, std::as_const(values_).span(), stream);
}

// ---------------------------------------------------------------------------------------- host

namespace {

/// sums_i += w·x_i
GRIDSTRIDE_VECTOR_WIDTHS void add_scaled(double w, double const* x, std::int64_t count,
                                         double* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += w * x[i];
}

/// The same with a weight for each.
GRIDSTRIDE_VECTOR_WIDTHS void add_products(double const* w, double const* x, std::int64_t count,
                                           double* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += w[i] * x[i];
}

/// Partial sums that are worth an item of work; they stay in a near cache.
constexpr std::int64_t stretch = 1024;

/// What one block adds to its partial sums `begin` to before `end`: those of strand s are `inner`
/// values from s·inner on.
void add_stretch(LinePiece const& p, std::int64_t block, std::int64_t begin, std::int64_t end) {
  double const* const x = p.input + block * p.length * p.inner;
  double* const sums = p.partials + block * p.strands * p.inner;
  for (std::int64_t start = -(p.first & (p.strands - 1)); start < p.length; start += p.strands)
    for (std::int64_t s = begin / p.inner; s * p.inner < end; ++s) {
      std::int64_t const k = start + s, zero = s * p.inner;
      if (k < 0 || k >= p.length) continue;
      std::int64_t const low = std::max(begin, zero), high = std::min(end, zero + p.inner);
      add_scaled(p.operation.along(p.axis, p.first + k), x + k * p.inner + (low - zero), high - low,
                 sums + low);
    }
}

/// Blocks with one value at each point: the strands are neighbours.
void add_line(LinePiece const& p, std::int64_t block, std::span<double const> weights) {
  double const* const x = p.input + block * p.length;
  double* const sums = p.partials + block * p.strands;
  for (std::int64_t k = 0; k < p.length;) {
    std::int64_t const strand = (p.first + k) & (p.strands - 1);
    std::int64_t const count = std::min(p.strands - strand, p.length - k);
    add_products(weights.data() + k, x + k, count, sums + strand);
    k += count;
  }
}

}  // namespace

void host_line_strands(LinePiece const& p) {
  if (!p.goes_on) std::fill_n(p.partials, p.strand_values(), 0.0);
  if (p.inner == 1) {
    std::vector<double> weights(static_cast<std::size_t>(p.length));
    for (std::int64_t k = 0; k < p.length; ++k)
      weights[static_cast<std::size_t>(k)] = p.operation.along(p.axis, p.first + k);
    return parallel_for(p.outer, p.length,
                        [&](std::int64_t block) { add_line(p, block, weights); });
  }
  std::int64_t const sums = p.strands * p.inner, stretches = (sums + stretch - 1) / stretch;
  parallel_for(p.outer * stretches, p.length * p.inner / stretches, [&](std::int64_t item) {
    std::int64_t const begin = item % stretches * stretch;
    add_stretch(p, item / stretches, begin, std::min(begin + stretch, sums));
  });
}

void host_line_values(LinePiece const& p, double* values) {
  double const factor = p.operation.spacing[static_cast<std::size_t>(p.axis)] / 12;
  parallel_for(p.outer, p.strands * p.inner, [&](std::int64_t block) {
    double const* const sums = p.partials + block * p.strands * p.inner;
    double* const target = values + block * p.inner;
    std::fill_n(target, p.inner, 0.0);
    for (std::int64_t s = 0; s < p.strands; ++s)
      for (std::int64_t i = 0; i < p.inner; ++i) target[i] += sums[s * p.inner + i];
    for (std::int64_t i = 0; i < p.inner; ++i) target[i] *= factor;
  });
}

}  // namespace gridstride::reduce
