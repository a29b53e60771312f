// Stages of systems on the host.
//
// `reference` runs the program at every point in turn: the oracle.
// `threads` shares pieces of rows (lines along x) among the threads. Each instruction runs over a
// piece before the next one, in loops that the compiler vectorises; what is loaded inside the grid
// is read where it lies. Points so near to the ends of a row that something beyond them is loaded
// are pieces of their own. A value's place is taken again when nobody needs it any more, so that
// what a piece works on stays in the cache.

#include <algorithm>
#include <utility>

#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"
#include "kernels/system/random.cuh"
#include "kernels/system/rows.hpp"
#include "kernels/system/slots.hpp"

namespace gridstride::system {

namespace {

using equations::Kind;
using equations::Node;
using expression::Operation;

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

constexpr long long most_points = 256;  // of a piece

/// result[i] = a[i] operation b[i], c[i].
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void apply_to_piece(Operation operation, T const* a, T const* b,
                                             T const* c, T* result, long long points) {
  switch (operation) {
#define GRIDSTRIDE_LOOP(name)                                              \
  case Operation::name: {                                                  \
    _Pragma("omp simd") for (long long i = 0; i < points; ++i) result[i] = \
        apply_in(Operation::name, a[i], b[i], c[i]);                       \
    return;                                                                \
  }
    GRIDSTRIDE_LOOP(negate)
    GRIDSTRIDE_LOOP(add)
    GRIDSTRIDE_LOOP(subtract)
    GRIDSTRIDE_LOOP(multiply)
    GRIDSTRIDE_LOOP(divide)
    GRIDSTRIDE_LOOP(less)
    GRIDSTRIDE_LOOP(less_equal)
    GRIDSTRIDE_LOOP(greater)
    GRIDSTRIDE_LOOP(greater_equal)
    GRIDSTRIDE_LOOP(equal)
    GRIDSTRIDE_LOOP(not_equal)
    GRIDSTRIDE_LOOP(select)
    GRIDSTRIDE_LOOP(sqrt)
    GRIDSTRIDE_LOOP(abs)
    GRIDSTRIDE_LOOP(min)
    GRIDSTRIDE_LOOP(max)
#undef GRIDSTRIDE_LOOP
    default:
      for (long long i = 0; i < points; ++i) result[i] = apply_in(operation, a[i], b[i], c[i]);
  }
}

/// What becomes of a piece of results, as `finished` at each point.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void finish_piece(Step<T> const& step, std::size_t r, T const* L,
                                           long long place, long long points, T* change) {
  Output<T> const& output = step.outputs[r];
  T* const out = output.values + place;
  if (!step.is_stage) {
    std::copy_n(L, points, out);
    return;
  }
  T const* const base = output.base + place;
  T const* const in = step.inputs[r].values + place;
  T const factor = static_cast<T>(step.factor), in_weight = static_cast<T>(step.in_weight);
#pragma omp simd
  for (long long i = 0; i < points; ++i) change[i] = factor * L[i];
  if (step.in_weight != 0)
#pragma omp simd
    for (long long i = 0; i < points; ++i) change[i] = change[i] + in_weight * (in[i] - base[i]);
  for (std::size_t n = 0; n < step.addend_weights.size(); ++n) {
    T const* const addend = output.addends[n] + place;
    T const weight = static_cast<T>(step.addend_weights[n]);
#pragma omp simd
    for (long long i = 0; i < points; ++i) change[i] = change[i] + weight * (addend[i] - base[i]);
  }
#pragma omp simd
  for (long long i = 0; i < points; ++i) out[i] = base[i] + change[i];
}

Slots slots_of(StencilProgram const& program) {
  std::vector<SlotValue> values;
  for (Node const& node : program.code) values.push_back({node.operands, is_lasting(node)});
  return {values, program.results};
}

/// Runs the program over pieces of rows; each thread has its own.
template <class T>
class PieceRunner {
 public:
  PieceRunner(Step<T> const& step, Slots const& slots)
      : step_(step),
        slots_(slots),
        extents_(step.grid),
        values_(static_cast<std::size_t>((slots.count + 1) * most_points)),
        place_of_(step.program->code.size()) {
    for (std::size_t n = 0; n < place_of_.size(); ++n) {
      Node const& node = step.program->code[n];
      place_of_[n] = slot(slots_.of_value[n]);
      if (is_lasting(node))
        std::fill_n(slot(slots_.of_value[n]), most_points, lasting_value(step, node));
    }
  }

