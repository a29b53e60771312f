// Lanczos with blocks and thick restarts. The basis V is orthonormal: first approximations of modes,
// then one block after the other of what products with A add to it,
//
//   W = A·Q − V·(Vᵀ·A·Q)      Q: the last block of V
//   the next block: W, made orthonormal to V and in itself (classical Gram and Schmidt, twice)
//
// The coefficients Vᵀ·A·Q fill T = VᵀAV, of which nothing is taken to be zero, so that the modes of T
// are the best approximations in V whatever roundings have done. When there is no more room, V begins
// anew with the best of them, and W goes on as its next block (Wu and Simon, SIAM J. Matrix Anal.
// Appl. 22 (2000); blocks as in Baglama, Calvetti and Reichel, ACM TOMS 29 (2003)). What is left of a
// mode, A·V·s − λ·V·s, is W times the part of s that belongs to the last block, which costs nothing to
// know; modes count as found by products anew.
//
// The space of a block of b random vectors has of an eigenvalue as many modes as it is there, but b at
// most. So where less than b equal ones are found, all are; where there are b, more may be missing:
// then all goes on with random vectors orthogonal to the modes so far, until the next eigenvalue of
// what is left is known not to be one of those asked for. What counts as equal is what a loose tolerance
// may not tell apart; a group of such values that reaches the last mode can still lack some ahead of it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "kernels/eigen/basis.hpp"
#include "kernels/eigen/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::eigen {

namespace {

/// Vectors of a block, of the basis, of the basis when it begins anew, and of all memory: W needs a
/// block, and products of the modes asked for need as many.
struct Shape {
  int width, room, kept, rows;

  static Shape of(int modes, std::int64_t unknowns) {
    auto const most = static_cast<int>(std::min<std::int64_t>(unknowns, most_combined));
    int const width = std::min(std::clamp(modes, 2, 4), most);
    int const room = std::min(2 * modes + 64, most);
    int const rows = std::max(room + width, 2 * modes);
    int const kept = std::max(modes, std::min(modes + (room - modes) / 3, rows - modes));
    return {width, room, kept, rows};
  }
};

class Lanczos {
 public:
  Lanczos(Stream& stream, Operator const& a, Options const& options, std::span<double> rows)
      : stream_(stream),
        a_(a),
        options_(options),
        shape_(Shape::of(options.modes, a.unknowns)),
        rows_(rows),
        t_(shape_.room, shape_.room) {
    zero_async(rows_, stream_);
  }

  Result solve();

 private:
  void step();
  void extend(int offered, std::vector<int> const& used);
  void expand();
  void restart();
  bool accept();
  bool may_miss_any() const;
  bool is_as_before() const;
  bool is_next_known() const;
  std::vector<int> left() const;
  std::vector<int> open() const;
  int found() const { return count_found(options_, a_.norm, block(values_), residuals_); }
  /// What the tolerance goes by: as many values as `lobpcg` would have in its block.
  std::span<double const> block(std::span<double const> values) const {
    auto const most = static_cast<std::size_t>(block_size(options_.modes, a_.unknowns));
    return values.first(std::min(values.size(), most));
  }
  double allowed(int mode) const {
    return largest_residual(options_, a_.norm, block(values_), mode);
  }
  Rows::Piece piece(int first, int count) const {
    return {rows_.data() + first * a_.space.size, count};
  }
  Rows span(int first, int count) const { return {{piece(first, count), {}, {}}}; }
  Rows basis() const { return span(0, count_); }
  /// W lies behind the basis.
  Rows image() const { return span(count_, block_); }
  /// The basis is of so many modes, with their values.
  void settle(int count);

