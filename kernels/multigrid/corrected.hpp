#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/graph.hpp"
#include "kernels/multigrid/beside_chain.hpp"
#include "kernels/multigrid/hierarchy.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/multigrid/progress.hpp"
#include "kernels/multigrid/relaxation.hpp"
#include "kernels/multigrid/rows.hpp"
#include "kernels/multigrid/shares.hpp"
#include "kernels/multigrid/swept_error.hpp"
#include "kernels/poisson/shared.hpp"

/// What a `Solver` does, by types. For multigrid.cpp only.
namespace gridstride::multigrid {

inline double number(std::uint64_t bits) { return std::bit_cast<double>(bits); }

/// Cycles that may be queued before the host looks at what the first of them has come to.
constexpr int most_ahead = 8;

template <class T>
struct SolverBody {
  virtual ~SolverBody() = default;
  virtual int levels() const = 0;
  virtual Precision inner() const = 0;
  virtual double scale() const = 0;
  virtual std::size_t size(bool alone) const = 0;  ///< of arrays, or those of unknowns alone
  virtual Outcome solve(Stream& stream, std::span<T const> right, std::span<T> u, bool from_u) = 0;
  virtual void precondition(Stream& stream, double const* right, double magnitude, double* u,
                            bool alone) = 0;
};

template <class T>
bool has_fields(poisson::Equation<T> const& equation) {
  return equation.diffusivities != nullptr || equation.reactions != nullptr;
}

/// The first level with so few unknowns that two visits in a row cost little. What a jump encloses is a
/// few points wide there, and one leaves much.
inline std::size_t first_of_few(Levels const& plan) {
  auto const has_few = [](std::array<Axis, 3> const& axes) {
    std::int64_t unknowns = 1;
    for (Axis const& axis : axes) unknowns *= axis.unknowns();
    return unknowns < 400;
  };
  return static_cast<std::size_t>(std::ranges::find_if(plan.axes, has_few) - plan.axes.begin());
}

/// How ranks share an equation, if they do.
template <class T>
std::optional<Shares> shares_among(poisson::Equation<T> const& equation, Levels const& plan,
                                   Options const& options, Backend backend, int along) {
  if (equation.ranks == nullptr) return std::nullopt;
  return shares_of(plan, equation.grid, equation.ranks->cuts(), options, backend, along);
}

/// Corrections are found in S.
template <class T, class S>
class Corrected final : public SolverBody<T> {
 public:
  Corrected(Stream& stream, poisson::Equation<T> const& equation, Levels const& plan, double scale,
            bool singular, Options const& options, Function<S>* cycle)
      : equation_(equation),
        a_(poisson::operator_of(equation)),
        scale_(scale),
        singular_(singular),
        options_(options),
        cycle_(cycle),
        along_(has_fields(equation)
                   ? 0
                   : along_of<S>(stream.backend(), stream.device().capabilities().shared_bytes,
                                 options)),
        shares_(shares_among(equation, plan, options, stream.backend(), along_)),
        hierarchy_(stream, equation, plan, scale, singular, along_, shares_ ? &*shares_ : nullptr,
                   shares_ ? equation.ranks->ranks().rank() : 0),
        found_(stream, MemorySpace::device, of_right + 1),
        seen_(stream, MemorySpace::pinned, of_right + 1),
        looked_(stream.device()) {
    if (shares_)
      shared_ = std::make_unique<SharedLevels<S>>(*equation.ranks, stream, *shares_,
                                                  hierarchy_.levels(), hierarchy_.down());
    auto const held = static_cast<std::size_t>(poisson::points_held(equation));
    if constexpr (!std::is_same_v<T, double>) u_ = {stream, MemorySpace::device, held};
    auto const finest = this->finest();
    if (options.conjugates) {
      product_ = {stream, MemorySpace::device,
                  static_cast<std::size_t>(2 * hierarchy_.levels().front().colour)};
      along_directions_ = {stream, MemorySpace::device, 1};
      if (goes_by_strips(stream) && !shares_)
        alternate(stream);
      else
        direction_ = {stream, MemorySpace::device, held};
    }
    for (std::size_t i = 0; i < 3; ++i) unknowns_[i] = plan.axes.front()[i].unknowns();
    // Of volumes, whose small levels are solved at once, the third one costs little, too.
    if (options.conjugates && finest.is_stored() && plan.axes.size() > 2) {
      bool const is_volume = unknowns_[2] > 1;
      twice_[1] = is_volume ? 2 : first_of_few(plan);
      twice_[0] = is_volume ? 0 : twice_[1];
      if (is_volume) once_ = twice_[1];
    }
    if (!finest.is_stored()) keep_couplings(stream, plan.axes.front());
    if (goes_by_strips(stream)) keep_field(stream);
    if (stream.backend() == Backend::cuda && can_march_stored(finest))
      together_ = piece_of_columns(unknowns_[0] * unknowns_[1] * unknowns_[2]);
    if (shares_ && options.conjugates && is_torn(equation.ranks->cuts()))
      throw std::invalid_argument("multigrid: ranks have parts of planes that are summed together");
    bool const is_whole = shares_ && !shares_->is_cut(0);
    if (stream.backend() == Backend::cuda && can_march(finest) && !options.conjugates && !is_whole)
      other_ = {stream, MemorySpace::device, held};
    defers_ = options.conjugates && stream.backend() == Backend::cuda && can_march_stored(finest) &&
              unknowns_[0] * unknowns_[1] * unknowns_[2] >= much;
    if (defers_ && !shares_) beside_ = std::make_unique<BesideChain>(stream);
    if (options.relaxation != Relaxation::none)
      next_[visits_][0] =
          Graph::capture(stream, [this, &stream] { sweep(stream, sweeps_at_once); });
    else if (!shares_ || !shares_->is_cut(0))
      capture_cycles(stream);
    else
      capture_visits(stream);
    zero_async(found_.span(), stream);
    find(stream, FindDiagonal<S>{finest}, found_.data());
    rounding_ =
        std::numeric_limits<double>::epsilon() * number(take_found(stream, 1)[0].first) / scale;
  }