  /// `points` points from (i, j, k) on along x.
  void run(long long i, long long j, long long k, long long points) {
    auto const& code = step_.program->code;
    for (std::size_t n = 0; n < code.size(); ++n) {
      Node const& node = code[n];
      T* const target = slot(slots_.of_value[n]);
      if (node.kind == Kind::operation) {
        T const* const a = operand(node, 0);
        T const* const b = node.operands[1] < 0 ? a : operand(node, 1);
        T const* const c = node.operands[2] < 0 ? a : operand(node, 2);
        apply_to_piece(node.operation, a, b, c, target, points);
      } else if (node.kind == Kind::unknown) {
        place_of_[n] = load(node, i, j, k, points, target);
      } else if (node.kind == Kind::coordinate) {
        along_axis(node.index, node, i, j, k, points, target,
                   [&](long long at) { return coordinate(step_, node.index, at); });
      } else if (node.kind == Kind::on_side) {
        along_axis(node.index / 2, node, i, j, k, points, target,
                   [&](long long at) { return on_side(step_, node, at); });
      } else if (is_random(node.kind)) {
        for (long long m = 0; m < points; ++m) target[m] = random(step_, node, i + m, j, k);
      }
    }
    finish(i, j, k, points);
  }

 private:
  T* slot(int number) { return values_.data() + number * most_points; }
  T const* operand(Node const& node, std::size_t i) const {
    return place_of_[static_cast<std::size_t>(node.operands[i])];
  }

  /// Where the values lie, which are gathered at `target` if they lie beyond a side.
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
    if (x >= 0 && x + points <= nx && row >= 0 && row < ny && plane >= 0 && plane < nz)
      return input.values + x + nx * (row + ny * plane);
    for (long long n = 0; n < points; ++n)
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
    bool const ends = i == 0 || i + points == nx;
    bool const on_side = j == 0 || j == ny - 1 || k == 0 || k == nz - 1;
    for (std::size_t r = 0; r < step_.outputs.size(); ++r) {
      finish_piece(step_, r, place_of_[static_cast<std::size_t>(step_.program->results[r])],
                   i + nx * (j + ny * k), points, slot(slots_.count));
      if (!step_.is_stage || !(ends || on_side)) continue;
      for (long long n = 0; n < points; ++n)
        if (on_side || i + n == 0 || i + n == nx - 1) hold(step_, extents_, r, i + n, j, k);
    }
  }

  Step<T> const& step_;
  Slots const& slots_;
  Extents extents_;
  std::vector<T> values_;
  std::vector<T const*> place_of_;  // of each value
};

/// The pieces of a row: where each begins, and how many points it has.
std::vector<std::pair<long long, long long>> pieces_of(long long nx, long long reach) {
  std::vector<std::pair<long long, long long>> pieces;
  auto const add = [&](long long first, long long last) {
    for (; first < last; first += most_points)
      pieces.emplace_back(first, std::min(most_points, last - first));
  };
  long long const near = 2 * reach < nx ? reach : nx;
  add(0, near);
  add(near, std::max(near, nx - reach));
  add(std::max(near, nx - reach), nx);
  return pieces;
}

}  // namespace

template <class T>
void host_threads(Stream&, Step<T> const& step) {
  Extents const extents(step.grid);
  auto const [nx, ny, nz] = extents.points;
  Slots const slots = slots_of(*step.program);
  auto const pieces = pieces_of(nx, step.program->reach[0]);
  long long const per_row = std::ssize(pieces), all = per_row * ny * nz;
  long long const together = std::clamp(all / (8LL * gridstride::host_threads()), 1LL, 64LL);
  long long const length = static_cast<long long>(step.program->code.size());
  parallel_for((all + together - 1) / together, together * (nx / per_row + 1) * length,
               [&, ny = ny](std::int64_t item) {
                 PieceRunner<T> runner(step, slots);
                 long long const end = std::min(all, (item + 1) * together);
                 for (long long p = item * together; p < end; ++p) {
                   auto const [first, points] = pieces[static_cast<std::size_t>(p % per_row)];
                   long long const row = p / per_row;
                   runner.run(first, row % ny, row / ny, points);
                 }
               });
}

#define GRIDSTRIDE_INSTANTIATE(T)                        \
  template void host_reference(Stream&, Step<T> const&); \
  template void host_threads(Stream&, Step<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::system
