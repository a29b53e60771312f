// Stages of systems on the host.
//
// `reference` runs the program at every point in turn: the oracle.
// `threads` shares pieces of rows (lines along x) among the threads. Each instruction runs over a
// piece before the next one, in loops that the compiler vectorises (pieces.hpp); what is loaded
// inside the grid is read where it lies, and copied with what sides make of it where some of a piece
// lies beyond. A value's place is taken again when nobody needs it any more, so that what a piece
// works on stays in the cache. Pieces follow each other from row to row, so that what differs along x
// alone is found for the first of them; what is the same all along a row is found once for each.

#include <algorithm>

#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"
#include "kernels/system/pieces.hpp"
#include "kernels/system/random.cuh"
#include "kernels/system/rows.hpp"
#include "kernels/system/slots.hpp"

namespace gridstride::system {

namespace {

using equations::Kind;
using equations::Node;

template <class T>
T time_of(Step<T> const& step) {
  return step.clock == nullptr ? T(0) : static_cast<T>(step.clock->time(step.fraction));
}

/// Whether an axis wraps around.
template <class T>
bool wraps(Step<T> const& step, int axis) {
  return !step.inputs.empty() && axis < step.grid.dims && step.inputs.front().sides[axis][0].wraps;
}

template <class T>
T coordinate(Step<T> const& step, int axis, long long i) {
  auto const a = static_cast<std::size_t>(axis);
  long long const points = step.piece ? step.piece->whole[a] : step.grid.points[a];
  if (step.piece) i += step.piece->first[a];
  if (wraps(step, axis)) i = i < 0 ? i + points : i >= points ? i - points : i;
  return static_cast<T>(
      evaluate::add_product(step.grid.origin[a], static_cast<double>(i), step.grid.spacing[a]));
}

/// A random number of the point so far off (i, j, k).
template <class T>
T random(Step<T> const& step, Node const& node, long long i, long long j, long long k) {
  bool const around[3] = {wraps(step, 0), wraps(step, 1), wraps(step, 2)};
  long long at[3] = {i + node.orders[0], j + node.orders[1], k + node.orders[2]}, whole[3];
  for (std::size_t a = 0; a < 3; ++a) {
    whole[a] = step.piece ? step.piece->whole[a] : step.grid.points[a];
    if (step.piece) at[a] += step.piece->first[a];
  }
  long long const place = random_place(around, whole, at);
  return node.kind == Kind::uniform  ? uniform_at<T>(node.index, place)
         : node.kind == Kind::normal ? normal_at<T>(node.index, place)
                                     : noise_at<T>(node.index, place, *step.clock);
}

/// Whether the point i of its axis lies on a side.
template <class T>
T on_side(Step<T> const& step, Node const& node, long long i) {
  auto const a = static_cast<std::size_t>(node.index / 2);
  long long const points = step.piece ? step.piece->whole[a] : step.grid.points[a];
  if (step.piece) i += step.piece->first[a];
  return T(i == inside(node.index % 2, points, 0));
}

/// What is the same at all points.
template <class T>
T lasting_value(Step<T> const& step, Node const& node) {
  return node.kind == Kind::time    ? time_of(step)
         : node.kind == Kind::found ? static_cast<T>(step.found[node.index])
                                    : static_cast<T>(node.value);
}

/// What becomes of `L` in component `r` at a place of its arrays.
template <class T>
T finished(Step<T> const& step, std::size_t r, T L, long long place) {
  if (!step.is_stage) return L;
  Output<T> const& output = step.outputs[r];
  T const base = output.base[place];
  T change = static_cast<T>(step.factor) * L;
  if (step.in_weight != 0)
    change = change + static_cast<T>(step.in_weight) * (step.inputs[r].values[place] - base);
  for (std::size_t i = 0; i < step.addend_weights.size(); ++i)
    change = change + static_cast<T>(step.addend_weights[i]) * (output.addends[i][place] - base);
  return base + change;
}

/// Gives a point of component `r` what a side holds there.
template <class T>
void hold(Step<T> const& step, Extents const& extents, std::size_t r, long long i, long long j,
          long long k) {
  auto const& [nx, ny, nz] = extents.points;
  Sides<T> const& sides = step.inputs[r].sides;
  Held const held = held_by<T>(sides, step.grid.dims, extents.points, i, j, k);
  if (held.axis < 3)
    step.outputs[r].values[i + nx * (j + ny * k)] =
        held_value<T>(sides, extents.points, held, i, j, k);
}

}  // namespace

template <class T>
void host_reference(Stream&, Step<T> const& step) {
  Extents const extents(step.grid);
  auto const [nx, ny, nz] = extents.points;
  auto const& code = step.program->code;
  std::vector<T> values(code.size());
  auto const operand = [&](Node const& node, std::size_t i) {
    return node.operands[i] < 0 ? T(0) : values[static_cast<std::size_t>(node.operands[i])];
  };
  for (long long k = 0; k < nz; ++k)
    for (long long j = 0; j < ny; ++j)
      for (long long i = 0; i < nx; ++i) {
        long long const at[3] = {i, j, k};
        for (std::size_t n = 0; n < code.size(); ++n) {
          Node const& node = code[n];
          auto const& offset = node.orders;
          auto const axis = static_cast<std::size_t>(node.index);
          if (is_lasting(node))
            values[n] = lasting_value(step, node);
          else if (is_random(node.kind))
            values[n] = random(step, node, i, j, k);
          else if (node.kind == Kind::coordinate)
            values[n] = coordinate(step, node.index, at[axis] + offset[axis]);
          else if (node.kind == Kind::on_side)
            values[n] = on_side(step, node, at[axis / 2] + offset[axis / 2]);
          else if (node.kind == Kind::unknown)
            values[n] = value_at<3>(step.inputs[axis], extents.points, i + offset[0], j + offset[1],
                                    k + offset[2]);
          else
            values[n] =
                apply_in(node.operation, operand(node, 0), operand(node, 1), operand(node, 2));
        }
        for (std::size_t r = 0; r < step.outputs.size(); ++r) {
          long long const place = i + nx * (j + ny * k);
          T const L = values[static_cast<std::size_t>(step.program->results[r])];
          step.outputs[r].values[place] = finished(step, r, L, place);
          if (step.is_stage) hold(step, extents, r, i, j, k);
        }
      }
}

namespace {

/// What becomes of a piece of results, as `finished` has it.
template <bool mixes_in, int addends, class T>
GRIDSTRIDE_VECTOR_WIDTHS void finish_piece(Step<T> const& step, std::size_t r, T const* L,
                                           long long place, long long points) {
  Output<T> const& output = step.outputs[r];
  T* const out = output.values + place;
  T const* const base = output.base + place;
  T const* const in = step.inputs[r].values + place;
  T const factor = static_cast<T>(step.factor), in_weight = static_cast<T>(step.in_weight);
  T const* addend[2] = {base, base};
  T weight[2] = {};
  for (std::size_t n = 0; n < addends; ++n) {
    addend[n] = output.addends[n] + place;
    weight[n] = static_cast<T>(step.addend_weights[n]);
  }
#pragma omp simd
  for (long long i = 0; i < points; ++i) {
    T change = factor * L[i];
    if constexpr (mixes_in) change = change + in_weight * (in[i] - base[i]);
    if constexpr (addends > 0) change = change + weight[0] * (addend[0][i] - base[i]);
    if constexpr (addends > 1) change = change + weight[1] * (addend[1][i] - base[i]);
    out[i] = base[i] + change;
  }
}

template <class T>
void finish_piece(Step<T> const& step, std::size_t r, T const* L, long long place,
                  long long points) {
  static_assert(max_addends == 2);
  if (!step.is_stage) {
    std::copy_n(L, points, step.outputs[r].values + place);
    return;
  }
  bool const mixes_in = step.in_weight != 0;
  switch (step.addend_weights.size()) {
    case 0:
      return mixes_in ? finish_piece<true, 0>(step, r, L, place, points)
                      : finish_piece<false, 0>(step, r, L, place, points);
    case 1:
      return mixes_in ? finish_piece<true, 1>(step, r, L, place, points)
                      : finish_piece<false, 1>(step, r, L, place, points);
    default:
      return mixes_in ? finish_piece<true, 2>(step, r, L, place, points)
                      : finish_piece<false, 2>(step, r, L, place, points);
  }
}

/// Runs the program over pieces of rows; each thread has its own.
template <class T>
class PieceRunner {
 public:
  static constexpr long long most_points = 2048 / sizeof(T);  // of a piece