  Stream stream_;
  Operator const& a_;
  Options const& options_;
  Shape shape_;
  std::span<double> rows_;
  Small t_;                ///< ⟨v_i, A·v_j⟩
  int count_ = 0;          ///< rows of V
  int block_ = 0;          ///< of which so many are its last block
  Small rest_;             ///< ⟨w_i, w_j⟩
  bool is_whole_ = false;  ///< V was all of the space
  std::vector<double> values_, residuals_;
  /// Of modes that random vectors were orthogonal to.
  std::vector<double> before_, residuals_before_;
  std::uint64_t drawn_ = 0;  ///< how often there were random vectors
  std::int64_t products_ = 0;
  double work_ = 0;
  std::vector<Step> history_;
};

/// W, and coefficients of the last block.
void Lanczos::step() {
  int const first = count_ - block_;
  a_.apply(stream_, block_, piece(first, block_).first, piece(count_, block_).first);
  products_ += block_;
  Small const along = gram(stream_, a_.space, basis(), image());
  Small factors(block_, count_ + block_);
  for (int j = 0; j < block_; ++j) {
    for (int i = 0; i < count_; ++i) {
      factors(j, i) = -along(i, j);
      t_(i, first + j) = i < first ? along(i, j) : (along(i, j) + along(first + j, i - first)) / 2;
      t_(first + j, i) = t_(i, first + j);
    }
    factors(j, count_ + j) = 1;
  }
  combine(stream_, a_.space, {{piece(0, count_), piece(count_, block_), {}}}, factors, image());
  rest_ = gram(stream_, a_.space, image(), image());
}

/// The next block: of so many rows behind the basis those of `used`, and random ones where these are
/// less than a block.
void Lanczos::extend(int offered, std::vector<int> const& used) {
  int const width = static_cast<int>(std::min<std::int64_t>(shape_.width, a_.unknowns - count_));
  std::vector<int> taken = used;
  if (std::ssize(taken) > width) taken.resize(static_cast<std::size_t>(width));
  int made = orthonormalise(stream_, a_.space, basis(), piece(count_, offered), taken);
  for (int tries = 0; made < width && tries < 3; ++tries) {
    auto const random = piece(count_ + made, width - made);
    randomise(stream_, a_.space, {{random, {}, {}}}, options_.seed + (++drawn_ << 32));
    made += orthonormalise(stream_, a_.space, span(0, count_ + made), random, all_of(width - made));
  }
  count_ += made;
  block_ = made;
}

/// Steps until there is no more room, with W of the last one.
void Lanczos::expand() {
  while (true) {
    step();
    std::int64_t const next = std::min<std::int64_t>(shape_.width, a_.unknowns - count_);
    if (next == 0 || count_ + next > shape_.room) return;
    int const before = count_;
    extend(block_, left());
    if (count_ == before) return;
  }
}

/// Rows of W that are more than roundings.
std::vector<int> Lanczos::left() const {
  double const nothing = roundings(a_.norm);
  std::vector<int> rows;
  for (int i = 0; i < rest_.rows; ++i)
    if (rest_(i, i) > nothing * nothing) rows.push_back(i);
  return rows;
}

/// The best modes in V, with what W tells of their residuals; W comes to lie behind them.
void Lanczos::restart() {
  Small const t = [&] {
    Small part(count_, count_);
    for (int i = 0; i < count_; ++i)
      for (int j = 0; j < count_; ++j) part(i, j) = t_(i, j);
    return part;
  }();
  Small const modes = modes_of(t, options_.largest, values_);
  is_whole_ = count_ == a_.unknowns;
  int const kept = std::min(shape_.kept, count_), first = count_ - block_;
  Small best(kept, count_);
  std::copy_n(modes.values.begin(), best.values.size(), best.values.begin());
  residuals_.clear();
  for (int mode = 0; mode < kept; ++mode) {
    double square = 0;
    for (int i = 0; i < block_; ++i)
      for (int j = 0; j < block_; ++j)
        square += best(mode, first + i) * rest_(i, j) * best(mode, first + j);
    residuals_.push_back(std::sqrt(std::max(square, 0.0)));
  }
  combine(stream_, a_.space, basis(), best, span(0, kept));
  Small same(block_, block_);
  for (int i = 0; i < block_; ++i) same(i, i) = 1;
  combine(stream_, a_.space, image(), same, span(kept, block_));
  settle(kept);
}

void Lanczos::settle(int count) {
  values_.resize(static_cast<std::size_t>(count));
  residuals_.resize(values_.size());
  t_ = Small(shape_.room, shape_.room);
  for (int i = 0; i < count; ++i) t_(i, i) = values_[static_cast<std::size_t>(i)];
  count_ = count;
}

/// The modes asked for by products anew, with residuals behind the basis; whether all are found.
bool Lanczos::accept() {
  int const modes = options_.modes;
  if (orthonormalise(stream_, a_.space, {}, piece(0, modes), all_of(modes)) < modes)
    throw NumericalError("eigen: the vectors of a basis have become dependent");
  Rows const x = span(0, modes), ax = span(count_, modes);
  a_.apply(stream_, modes, x.pieces[0].first, ax.pieces[0].first);
  products_ += modes;
  std::vector<double> values;
  Small const best = modes_of(gram(stream_, a_.space, x, ax), options_.largest, values);
  combine(stream_, a_.space, x, best, x);
  combine(stream_, a_.space, ax, best, ax);
  auto const norms = residuals(stream_, a_.space, x, ax, values, ax);
  std::copy(values.begin(), values.end(), values_.begin());
  std::copy(norms.begin(), norms.end(), residuals_.begin());
  settle(count_);
  return found() == modes;
}

/// Whether as many eigenvalues that may be equal have come from one block as it has vectors, of those
/// that lie ahead of the last by more than it is known to: more of these would take its place.
bool Lanczos::may_miss_any() const {
  int const modes = options_.modes;
  if (is_whole_ || modes <= shape_.width || is_as_before()) return false;
  auto const value = [&](int mode) { return values_[static_cast<std::size_t>(mode)]; };
  auto const apart = [&](int mode) { return 100 * allowed(mode); };
  int matter = modes - 1;
  while (matter > 0 && std::abs(value(matter - 1) - value(modes - 1)) <= allowed(modes - 1))
    --matter;
  for (int first = 0, end = 1; first < matter; first = end++) {
    while (end < modes && std::abs(value(end) - value(end - 1)) <= apart(end)) ++end;
    bool const is_last = end > matter;
    int const counted = std::min(end, matter);
    double const low = std::min(value(first), value(counted - 1));
    double const high = std::max(value(first), value(counted - 1));
    double const around = is_last ? 0 : apart(first);
    auto const known = std::ranges::count_if(
        before_, [&](double other) { return other >= low - around && other <= high + around; });
    if (counted - first - known >= shape_.width) return true;
  }
  return false;
}

/// Whether new random vectors have brought nothing, as far as residuals tell: one that was missing would
/// have moved others.
bool Lanczos::is_as_before() const {
  if (before_.empty()) return false;
  for (std::size_t mode = 0; mode < before_.size(); ++mode)
    if (std::abs(values_[mode] - before_[mode]) >
        residuals_[mode] + residuals_before_[mode] + roundings(a_.norm))
      return false;
  return true;
}

/// Beside modes of before, whether the first one that is none of those asked for is known well
/// enough to be none.
bool Lanczos::is_next_known() const {
  auto const next = static_cast<std::size_t>(options_.modes);
  if (before_.empty() || is_whole_ || values_.size() <= next) return true;
  double const distance = std::abs(values_[next - 1] - values_[next]);
  return residuals_[next] <= std::max(allowed(options_.modes), 0.01 * distance);
}

Result Lanczos::solve() {
  bool is_complete = false;
  extend(0, {});
  while (true) {
    expand();
    restart();
    double const largest =
        *std::max_element(residuals_.begin(), residuals_.begin() + options_.modes);
    history_.push_back({found(), largest, values_[static_cast<std::size_t>(options_.modes - 1)]});
    int offered = block_;
    std::vector<int> used = left();
    if (found() == options_.modes && is_next_known()) {
      bool const is_found = accept();
      is_complete = is_found && !may_miss_any();
      if (is_complete) break;
      offered = is_found ? 0 : options_.modes;
      used = is_found ? std::vector<int>() : open();
      if (is_found) {
        settle(options_.modes);
        before_ = values_;
        residuals_before_ = residuals_;
      }
    }
    work_ += work_of_iteration(shape_.room, a_.unknowns);
    if (std::ssize(history_) > options_.iterations || work_ > options_.most_work) break;
    extend(offered, used);
  }
  if (!is_complete) accept();
  Result result;
  result.converged = is_complete;
  auto const modes = static_cast<std::size_t>(options_.modes);
  result.values.assign(values_.begin(), values_.begin() + options_.modes);
  result.residuals.assign(residuals_.begin(), residuals_.begin() + options_.modes);
  if (values_.size() > modes) result.next = values_[modes];
  result.products = products_;
  result.history = std::move(history_);
  return result;
}

/// Modes that are not found.
std::vector<int> Lanczos::open() const {
  std::vector<int> modes;
  for (int mode = 0; mode < options_.modes; ++mode)
    if (residuals_[static_cast<std::size_t>(mode)] > allowed(mode)) modes.push_back(mode);
  return modes;
}

}  // namespace

int lanczos_rows(int modes, std::int64_t unknowns) { return Shape::of(modes, unknowns).rows; }

Result lanczos(Stream& stream, Operator const& a, Options const& options, std::span<double> rows) {
  require_modes("lanczos", a, options);
  require_size("lanczos", named("rows", rows),
               static_cast<std::size_t>(lanczos_rows(options.modes, a.unknowns) * a.space.size));
  return Lanczos(stream, a, options, rows).solve();
}

}  // namespace gridstride::eigen