  int levels() const override { return static_cast<int>(hierarchy_.levels().size()); }
  Precision inner() const override { return precision_of<S>(); }
  double scale() const override { return scale_; }
  std::size_t size(bool alone) const override {
    return static_cast<std::size_t>(alone ? a_.size() : poisson::points_held(equation_));
  }
  Outcome solve(Stream& stream, std::span<T const> right, std::span<T> u, bool from_u) override;
  void precondition(Stream& stream, double const* right, double magnitude, double* u,
                    bool alone) override {
    if (shares_) throw std::invalid_argument("multigrid: ranks share no preconditioner");
    auto const& finest = hierarchy_.levels().front();
    if (alone && finest.is_stored())
      throw std::invalid_argument("multigrid: unknowns alone are for an equation without fields");
    bool const usable = magnitude > 0 && magnitude < none;
    double const unit = usable ? std::ldexp(1.0, -std::ilogb(magnitude)) : 1;
    auto const a = alone ? unknowns_alone(a_) : a_;
    each(stream, TakeRight<T, S>{a, finest, right, unit});
    if (beside_) descent_[0].launch(stream);
    next_[1][0].launch(stream);
    each(stream, GiveSolution<S>{finest, places_of(a), u});
  }

 private:
  /// Where u is kept in float64.
  std::span<double> kept(std::span<T> u) {
    if constexpr (std::is_same_v<T, double>) return u;
    return u_.span();
  }
  /// The finest level, of several ranks this one's own planes of it.
  Level<S> finest() const { return shared_ ? shared_->own(0) : levels_of_turn().front(); }
  std::span<Level<S> const> levels_of_turn() const {
    return turn_ == 0 ? hierarchy_.levels() : std::span<Level<S> const>(alternate_levels_);
  }
  /// The finest level's f = unit·(right − A·u − shift).
  TakeResidual<T, S> residual_step(double const* solution, T const* right, double unit,
                                   double shift) const;
  /// The place of what a right-hand side has, behind that of as many cycles.
  static constexpr std::size_t of_right = 2 * most_ahead;
  static constexpr int sweeps_at_once = 16;
  /// Unknowns of which each pass takes longer than the host.
  static constexpr std::int64_t much = 1 << 20;