  PieceRunner(Step<T> const& step, PieceProgram const& program)
      : step_(step),
        program_(program),
        extents_(step.grid),
        values_(static_cast<std::size_t>(program.places * stride)),
        lies_at_(program.code.size()) {
    for (std::size_t n = 0; n < program.code.size(); ++n) {
      PieceInstruction const& in = program.code[n];
      T* const target = values_.data() + in.target * stride;
      lies_at_[n] = target;
      if (is_lasting(in.node))
        std::fill_n(target, most_points, lasting_value(step, in.node));
      else
        work_.push_back({in.loop < 0 ? nullptr : piece_loop<T>(in.loop), operand(in, 0),
                         operand(in, 1), operand(in, 2), target, n, in.varies});
    }
  }

  /// `points` points from (i, j, k) on along x.
  void run(long long i, long long j, long long k, long long points) {
    bool const is_beside = i == first_ && points == points_;
    first_ = i;
    points_ = points;
    for (Work const& work : work_) {
      if (is_beside && work.varies <= Varies::along_rows) continue;
      long long const own =
          work.varies == Varies::everywhere || work.varies == Varies::along_rows ? points : 1;
      if (work.loop != nullptr)
        work.loop(*work.a, *work.b, *work.c, work.target, own);
      else
        lies_at_[work.number] = begin(program_.code[work.number].node, i, j, k, own, work.target);
      if (own < points) std::fill_n(work.target + own, points - own, *work.target);
    }
    finish(i, j, k, points);
  }

