#include "kernels/multigrid/hierarchy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "kernels/multigrid/rows.hpp"
#include "kernels/multigrid/shared_equations.hpp"

namespace gridstride::multigrid {

namespace {

/// Numbers of many tables in one array, which goes to the device as a whole: tables are known by
/// where they begin until it is there.
template <class Value>
class Tables {
 public:
  template <class From>
  void add(Value const*& place, std::vector<From> const& values) {
    places_.emplace_back(&place, numbers_.size());
    for (From const& value : values) numbers_.push_back(static_cast<Value>(value));
  }
  Buffer<Value> to_device(Stream& stream) const {
    Buffer<Value> buffer(stream, MemorySpace::device, numbers_.size());
    copy_async(buffer.span(), std::span<Value const>(numbers_), stream);
    stream.synchronize();
    for (auto const& [place, first] : places_) *place = std::as_const(buffer).data() + first;
    return buffer;
  }

 private:
  std::vector<Value> numbers_;
  std::vector<std::pair<Value const**, std::size_t>> places_;
};

std::vector<double> flat(std::vector<std::array<double, 3>> const& triples) {
  std::vector<double> numbers;
  for (auto const& triple : triples) numbers.insert(numbers.end(), triple.begin(), triple.end());
  return numbers;
}

/// Whether of so many unknowns every second one is kept, from the second one on, and none at the end.
bool keeps_every_second(std::vector<int> const& kept, int unknowns) {
  for (std::size_t k = 0; k < kept.size(); ++k)
    if (kept[k] != 2 * static_cast<int>(k) + 1) return false;
  return 2 * static_cast<int>(kept.size()) + 1 == unknowns;
}

}  // namespace

int places_of_half(int points, std::int64_t of_level) {
  int const half = (points + 1) / 2;
  return of_level < 300 ? half : (half + 3) / 4 * 4;
}

template <class S>
template <class T>
Hierarchy<S>::Hierarchy(Stream& stream, poisson::Equation<T> const& equation, Levels const& plan,
                        double scale, bool singular, int along, Shares const* shares, int rank) {
  bool const stored = equation.diffusivities != nullptr || equation.reactions != nullptr;
  lay_out(plan, equation.grid.dims == 3, shares, rank);
  fill_tables(stream, plan, equation.diffusivity * scale, equation.reaction * scale, shares, rank);
  // u and f of each level, and r where it is kept.
  std::int64_t size = 0;
  auto const size_of = [](Level<S> const& level) { return (2 * level.colour + 3) / 4 * 4; };
  for (auto const& level : levels_) size += 3 * size_of(level);
  values_ = {stream, MemorySpace::device, static_cast<std::size_t>(size)};
  zero_async(values_.span(), stream);
  S* next = values_.data();
  for (auto& level : levels_)
    for (S** const values : {&level.u, &level.f, &level.r}) {
      *values = next;
      next += size_of(level);
    }
  if (stored)
    store(stream, equation, plan, scale, shares);
  else
    find_modes(stream, plan, equation.diffusivity * scale, along);
  if (modes_.level < 0) invert(stream, plan, singular);
}

template <class S>
void Hierarchy<S>::lay_out(Levels const& plan, bool of_volume, Shares const* shares, int rank) {
  for (auto const& axes : plan.axes) {
    Level<S> level{};
    level.of_volume = of_volume;
    for (std::size_t i = 0; i < 3; ++i) {
      level.count[i] = axes[i].unknowns();
      level.periodic[i] = axes[i].periodic;
      level.seam[i] = axes[i].periodic && level.count[i] > 1 && level.count[i] % 2 == 1;
      for (std::size_t side = 0; side < 2; ++side) {
        level.is_free[i][side] = !axes[i].periodic && !axes[i].given[side];
        level.has_free = level.has_free || level.is_free[i][side];
      }
    }
    Axis const& row = axes[0];
    level.alike = (row.periodic || (row.given[0] && row.given[1])) && level.count[0] > 2 &&
                  std::ranges::all_of(row.intervals, [&](double one) {
                    return std::abs(one - row.intervals[0]) <= 1e-9 * row.intervals[0];
                  });
    auto const l = levels_.size();
    level.number = static_cast<int>(l);
    level.over = 1;
    for (std::size_t i = 0; i < 3 && l < plan.changes.size(); ++i)
      level.smooths += plan.changes[l][i];
    level.doubles = level.alike && !row.periodic && level.count[0] % 2 == 1 &&
                    l < plan.changes.size() && plan.changes[l][0];
    level.doubles_across = level.count[2] > 1 && l < plan.changes.size() && plan.changes[l][1] &&
                           keeps_every_second(plan.transfers[l][1].kept, level.count[1]);
    level.half = places_of_half(level.count[0], level.size());
    level.by_columns = has_columns(level);
    if (shares != nullptr && shares->is_cut(l)) {
      slowest_ = shares->axis;
      gathering_.emplace_back();
      auto const window = shares->window(l, rank);
      auto& is_free = level.is_free[slowest_];
      is_free[0] = is_free[0] && window.first == 0;
      is_free[1] = is_free[1] && window.end == level.count[slowest_];
      level.count[slowest_] = window.count();
      level.periodic[slowest_] = false;
    }
    level.colour = std::int64_t{level.half} * level.count[1] * level.count[2];
    level.line = (level.count[0] + 7) / 8 * 8 + 8;
    levels_.push_back(level);
  }
}

template <class S>
std::vector<Level<S>> Hierarchy<S>::down() const {
  std::vector<Level<S>> levels;
  for (std::size_t l = 0; l < gathering_.size(); ++l) {
    levels.push_back(levels_[l]);
    levels.back().transfer[slowest_] = gathering_[l];
  }
  return levels;
}

template <class S>
void Hierarchy<S>::fill_tables(Stream& stream, Levels const& plan, double diffusivity,
                               double reaction, Shares const* shares, int rank) {
  Tables<S> coefficients;
  Tables<int> numbers;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    auto& level = levels_[l];
    level.reaction = static_cast<S>(reaction);
    for (std::size_t i = 0; i < 3; ++i) {
      Axis const& axis = plan.axes[l][i];
      int const last = axis.unknowns() - 1, number = static_cast<int>(i);
      std::vector<int> unknowns(static_cast<std::size_t>(last) + 1);
      std::iota(unknowns.begin(), unknowns.end(), 0);
      if (shares != nullptr) unknowns = shares->held(l, number, last + 1, rank);
      std::vector<double> lower, upper, sum;
      for (int const unknown : unknowns) {
        auto const both = axis.couplings(unknown);
        bool const wraps = axis.periodic;
        lower.push_back(unknown > 0 || wraps ? diffusivity * both[0] : 0);
        upper.push_back(unknown < last || wraps ? diffusivity * both[1] : 0);
        sum.push_back(diffusivity * (both[0] + both[1]));
      }
      coefficients.add(level.lower[i], lower);
      coefficients.add(level.upper[i], upper);
      coefficients.add(level.sum[i], sum);
      if (l + 1 == levels_.size()) continue;
      auto const add = [&](TransferView<S>& view, Transfer const& transfer) {
        numbers.add(view.left, transfer.left);
        numbers.add(view.right, transfer.right);
        numbers.add(view.kept, transfer.kept);
        coefficients.add(view.to_left, transfer.to_left);
        coefficients.add(view.to_right, transfer.to_right);
        coefficients.add(view.gather, flat(transfer.gather));
      };
      Transfer const& whole = plan.transfers[l][i];
      if (l >= gathering_.size() || number != slowest_) {
        add(level.transfer[i], whole);
        continue;
      }
      add(level.transfer[i], windowed(whole, *shares, l, rank));
      add(gathering_[l], gathering(whole, *shares, l, rank));
    }
  }
  numbers_ = numbers.to_device(stream);
  tables_ = coefficients.to_device(stream);
}

