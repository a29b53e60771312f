// LOBPCG with an orthonormal basis. S = [X P W] are the modes so far, the directions in which they
// came there, and the preconditioned residuals of those that are not found yet. An iteration
//
//   W ← T·(A·X − X·Θ), orthonormal to X and P
//   the best of S: modes of Sᵀ·A·S, a small matrix
//   X, P ← combinations of S, and A·X, A·P the same ones of A·S
//
// P is what the new X has of P and W, made orthonormal to X in coefficients (Hetmaniuk and Lehoucq,
// J. Comput. Phys. 218 (2006)). A·X and A·P drift from products by rounding: they are made anew every
// so many iterations, and before modes count as found.
//
// T·(A − λ) is near 1 for what is far from λ, and near 1 − λ/μ for an eigenvalue μ nearby. Of a membrane
// that is a thousand times as long as wide sixty modes differ by less than a thousandth, and T cannot tell
// them apart; in a block with all of them nothing has to. So a block that has not come to an end, and
// whose last eigenvalues are near the first ones outside of those asked for, grows.

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "kernels/eigen/basis.hpp"
#include "kernels/eigen/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::eigen {

namespace {

constexpr int iterations_between_refreshments = 50;
constexpr int iterations_before_growth = 30;
/// What the last eigenvalue of a block is apart from the last one asked for, beside its size, where the
/// block is left as it is.
constexpr double far_apart = 0.05;

/// Rows and their products with A.
struct Mapped {
  Mapped(Stream& stream, std::span<double> memory)
      : rows(memory), images(stream, MemorySpace::device, memory.size()) {
    zero_async(rows, stream);
    zero_async(images.span(), stream);
  }
  Rows::Piece piece() const { return {rows.data(), count}; }
  Rows::Piece image() { return {images.data(), count}; }
  /// To memory with more room.
  void move_to(Stream& stream, std::span<double> memory, std::size_t values) {
    zero_async(memory, stream);
    copy_async(memory.first(values), std::span<double const>(rows.first(values)), stream);
    rows = memory;
    images = {stream, MemorySpace::device, memory.size()};
    zero_async(images.span(), stream);
  }

  std::span<double> rows;
  Buffer<double> images;
  int count = 0;
};

class Lobpcg {
 public:
  Lobpcg(Stream& stream, Operator const& a, Options const& options, std::span<double> rows)
      : stream_(stream),
        a_(a),
        options_(options),
        given_(rows),
        largest_block_(largest_block(options.modes, a.space.size, a.unknowns)),
        block_(block_size(options.modes, a.unknowns)),
        memory_(stream, MemorySpace::device, 2 * rows.size()),
        x_(stream, rows),
        p_(stream, memory_.span().first(rows.size())),
        w_(stream, memory_.span().last(rows.size())) {}

  Result solve();

 private:
  void begin();
  void refresh();
  void find_residuals();
  bool is_found(int mode) const;
  int found() const;
  double nearest_beyond(std::size_t mode) const;
  bool are_others_known() const;
  bool is_complete() const { return found() == options_.modes && are_others_known(); }
  bool extend();
  void take_best();
  bool is_too_narrow() const;
  void grow();
  void deliver();
  void map(Mapped& of) {
    a_.apply(stream_, of.count, of.rows.data(), of.images.data());
    products_ += of.count;
  }
  Rows basis() { return {{x_.piece(), p_.piece(), w_.piece()}}; }
  Rows images() { return {{x_.image(), p_.image(), w_.image()}}; }
  /// Modes of SᵀAS, the wanted ones first; `values` are their eigenvalues.
  Small best_of(Rows const& basis, Rows const& images, std::vector<double>& values);