  Cycle kind_of(bool is_first) const {
    return !is_first && options_.cycle == Cycle::full ? Cycle::v : options_.cycle;
  }
  CycleWork<S> work_of(Cycle kind) const {
    return {.levels = levels_of_turn(),
            .modes = hierarchy_.modes(),
            .inverse = hierarchy_.inverse(),
            .tables_end = hierarchy_.tables_end(),
            .numbers_end = hierarchy_.numbers_end(),
            .cycle = kind,
            .before = options_.before,
            .after = options_.after,
            .visit = kind == Cycle::full ? Visit::full : Visit::from_zero,
            .twice = twice_[visits_],
            .once = once_};
  }
  Graph captured(Stream& stream, CycleWork<S> const& work) const {
    return Graph::capture(stream, [&stream, cycle = cycle_, work] { cycle(stream, work); });
  }
  /// The first of two ways in which levels may be visited, or the only one.
  std::size_t fewer_twice() const { return twice_[0] == twice_[1] ? 1 : 0; }
  /// Does something for each of them, and for the last one at last.
  template <class Do>
  void for_visits(Do const& do_) {
    for (visits_ = fewer_twice(); visits_ < 2; ++visits_) do_();
    visits_ = 1;
  }
  void capture_cycles(Stream& given) {
    Stream& stream = beside_ ? beside_->chain() : given;
    for_visits([&] {
      if (visits_ == fewer_twice()) first_ = captured(stream, work_of(kind_of(true)));
      for (turn_ = 0; turn_ <= (alternates() ? 1 : 0); ++turn_) {
        auto work = work_of(kind_of(false));
        if (beside_) {
          work.part = Part::descent;
          descent_[turn_] = captured(stream, work);
          work.part = Part::rest;
        }
        next_[visits_][turn_] = captured(stream, work);
      }
      turn_ = 0;
    });
  }
  /// Of the levels that all ranks have as a whole.
  void capture_visits(Stream& stream) {
    for_visits([&] {
      for (Visit const visit : {Visit::from_zero, Visit::from_u, Visit::full}) {
        auto work = work_of(kind_of(visit == Visit::full));
        work.visit = visit;
        work.first = static_cast<std::size_t>(shares_->cut_levels());
        whole_[visits_][static_cast<std::size_t>(visit)] = captured(stream, work);
      }
    });
  }
  /// Queues a cycle that ranks make together.
  void share_cycle(Stream& stream, Cycle kind) const {
    auto work = work_of(kind);
    work.shared = shared_.get();
    work.visit_whole = [this, &stream](Visit visit) {
      whole_[visits_][static_cast<std::size_t>(visit)].launch(stream);
    };
    cycle_(stream, work);
  }
  /// Queues another cycle than the first one.
  void find_next(Stream& stream) const {
    if (beside_) {
      descent_[turn_].launch(stream);
      beside_->release();  // large levels leave nothing idle
    }
    next_[visits_][turn_].launch(stream);
  }
  /// Queues that each rank has what a cycle looks at of the finest level's f, and of u.
  void complete_right() const {
    if (shared_) shared_->complete_right(0);
  }
  template <class Value>
  void complete(Stream& stream, std::span<Value> values) const {
    if (shared_) equation_.ranks->exchange(stream, values);
  }
  void sweep(Stream& stream, int sweeps) const {
    if constexpr (std::is_same_v<S, double>)
      relax(stream, hierarchy_.levels().front(), options_.relaxation, options_.factor, sweeps);
  }
  /// What the finest level's f is corrected by; returns how many cycles or sweeps that took.
  int find_correction(Stream& stream, int before);
  /// Queues the first cycle, from 0, before the host knows the largest |right|, which has been found; returns that.
  double begin_early(Stream& stream, BeginResidual<T, S> const& step);
  /// What a sweep leaves of the errors that it takes least from; 0 of cycles.
  double slowest() const;
  /// The largest error of the u that a step looks at, of sweeps.
  double find_error(Stream& stream, TakeResidual<T, S> const& residual, double left);
  /// Has u in `solution`, from where it is, or 0 where it is nowhere.
  void settle(Stream& stream, double const* u, double* solution);
  /// u += what the finest level has found; finds what `TakeResidual` does and behind it what
  /// `AddCorrection` does.
  void correct(Stream& stream, std::span<double> solution, TakeResidual<T, S> const& residual,
               Found* found);
  /// As long as there is something left: directions by cycles, by which u goes.
  void go_along_directions(Stream& stream, std::span<double> u, TakeResidual<T, S> const& residual,
                           bool from_u, bool first_is_queued, Progress& progress);
  /// As many cycles; returns where u is.
  double const* go_by_cycles(Stream& stream, std::span<double> u,
                             TakeResidual<T, S> const& residual, bool from_u, bool first_is_queued,
                             Progress& progress);
  /// u goes as far along the direction that the finest level gives as is best, made conjugate to the one before or
  /// not, from 0 or from what it is, and finds the same.
  void advance(Stream& stream, std::span<double> solution, TakeResidual<T, S> const& residual,
               bool conjugates, bool from_zero, Found* found);
  /// Of conjugate directions the residual goes along with u; in float32 until it is so much of what was found
  /// from u, of which it has the roundings.
  static constexpr double least_carried = std::is_same_v<S, double> ? 0 : 1e-3;
  Places places() const { return places_of(a_); }
  /// Whether products with directions go by strips.
  bool goes_by_strips(Stream const& stream) const {
    return options_.conjugates && stream.backend() == Backend::cuda && can_march_stored(finest()) &&
           multigrid::goes_by_strips(a_);
  }
  /// Whether a direction stays where a cycle has found it, and the next one goes elsewhere.
  bool alternates() const { return alternate_.size() > 0; }
  void alternate(Stream& stream) {
    auto const levels = hierarchy_.levels();
    alternate_ = {stream, MemorySpace::device, static_cast<std::size_t>(2 * levels[0].colour)};
    zero_async(alternate_.span(), stream);
    alternate_levels_.assign(levels.begin(), levels.end());
    alternate_levels_[0].u = alternate_.data();
  }
  /// Whether u goes along a direction beside what comes next: the residual needs nothing of it, or what it is ahead.
  bool goes_beside(bool from_zero) const {
    return beside_ && (carries_ || (alternates() && goes_by_tiles(a_) && !from_zero));
  }
  /// Makes all values of levels 0.
  void clear(Stream& stream) {
    hierarchy_.clear(stream);
    zero_async(alternate_.span(), stream);
  }
  /// Products, which lie as the finest level's values do; of a rank whose own planes have the colours exchanged its
  /// first colour is behind the other one.
  S* products() { return product_.data() + std::max<std::int64_t>(-finest().colour, 0); }
  void keep_field(Stream& stream) {
    auto const finest = this->finest();
    field_ = {stream, MemorySpace::device, static_cast<std::size_t>(finest.field_size())};
    zero_async(field_.span(), stream);
    each(stream, ScaleField<T, S>{a_, finest, field_.data(), a_.weight[0] * scale_});
  }
  void keep_couplings(Stream& stream, std::array<Axis, 3> const& axes) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < 3; ++i) {
      first_of_[i] = static_cast<std::int64_t>(numbers.size());
      for (std::size_t side = 0; side < 2; ++side)
        for (int unknown = 0; unknown < axes[i].unknowns(); ++unknown)
          numbers.push_back(a_.diffusivity * axes[i].couplings(unknown)[side]);
    }
    couplings_ = {stream, MemorySpace::device, numbers.size()};
    copy_async(couplings_.span(), std::span<double const>(numbers), stream);
    stream.synchronize();
  }
  /// What has been found since the last time, so many times.
  std::span<Found const> take_found(Stream& stream, std::size_t times) {
    std::size_t const size = 2 * times;
    copy_async(seen_.span().first(size), std::as_const(found_).span().first(size), stream);
    zero_async(found_.span().first(size), stream);
    stream.synchronize();
    if (shared_) shared_->raise_to_all(seen_.span().first(size));
    return std::as_const(seen_).span().first(size);
  }
  /// What a direction has found, in one of so many places by turns. `next`, if there is one, is queued before the
  /// host waits for that.
  Found const* take_found_along(Stream& stream, std::size_t place,
                                std::function<void()> const& next) {
    auto const at = [place](auto const& buffer) { return buffer.subspan(2 * place, 2); };
    if (!beside_ || !next || place + 1 == most_ahead) {
      copy_async(at(seen_.span()), at(std::as_const(found_).span()), stream);
      if (place + 1 == most_ahead) zero_async(found_.span(), stream);
      stream.record(looked_);
    } else {
      beside_->copy(at(seen_.span()), at(std::as_const(found_).span()), looked_);
    }
    if (next) next();
    looked_.synchronize();
    if (shared_) shared_->raise_to_all(at(seen_.span()));
    return at(std::as_const(seen_).span()).data();
  }
  /// Whether ranks are cut amid planes whose sums are one.
  bool is_torn(RankCuts const& cuts) const {
    return std::any_of(cuts.begin(), cuts.end() - 1,
                       [&](std::int64_t cut) { return cut % together_ != 0; });
  }
  /// Queues that directions have what a step finds, of all parts of the grid in their order, some of
  /// planes `together_`. Ranks wait for each other.
  template <class Step>
  void find_along(Stream& stream, Step const& step, Finds what) {
    int const slowest = std::max(equation_.grid.dims - 1, 1);
    Planes const planes{slowest, static_cast<int>(unknowns_[static_cast<std::size_t>(slowest)])};
    std::size_t const count = parts(stream, step, planes);
    if (parts_.size() < count) parts_ = {stream, MemorySpace::device, count};
    sums(stream, step, planes, parts_.data());
    auto const own = std::as_const(parts_).span().first(count);
    if (!shared_) return take_sum(stream, own, what, along_directions_.data());
    std::vector<Summed> of_rank(count);
    copy_async(std::span(of_rank), own, stream);
    stream.synchronize();
    auto const first = poisson::unknowns(equation_.grid, equation_.sides, slowest).first;
    auto const all = shared_->of_all_planes(of_rank, together_, static_cast<int>(first));
    Buffer<Summed> of_all(stream, MemorySpace::device, all.size());
    copy_async(of_all.span(), std::span<Summed const>(all), stream);
    take_sum(stream, std::as_const(of_all).span(), what, along_directions_.data());
    stream.synchronize();
  }

  poisson::Equation<T> equation_;
  poisson::Operator<T> a_;
  double scale_;  // of the equations on the levels
  bool singular_;
  double rounding_;  // what roundings of u leave of a right-hand side, of the largest |u|
  Options options_;
  Function<S>* cycle_;
  int along_;  // unknowns of a level that is solved by modes
  std::optional<Shares> shares_;
  Hierarchy<S> hierarchy_;
  std::unique_ptr<SharedLevels<S>> shared_;  // of several ranks
  Buffer<Found> found_;                      // by residuals and by corrections, of a few cycles
  Buffer<Found> seen_;                       // the same on the host
  Event looked_;                             // that it is there
  Buffer<S> direction_, product_;            // p and scale·A·p of conjugate gradients
  // Of directions that stay where they are found: the finest level's other u, and all levels with that.
  Buffer<S> alternate_;
  std::vector<Level<S>> alternate_levels_;
  std::size_t turn_ = 0;            // whether that is where cycles find something
  Buffer<S> field_;                 // a that those go by, of tiles
  bool carries_ = false;            // whether the residual goes along with u
  Buffer<Along> along_directions_;  // what those have come to
  Buffer<Summed> parts_;            // of sums along them
  Buffer<double> u_;                // where the arrays are not of float64
  Buffer<double> other_;            // where u goes from array to array
  /// Of the same coefficients everywhere: those of the grid's axes, on one side and on the other.
  Buffer<double> couplings_;
  std::array<std::int64_t, 3> first_of_{}, unknowns_{};
  int together_ = 1;  // planes whose sums along directions are one
  // The level that is visited twice, or none, in two ways, and which of these it is.
  std::array<std::size_t, 2> twice_{};
  std::size_t once_ = no_level;  // from which on levels have one sweep
  std::size_t visits_ = 1;
  Graph first_;
  std::array<Graph, 2> descent_;              // of the next ones, where something goes beside them
  std::array<std::array<Graph, 2>, 2> next_;  // and what is left of these
  std::array<std::array<Graph, 3>, 2> whole_;
  /// Whether what u has come to may be known a direction late; and where that goes beside the others.
  bool defers_ = false;
  std::unique_ptr<BesideChain> beside_;
  std::optional<SweptError<T>> swept_;
};

}  // namespace gridstride::multigrid

#include "kernels/multigrid/solves.hpp"