template <class S>
void Hierarchy<S>::find_modes(Stream& stream, Levels const& plan, double diffusivity, int along) {
  auto const solved = static_cast<std::size_t>(level_solved(plan, along));
  if (solved == plan.axes.size()) return;
  modes_.level = static_cast<int>(solved);
  Tables<S> tables;
  std::array<std::vector<double>, 3> eigenvalues;
  for (std::size_t i = 0; i < 3; ++i) {
    auto const modes = modes_of(plan.axes[solved][i], diffusivity);
    tables.add(modes_.forward[i], modes.forward);
    tables.add(modes_.backward[i], modes.backward);
    eigenvalues[i] = modes.eigenvalues;
  }
  // Behind them, for rows of matrices begin at multiples of 16 bytes.
  for (std::size_t i = 0; i < 3; ++i) tables.add(modes_.eigenvalues[i], eigenvalues[i]);
  of_modes_ = tables.to_device(stream);
}

/// Zeros, which stay where no step writes.
template <class Number>
Number* zeros(Stream& stream, std::vector<Buffer<Number>>& arrays, std::int64_t size) {
  arrays.emplace_back(stream, MemorySpace::device, static_cast<std::size_t>(size));
  zero_async(arrays.back().span(), stream);
  return arrays.back().data();
}