  Stream stream_;
  Operator const& a_;
  Options const& options_;
  std::span<double> given_;  ///< where modes come in the end
  int largest_block_, block_;
  Buffer<double> memory_;
  Mapped x_, p_, w_;
  std::vector<double> values_, norms_;
  std::int64_t products_ = 0;
  double work_ = 0;
  std::vector<Step> history_;
};

Small Lobpcg::best_of(Rows const& basis, Rows const& images, std::vector<double>& values) {
  return modes_of(gram(stream_, a_.space, basis, images), options_.largest, values);
}

void Lobpcg::begin() {
  x_.count = block_;
  randomise(stream_, a_.space, {{x_.piece(), {}, {}}}, options_.seed);
  refresh();
}

/// An orthonormal X, of modes of its space, an orthonormal P, and products of both anew.
void Lobpcg::refresh() {
  x_.count = orthonormalise(stream_, a_.space, {}, x_.piece(), all_of(x_.count));
  if (x_.count < options_.modes)
    throw NumericalError("eigen: the vectors of a block have become dependent");
  p_.count =
      orthonormalise(stream_, a_.space, {{x_.piece(), {}, {}}}, p_.piece(), all_of(p_.count));
  w_.count = 0;
  map(x_);
  if (p_.count > 0) map(p_);
  Rows const x{{x_.piece(), {}, {}}}, ax{{x_.image(), {}, {}}};
  Small const best = best_of(x, ax, values_);
  combine(stream_, a_.space, x, best, x);
  combine(stream_, a_.space, ax, best, ax);
  find_residuals();
}

/// R in the place of W.
void Lobpcg::find_residuals() {
  w_.count = x_.count;
  norms_ = residuals(stream_, a_.space, {{x_.piece(), {}, {}}}, {{x_.image(), {}, {}}}, values_,
                     {{w_.piece(), {}, {}}});
}

bool Lobpcg::is_found(int mode) const {
  return norms_[static_cast<std::size_t>(mode)] <=
         largest_residual(options_, a_.norm, values_, mode);
}

int Lobpcg::found() const { return count_found(options_, a_.norm, values_, norms_); }

/// How near to the wanted end of the spectrum the eigenvalue may be that such a mode stands for.
double Lobpcg::nearest_beyond(std::size_t mode) const {
  return values_[mode] + (options_.largest ? norms_[mode] : -norms_[mode]);
}

/// Whether the others of the block stand for none of the eigenvalues asked for: one that is far from
/// its end may yet come to lie ahead of those that are found.
bool Lobpcg::are_others_known() const {
  int const last = options_.modes - 1;
  double const sign = options_.largest ? -1 : 1;
  double const bound = sign * values_[static_cast<std::size_t>(last)] -
                       largest_residual(options_, a_.norm, values_, last);
  for (int mode = last + 1; mode < x_.count; ++mode)
    if (sign * nearest_beyond(static_cast<std::size_t>(mode)) < bound && !is_found(mode))
      return false;
  return true;
}

/// W of the residuals; whether anything is left of it.
bool Lobpcg::extend() {
  std::vector<int> open;
  std::vector<double> norms;
  for (int mode = 0; mode < x_.count; ++mode)
    if (!is_found(mode)) open.push_back(mode);
  if (a_.precondition) {
    // Neighbours are done at once.
    for (std::size_t first = 0; first < open.size();) {
      std::size_t last = first + 1;
      while (last < open.size() && open[last] == open[last - 1] + 1) ++last;
      auto const at = static_cast<std::size_t>(open[first]);
      a_.precondition(stream_, std::span(norms_).subspan(at, last - first),
                      w_.rows.data() + open[first] * a_.space.size);
      first = last;
    }
  }
  w_.count = orthonormalise(stream_, a_.space, {{x_.piece(), p_.piece(), {}}}, w_.piece(), open);
  if (w_.count > 0) map(w_);
  return w_.count > 0;
}

void Lobpcg::take_best() {
  std::vector<double> values;
  Small const modes = best_of(basis(), images(), values);
  int const all = modes.columns, old = x_.count;
  Small best(old, all), directions(0, all);
  std::copy_n(modes.values.begin(), best.values.size(), best.values.begin());
  // What is new in modes that were not found before.
  std::vector<double> rows;
  for (int mode = 0; mode < old; ++mode) {
    if (is_found(mode)) continue;
    for (int j = 0; j < all; ++j) rows.push_back(j < old ? 0 : best(mode, j));
    ++directions.rows;
  }
  directions.values = std::move(rows);
  directions = orthonormal_part(best, std::move(directions));
  Small both(old + directions.rows, all);
  std::copy(best.values.begin(), best.values.end(), both.values.begin());
  std::copy(directions.values.begin(), directions.values.end(),
            both.values.begin() + std::ssize(best.values));
  Rows const in = basis(), mapped = images();
  p_.count = directions.rows;
  combine(stream_, a_.space, in, both, {{x_.piece(), p_.piece(), {}}});
  combine(stream_, a_.space, mapped, both, {{x_.image(), p_.image(), {}}});
  values_.assign(values.begin(), values.begin() + old);
  find_residuals();
}

/// Whether eigenvalues beyond the block may be as near to those asked for as its last one.
bool Lobpcg::is_too_narrow() const {
  double const last = values_.back();
  double const apart = std::abs(last - values_[static_cast<std::size_t>(options_.modes - 1)]);
  return a_.precondition && block_ < largest_block_ && apart <= far_apart * std::abs(last);
}

/// Twice as many vectors, the new ones random.
void Lobpcg::grow() {
  auto const values = [&](int count) { return static_cast<std::size_t>(count * a_.space.size); };
  if (x_.rows.size() < values(largest_block_)) {
    Buffer<double> memory(stream_, MemorySpace::device, 3 * values(largest_block_));
    std::size_t first = 0;
    for (Mapped* const rows : {&x_, &p_, &w_}) {
      rows->move_to(stream_, memory.span().subspan(first, values(largest_block_)),
                    values(rows->count));
      first += values(largest_block_);
    }
    stream_.synchronize();
    memory_ = std::move(memory);
  }
  int const before = x_.count;
  x_.count = block_ = std::min(2 * block_, largest_block_);
  Rows::Piece const added{x_.rows.data() + values(before), x_.count - before};
  randomise(stream_, a_.space, {{added, {}, {}}},
            options_.seed + (static_cast<std::uint64_t>(block_) << 32));
  refresh();
}

void Lobpcg::deliver() {
  if (x_.rows.data() == given_.data()) return;
  auto const modes = x_.rows.first(static_cast<std::size_t>(options_.modes * a_.space.size));
  copy_async(given_.first(modes.size()), std::span<double const>(modes), stream_);
  stream_.synchronize();
}

Result Lobpcg::solve() {
  begin();
  auto const note = [&] {
    double const largest = *std::max_element(norms_.begin(), norms_.begin() + options_.modes);
    history_.push_back({found(), largest, values_[static_cast<std::size_t>(options_.modes - 1)]});
  };
  note();
  bool is_fresh = true, is_exhausted = false;
  int since = 0, of_this_block = 0;
  while (true) {
    if (is_complete() || is_exhausted) {
      if (is_fresh) break;
      refresh();
      is_fresh = true;
      continue;
    }
    if (std::ssize(history_) > options_.iterations || work_ > options_.most_work) break;
    if (++of_this_block > iterations_before_growth && is_too_narrow()) {
      grow();
      since = of_this_block = 0;
    }
    if (++since == iterations_between_refreshments) {
      refresh();
      since = 0;
    }
    is_exhausted = !extend() && p_.count == 0;
    if (is_exhausted) continue;
    work_ += work_of_iteration(basis().count(), a_.unknowns);
    take_best();
    is_fresh = false;
    note();
  }
  deliver();
  Result result;
  result.converged = is_complete() || (is_exhausted && found() == options_.modes);
  result.values.assign(values_.begin(), values_.begin() + options_.modes);
  result.residuals.assign(norms_.begin(), norms_.begin() + options_.modes);
  if (x_.count > options_.modes) {
    double const next = nearest_beyond(result.values.size()), last = result.values.back();
    result.next = options_.largest ? std::min(next, last) : std::max(next, last);
  }
  result.products = products_;
  result.history = std::move(history_);
  return result;
}

}  // namespace