 private:
  /// From a value's place to the next one: no part of a page, so that caches tell them apart.
  static constexpr long long stride = most_points + 64 / static_cast<long long>(sizeof(T));

  /// An instruction, and where its operands lie.
  struct Work {
    PieceLoop<T> loop;  // null of what is no operation
    T const *const *a, *const *b, *const *c;
    T* target;
    std::size_t number;
    Varies varies;
  };

  T const* const* operand(PieceInstruction const& in, std::size_t i) const {
    return &lies_at_[static_cast<std::size_t>(in.operands[i])];
  }

  /// Where the values of a node that is no operation lie: at `target`, or in an array.
  T const* begin(Node const& node, long long i, long long j, long long k, long long points,
                 T* target) const {
    if (node.kind == Kind::unknown) return load(node, i, j, k, points, target);
    if (node.kind == Kind::coordinate)
      along_axis(node.index, node, i, j, k, points, target,
                 [&](long long at) { return coordinate(step_, node.index, at); });
    else if (node.kind == Kind::on_side)
      along_axis(node.index / 2, node, i, j, k, points, target,
                 [&](long long at) { return on_side(step_, node, at); });
    else
      for (long long m = 0; m < points; ++m) target[m] = random(step_, node, i + m, j, k);
    return target;
  }

  /// Where the values lie, which are gathered at `target` if some lie beyond a side.
  T const* load(Node const& node, long long i, long long j, long long k, long long points,
                T* target) const {
    auto const& input = step_.inputs[static_cast<std::size_t>(node.index)];
    auto const [nx, ny, nz] = extents_.points;
    long long const x = i + node.orders[0], y = j + node.orders[1], z = k + node.orders[2];
    auto const wrapped = [&](int axis, long long at) {
      Side<T> const& side = input.sides[axis][0];
      long long const n = extents_.points[axis];
      if (!side.wraps || side.sign != 1) return at;
      return at < 0 ? at + n : at >= n ? at - n : at;
    };
    long long const row = wrapped(1, y), plane = wrapped(2, z);
    bool const is_row = row >= 0 && row < ny && plane >= 0 && plane < nz;
    T const* const values = input.values + nx * (row + ny * plane);
    if (is_row && x >= 0 && x + points <= nx) return values + x;
    // Those of a row that lie inside, and around them what sides make.
    long long const first = is_row ? std::clamp(-x, 0LL, points) : points;
    long long const last = is_row ? std::clamp(nx - x, first, points) : points;
    for (long long n = 0; n < first; ++n)
      target[n] = value_at<3>(input, extents_.points, x + n, y, z);
    std::copy(values + x + first, values + x + last, target + first);
    for (long long n = last; n < points; ++n)
      target[n] = value_at<3>(input, extents_.points, x + n, y, z);
    return target;
  }