template <class S>
void Hierarchy<S>::keep(Stream& stream, Stored<S> const& from, int dims, bool reacts,
                        Level<S>& level) {
  KeepEquations<S> step{from, level, {}, {}};
  std::int64_t const rows = std::int64_t{level.count[1]} * level.count[2];
  if (reacts) level.mass = step.mass = zeros(stream, stored_, rows * level.line);
  for (int axis = 0; axis < dims && level.field == nullptr; ++axis) {
    std::int64_t const more = axis == 0 ? 0 : rows / level.count[axis];
    level.face[axis] = step.face[axis] = zeros(stream, stored_, (rows + more) * level.line);
  }
  each(stream, step);
  if (stream.backend() != Backend::cuda || !can_march_stored(level)) return;
  S* const reciprocal = zeros(stream, reciprocals_, level.colour);
  each(stream, KeepReciprocals<S>{level, reciprocal});
  level.reciprocal = reciprocal;
}

template <class S>
template <class T>
void Hierarchy<S>::keep_field(Stream& stream, poisson::Equation<T> const& equation, double scale,
                              SharedEquations<S>* shared) {
  auto const a = poisson::operator_of(equation);
  auto& level = levels_[0];
  Coefficient* const field = zeros(stream, stored_, level.field_size());
  level.field = field;
  for (int axis = 0; axis < 3; ++axis) {
    level.face[axis] = field;
    level.of_axis[axis] = static_cast<S>(a.weight[axis] / a.weight[0]);
  }
  Level<S> const own = shared != nullptr ? shared->own(level) : level;
  each(stream, KeepField<T, S>{a, own, field + (own.field - field), a.weight[0] * scale});
  if (shared != nullptr) shared->complete_field(stream, level, field);
}

template <class S>
void Hierarchy<S>::keep_exactly(OwnStored<S> found, Level<S>& level) {
  for (int axis = 0; axis < 3; ++axis) level.exact_face[axis] = found.view.face[axis];
  level.exact_mass = found.view.mass;
  exact_ = std::move(found.arrays);
}

/// Whether the finest level has a in the place of faces: where a is an array, and each face lies between
/// two of its values, in volumes that are larger than what one block has. a is in units of faces along
/// the first axis, which are not to be much less than others.
template <class T>
bool goes_by_field(poisson::Equation<T> const& equation, Levels const& plan) {
  if (equation.grid.dims != 3 || equation.diffusivities == nullptr || plan.changes.empty())
    return false;
  constexpr double most = 1000;
  std::int64_t points = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    points *= plan.axes[0][i].unknowns();
    if (equation.grid.spacing[0] > most * equation.grid.spacing[i]) return false;
    if (plan.axes[0][i].unknowns() < 2) return false;  // nothing is inside of a side
  }
  return points > most_small_stored;
}