int block_size(int modes, std::int64_t unknowns) {
  int const more = std::max(4, modes / 4);
  return static_cast<int>(std::min<std::int64_t>(modes + more, unknowns));
}

int largest_block(int modes, std::int64_t size, std::int64_t unknowns) {
  constexpr std::int64_t room = std::int64_t{256} << 20;
  std::int64_t const block = block_size(modes, unknowns);
  std::int64_t const fit = room / (6 * static_cast<std::int64_t>(sizeof(double)) * size);
  std::int64_t const wide = block_size(most_modes, unknowns);
  return static_cast<int>(std::max(block, std::min(fit, wide)));
}

double work_of_iteration(int basis, std::int64_t unknowns) {
  double const vectors = basis, n = static_cast<double>(unknowns);
  return vectors * (4 * vectors * (n + 2 * vectors) + 200 * n);
}

double work_of_lobpcg(int modes, std::int64_t unknowns) {
  return 20 * work_of_iteration(3 * block_size(modes, unknowns), unknowns);
}

std::size_t lobpcg_bytes(int modes, std::int64_t size, std::int64_t unknowns) {
  auto const vector = sizeof(double) * static_cast<std::size_t>(size);
  auto const block = static_cast<std::size_t>(block_size(modes, unknowns));
  auto const most = static_cast<std::size_t>(largest_block(modes, size, unknowns));
  return vector * (5 * block + (most > block ? 6 * most : 0));
}

Result lobpcg(Stream& stream, Operator const& a, Options const& options, std::span<double> rows) {
  require_modes("lobpcg", a, options);
  require_size("lobpcg", named("rows", rows),
               static_cast<std::size_t>(block_size(options.modes, a.unknowns) * a.space.size));
  return Lobpcg(stream, a, options, rows).solve();
}

}  // namespace gridstride::eigen