  /// What depends on a point's place along an axis alone.
  template <class Value>
  void along_axis(int axis, Node const& node, long long i, long long j, long long k,
                  long long points, T* target, Value const& value) const {
    int const offset = node.orders[static_cast<std::size_t>(axis)];
    if (axis == 0)
      for (long long n = 0; n < points; ++n) target[n] = value(i + n + offset);
    else
      std::fill_n(target, points, value((axis == 1 ? j : k) + offset));
  }

  void finish(long long i, long long j, long long k, long long points) {
    auto const [nx, ny, nz] = extents_.points;
    int const dims = step_.grid.dims;
    bool const on_side =
        (dims > 1 && (j == 0 || j == ny - 1)) || (dims > 2 && (k == 0 || k == nz - 1));
    for (std::size_t r = 0; r < step_.outputs.size(); ++r) {
      finish_piece(step_, r, lies_at_[static_cast<std::size_t>(program_.results[r])],
                   i + nx * (j + ny * k), points);
      if (!step_.is_stage) continue;
      for (long long n = 0; n < (on_side ? points : 0); ++n) hold(step_, extents_, r, i + n, j, k);
      if (i == 0) hold(step_, extents_, r, 0, j, k);
      if (i + points == nx) hold(step_, extents_, r, nx - 1, j, k);
    }
  }

  Step<T> const& step_;
  PieceProgram const& program_;
  Extents extents_;
  std::vector<T> values_;
  std::vector<T const*> lies_at_;      // of each instruction, what comes of it
  std::vector<Work> work_;             // of all but numbers
  long long first_ = -1, points_ = 0;  // of the last piece
};

}  // namespace

template <class T>
void host_threads(Stream&, Step<T> const& step) {
  Extents const extents(step.grid);
  auto const [nx, ny, nz] = extents.points;
  PieceProgram const& program = *step.prepared->pieces;
  constexpr long long most_points = PieceRunner<T>::most_points;
  long long const rows = ny * nz, per_row = (nx + most_points - 1) / most_points;
  long long const all = per_row * rows;
  long long const together = std::clamp(all / (8LL * gridstride::host_threads()), 1LL, 64LL);
  long long const length = static_cast<long long>(step.program->code.size());
  parallel_for((all + together - 1) / together, together * (nx / per_row + 1) * length,
               [&, nx = nx, ny = ny](std::int64_t item) {
                 PieceRunner<T> runner(step, program);
                 long long const end = std::min(all, (item + 1) * together);
                 for (long long p = item * together; p < end; ++p) {
                   long long const row = p % rows, first = p / rows * most_points;
                   runner.run(first, row % ny, row / ny, std::min(most_points, nx - first));
                 }
               });
}

#define GRIDSTRIDE_INSTANTIATE(T)                        \
  template void host_reference(Stream&, Step<T> const&); \
  template void host_threads(Stream&, Step<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::system