/// The finest level's faces and masses, and from each level to the next one axis after the other. Of
/// several ranks each makes those of its own planes.
template <class S>
template <class T>
void Hierarchy<S>::store(Stream& stream, poisson::Equation<T> const& equation, Levels const& plan,
                         double scale, Shares const* shares) {
  int const dims = equation.grid.dims;
  bool const reacts = equation.reactions != nullptr || equation.reaction != 0;
  std::optional<SharedEquations<S>> shared;
  if (shares != nullptr) shared.emplace(stream, *equation.ranks, *shares, levels());
  Stored<S> finest{};
  for (std::size_t i = 0; i < 3; ++i) {
    finest.count[i] = levels_[0].count[i];
    finest.periodic[i] = levels_[0].periodic[i];
  }
  OwnStored<S> now(stream, finest, dims);
  each(stream, StoreEquations<T, S>{poisson::operator_of(equation),
                                    shared ? shared->own(0, now.view) : now.view, scale});
  if (shared) shared->complete(stream, 0, now.view);
  if (goes_by_field(equation, plan) && levels_[0].by_columns)
    keep_field(stream, equation, scale, shared ? &*shared : nullptr);
  for (std::size_t l = 0;; ++l) {
    auto& level = levels_[l];
    keep(stream, now.view, dims, reacts, level);
    if (levels_.size() == 1) keep_exactly(std::move(now), level);
    if (l + 1 == levels_.size()) break;
    for (int axis = 0; axis < dims; ++axis) {
      bool const changes = plan.changes[l][static_cast<std::size_t>(axis)];
      bool const is_cut = l < gathering_.size() && axis == slowest_;
      if (!changes && !is_cut) continue;
      StoreWeights<S> weights{now.view, axis, nullptr, nullptr};
      Buffer<float> left, right;
      if (changes) {
        auto const [x, y, z] = now.view.extent();
        std::int64_t const points = std::int64_t{x} * y * z;
        left = {stream, MemorySpace::device, static_cast<std::size_t>(points)};
        right = {stream, MemorySpace::device, static_cast<std::size_t>(points)};
        weights.left = left.data();
        weights.right = right.data();
        each(stream, weights);
        if (l < gathering_.size()) shared->complete(stream, l, weights);
        Weight* const kept = zeros(stream, weights_, points);
        each(stream, KeepWeights{{x, y, z}, weights.left, weights.right, kept});
        level.weight[axis] = kept;
      }
      Stored<S> like = now.view;
      like.count[axis] = levels_[l + 1].count[axis];
      like.periodic[axis] = levels_[l + 1].periodic[axis];
      OwnStored<S> next(stream, like, dims);
      each(stream, Eliminate<S>{now.view, is_cut ? shared->own(l + 1, next.view) : next.view,
                                is_cut ? gathering_[l] : level.transfer[axis], axis, weights.left,
                                weights.right});
      if (is_cut) shared->complete(stream, l + 1, next.view);
      now = std::move(next);
    }
  }
  if (shared) stream.synchronize();
}

namespace {

/// By elimination with pivots from all rows that are left, downwards and then upwards. Rows have neighbours
/// alone, so that most factors are 0 on both ways.
std::vector<double> inverse_of(std::vector<double> matrix, std::size_t n) {
  std::vector<double> inverse(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(matrix[i * n + k]) > std::abs(matrix[pivot * n + k])) pivot = i;
    for (std::size_t j = 0; j < n; ++j) {
      std::swap(matrix[k * n + j], matrix[pivot * n + j]);
      std::swap(inverse[k * n + j], inverse[pivot * n + j]);
    }
    double const reciprocal = 1 / matrix[k * n + k];
    for (std::size_t j = 0; j < n; ++j) {
      matrix[k * n + j] *= reciprocal;
      inverse[k * n + j] *= reciprocal;
    }
    for (std::size_t i = k + 1; i < n; ++i) {
      double const factor = matrix[i * n + k];
      if (factor == 0) continue;
      for (std::size_t j = k; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
      for (std::size_t j = 0; j < n; ++j) inverse[i * n + j] -= factor * inverse[k * n + j];
    }
  }
  for (std::size_t k = n; k-- > 0;)
    for (std::size_t i = 0; i < k; ++i) {
      double const factor = matrix[i * n + k];
      if (factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j) inverse[i * n + j] -= factor * inverse[k * n + j];
    }
  return inverse;
}

/// A copy on the host.
template <class S>
std::vector<S> fetched(Stream& stream, S const* values, std::int64_t size) {
  std::vector<S> copy(static_cast<std::size_t>(size));
  if (values == nullptr) return {};
  copy_async(std::span<S>(copy), std::span<S const>(values, copy.size()), stream);
  return copy;
}

}  // namespace

/// Where A·1 = 0 = wᵀ·A, what is inverted is A + α·1·wᵀ, and what a right-hand side has beside
/// solvable ones is taken off it first, by 1 − 1·wᵀ: solutions have the mean 0.
template <class S>
void Hierarchy<S>::invert(Stream& stream, Levels const& plan, bool singular) {
  Level<S> level = levels_.back();
  auto const size = level.size();
  auto const n = static_cast<std::size_t>(size);
  if (size > plan.most_inverted) return;  // of the textbook's methods
  std::vector<S> tables[3][3];
  std::vector<Coefficient> faces[3];
  std::int64_t const rows = std::int64_t{level.count[1]} * level.count[2];
  for (std::size_t i = 0; i < 3; ++i) {
    tables[i][0] = fetched(stream, level.lower[i], level.count[i]);
    tables[i][1] = fetched(stream, level.upper[i], level.count[i]);
    tables[i][2] = fetched(stream, level.sum[i], level.count[i]);
    faces[i] =
        fetched(stream, level.face[i], (rows + (i == 0 ? 0 : rows / level.count[i])) * level.line);
  }
  std::vector<Coefficient> const masses = fetched(stream, level.mass, rows * level.line);
  stream.synchronize();
  for (std::size_t i = 0; i < 3; ++i) {
    level.lower[i] = tables[i][0].data();
    level.upper[i] = tables[i][1].data();
    level.sum[i] = tables[i][2].data();
    level.face[i] = faces[i].empty() ? nullptr : faces[i].data();
  }
  level.mass = masses.empty() ? nullptr : masses.data();

  std::vector<double> matrix(n * n), weights(n, 1);
  std::vector<S> u(2 * static_cast<std::size_t>(level.colour), S{0});
  double largest = 0, total = 0;
  auto const for_points = [&](auto const& visit) {
    for (int k = 0; k < level.count[2]; ++k)
      for (int j = 0; j < level.count[1]; ++j)
        for (int i = 0; i < level.count[0]; ++i)
          visit(static_cast<std::size_t>(level.point(i, j, k)), {i, j, k});
  };
  using At = int const(&)[3];
  for_points([&](std::size_t column, At of) {
    auto const place = static_cast<std::size_t>(level.place(of[0], of[1], of[2]));
    u[place] = 1;
    auto const take_row = [&](At at) {
      auto const equation = row_of(level, at);
      auto const row = static_cast<std::size_t>(level.point(at[0], at[1], at[2]));
      matrix[row * n + column] = -double{neighbours(level, u.data(), equation, at)} +
                                 (row == column ? double{equation.diagonal} : 0.0);
    };
    take_row(of);
    for (int axis = 0; axis < 3; ++axis)
      for (int const step : {-1, 1}) {
        int const count = level.count[axis], next = of[axis] + step;
        int at[3] = {of[0], of[1], of[2]};
        at[axis] = level.periodic[axis] ? (next + count) % count : next;
        if (at[axis] >= 0 && at[axis] < count) take_row(at);
      }
    u[place] = 0;
    auto const& axes = plan.axes.back();
    for (std::size_t i = 0; i < 3 && !level.is_stored(); ++i)
      weights[column] *= axes[i].widths[static_cast<std::size_t>(of[i] + axes[i].first())];
    total += weights[column];
    largest = std::max(largest, matrix[column * n + column]);
  });
  if (largest == 0) largest = 1;
  if (singular)
    for (std::size_t i = 0; i < n * n; ++i) matrix[i] += largest * weights[i % n] / total;
  auto inverse = inverse_of(std::move(matrix), n);
  for (std::size_t row = 0; singular && row < n; ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += inverse[row * n + j];
    for (std::size_t j = 0; j < n; ++j) inverse[row * n + j] -= sum * weights[j] / total;
  }
  inverse_ = {stream, MemorySpace::device, inverse.size()};
  copy_async(inverse_.span(), std::span<double const>(inverse), stream);
  stream.synchronize();
}

#define GRIDSTRIDE_INSTANTIATE(T, S)                                                            \
  template Hierarchy<S>::Hierarchy(Stream&, poisson::Equation<T> const&, Levels const&, double, \
                                   bool, int, Shares const*, int);
GRIDSTRIDE_INSTANTIATE(float, float)
GRIDSTRIDE_INSTANTIATE(float, double)
GRIDSTRIDE_INSTANTIATE(double, float)
GRIDSTRIDE_INSTANTIATE(double, double)
template class Hierarchy<float>;
template class Hierarchy<double>;

}  // namespace gridstride::multigrid
