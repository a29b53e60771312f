#pragma once

#include "kernels/multigrid/corrected.hpp"

/// How a `Corrected` solves. For multigrid.cpp only.
namespace gridstride::multigrid {

template <class T, class S>
int Corrected<T, S>::find_correction(Stream& stream, int before) {
  turn_ = alternates() && before % 2 == 1 ? 1 : 0;
  if (options_.relaxation == Relaxation::none) {
    if (shares_ && shares_->is_cut(0))
      share_cycle(stream, kind_of(before == 0));
    else
      before == 0 ? first_.launch(stream) : find_next(stream);
    return 1;
  }
  int const sweeps = std::min(sweeps_at_once, options_.most_cycles - before);
  if (sweeps == sweeps_at_once)
    next_[visits_][0].launch(stream);
  else
    sweep(stream, sweeps);
  return sweeps;
}

template <class T, class S>
void Corrected<T, S>::correct(Stream& stream, std::span<double> u,
                              TakeResidual<T, S> const& residual, Found* found) {
  double* const solution = poisson::at_places(equation_, u.data());
  find(stream, AddCorrection<T, S>{a_, finest(), solution, scale_ / residual.scale}, found + 1);
  complete(stream, u);
  find(stream, residual, found);
}

template <class T, class S>
void Corrected<T, S>::advance(Stream& stream, std::span<double> u,
                              TakeResidual<T, S> const& residual, bool conjugates, bool from_zero,
                              Found* found) {
  auto const finest = this->finest();
  double* const solution = poisson::at_places(equation_, u.data());
  bool const stays = alternates();
  S* const p = stays ? finest.u : poisson::at_places(equation_, direction_.data());
  S* const q = products();
  Along const* const along = along_directions_.data();
  if (conjugates) find_along(stream, SumAlongBefore<T, S>{a_, finest, q}, Finds::beta);
  if (beside_) beside_->join();  // u has gone along the direction before
  S const* const alternate = turn_ == 0 ? alternate_.data() : hierarchy_.levels().front().u;
  if (!stays || conjugates)
    each(stream, TakeDirection<T, S>{a_, finest, p, stays ? alternate : p, stays,
                                     conjugates ? along : nullptr});
  complete(stream, direction_.span());
  find_along(stream, ApplyToDirection<T, S>{a_, finest, p, q, scale_, stays, field_.data()},
             Finds::alpha);
  double const unit = residual.scale;
  Advance<T, S> const step{a_, finest, p, stays, solution, scale_ / unit, along, from_zero};
  if (goes_beside(from_zero))
    beside_->put([step](Stream& other, Found* of_u) { find(other, step, of_u); });
  else
    find(stream, step, found + 1);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (!carries_ && goes_beside(from_zero))
    return cuda_residual_ahead(stream, residual, step, found);
#endif
  if (carries_) return find(stream, AdvanceResidual<T, S>{a_, finest, q, 1 / unit, along}, found);
  complete(stream, u);
  find(stream, residual, found);
}

template <class T, class S>
double Corrected<T, S>::begin_early(Stream& stream, BeginResidual<T, S> const& step) {
  auto const to = seen_.span().subspan(of_right, 1);
  auto const from = std::as_const(found_).span().subspan(of_right, 1);
  if (beside_) {
    beside_->copy(to, from, looked_);
  } else {
    copy_async(to, from, stream);
    stream.record(looked_);
  }
  each(stream, step);
  (void)find_correction(stream, 0);
  looked_.synchronize();
  return number(std::as_const(seen_).span()[of_right].first);
}

template <class T, class S>
void Corrected<T, S>::settle(Stream& stream, double const* u, double* solution) {
  Extent const points = points_of(finest());
  if (u == nullptr)
    find(stream, Begin<double>{points, places(), solution, nullptr, solution}, found_.data());
  else if (u != solution)
    each(stream, Round<double>{points, places(), u, solution});
}

template <class T, class S>
TakeResidual<T, S> Corrected<T, S>::residual_step(double const* solution, T const* right,
                                                  double unit, double shift) const {
  TakeResidual<T, S> step{a_, finest(), solution, right, unit, shift, {}, {}};
  for (std::size_t i = 0; i < 3 && couplings_.size() > 0; ++i) {
    step.lower[i] = couplings_.data() + first_of_[i];
    step.upper[i] = step.lower[i] + unknowns_[i];
  }
  if (shares_ && couplings_.size() > 0) {
    auto const slowest = static_cast<std::size_t>(shares_->axis);
    step.lower[slowest] += shared_->first_own();
    step.upper[slowest] += shared_->first_own();
    step.before = shared_->has_beside(0) ? 1 : 0;
    step.behind = shared_->has_beside(1) ? 1 : 0;
  }
  return step;
}

template <class T, class S>
void Corrected<T, S>::go_along_directions(Stream& stream, std::span<double> u,
                                          TakeResidual<T, S> const& residual, bool from_u,
                                          bool first_is_queued, Progress& progress) {
  double left = progress.left(), found_from_u = left;  // the latter the last one that was
  double shrinks = 1;                                  // what the last direction has left of it
  struct Pending {
    bool is_there = false;
    double left = 0;
    Found of_u;
    std::size_t place = 0;  // of that, where it is found beside the chain
  } pending;
  // Where boxes touch at edges all over, two visits go too far: what is left tells. And where little is, hardly
  // anything of a direction is in the next one.
  constexpr double most_by_two_visits = 0.3, most_by_cycles = 0.06;
  // On a GPU the next cycle is queued before the host looks at what the last direction has left, unless that may be
  // so many times as little as what is foreseen.
  constexpr double in_vain = 0.05;
  bool const looks_late = stream.backend() == Backend::cuda && !shared_ && options_.residual_counts;
  bool is_queued = first_is_queued;
  std::size_t looks = 0;
  bool const is_large = unknowns_[0] * unknowns_[1] * unknowns_[2] >= much;
  // Of a full cycle each visit of a level is one more of those after it.
  visits_ = fewer_twice();
  auto const add = [&](double left_, Found const& of_u) {
    progress.add(1, left_, number(of_u.first), number(of_u.second));
  };
  for (int done = 0; !progress.ended();) {
    // What is likely to be the last direction's is found from u, since it has to be before a solve ends.
    bool const is_last = progress.is_likely_to_end(left * shrinks);
    carries_ = left > least_carried * found_from_u && !is_last;
    if (!is_queued) (void)find_correction(stream, done);
    // The first one is of another cycle than those behind it.
    bool const conjugates = is_large ? done > 1 && shrinks > most_by_cycles : done > 0;
    bool const from_zero = done == 0 && !from_u, is_beside = goes_beside(from_zero);
    std::size_t const place = looks++ % most_ahead;
    advance(stream, u, residual, conjugates, from_zero, found_.data() + 2 * place);
    complete_right();
    if (done++ == 0) visits_ = 1;
    // One in vain takes longer than all looks.
    is_queued = looks_late && !progress.is_likely_to_end(left * shrinks * in_vain) &&
                done < options_.most_cycles;
    std::function<void()> next;
    if (is_queued) {
      next = [&] { (void)find_correction(stream, done); };
    } else if (beside_) {
      beside_->release();
    }
    Found const* const found = take_found_along(stream, place, next);
    double const before = std::exchange(left, number(found[0].first));
    shrinks = left / before;
    if (done > 1 && left > most_by_two_visits * before && visits_ != fewer_twice()) {
      visits_ = fewer_twice();
      is_queued = false;  // what is queued comes to be overwritten
    }
    if (pending.is_there) {
      add(pending.left, beside_ ? beside_->found_before(pending.place) : pending.of_u);
      pending.is_there = false;
    }
    if (defers_ && (carries_ || is_beside) && done < options_.most_cycles && !progress.ended() &&
        !progress.may_end(left))
      pending = {true, left, found[1], beside_ ? beside_->place() : 0};
    else
      add(left, is_beside ? beside_->found(beside_->place()) : found[1]);
    if (carries_ && progress.ended() && !progress.is_lost()) {
      if (beside_) beside_->join();
      complete(stream, u);
      std::size_t const renewed = looks++ % most_ahead;
      find(stream, residual, found_.data() + 2 * renewed);
      complete_right();
      progress.renew(left = number(take_found_along(stream, renewed, {})->first));
      carries_ = false;
    }
    if (!carries_) found_from_u = left;
  }
  if (beside_) beside_->join();
}

template <class T, class S>
double const* Corrected<T, S>::go_by_cycles(Stream& stream, std::span<double> u,
                                            TakeResidual<T, S> const& residual, bool from_u,
                                            bool first_is_queued, Progress& progress) {
  // To wait for a cycle costs a GPU as much as a small one, and modes of the grid itself leave nothing.
  bool const looks_late = stream.backend() == Backend::cuda &&
                          options_.relaxation == Relaxation::none && hierarchy_.modes().level != 0;
  bool const looks_for_error =
      options_.relaxation != Relaxation::none && options_.error_counts && has_fields(equation_);
  bool const renews = other_.size() > 0;
  double* const solution = poisson::at_places(equation_, u.data());
  double const* old = from_u ? solution : nullptr;
  std::array<int, most_ahead> cycles{};
  for (int done = 0; !progress.ended();) {
    int const ahead = looks_late ? std::min(progress.needed(), most_ahead) : 1;
    std::size_t queued = 0;
    for (; static_cast<int>(queued) < ahead && done < options_.most_cycles; ++queued) {
      bool const is_queued = done == 0 && first_is_queued;
      done += cycles[queued] = is_queued ? 1 : find_correction(stream, done);
      Found* const found = found_.data() + 2 * queued;
      if (!renews) {
        correct(stream, u, residual, found);
        complete_right();
        continue;
      }
#ifdef GRIDSTRIDE_WITH_CUDA
      double* const next =
          old == solution ? poisson::at_places(equation_, other_.data()) : solution;
      cuda_renew(stream, residual, Correction{old, next, scale_ / residual.scale}, found);
      complete_right();
      old = next;
#endif
    }
    auto const found = take_found(stream, queued);
    for (std::size_t one = 0; one < queued && !progress.ended(); ++one)
      progress.add(cycles[one], number(found[2 * one].first), number(found[2 * one + 1].first),
                   number(found[2 * one + 1].second));
    if (looks_for_error && progress.outcome().converged)
      progress.know(find_error(stream, residual, progress.left()));
  }
  return old;
}

template <class T, class S>
double Corrected<T, S>::find_error(Stream& stream, TakeResidual<T, S> const& residual,
                                   double left) {
  if constexpr (std::is_same_v<S, double>) {
    if (!swept_) swept_.emplace(stream, equation_, singular_);
    return swept_->largest(stream, residual, left);
  }
  return none;  // sweeps are in float64
}

/// Of fields what the same coefficients everywhere would have.
template <class T, class S>
double Corrected<T, S>::slowest() const {
  if (options_.relaxation == Relaxation::none) return 0;
  bool const varies = equation_.diffusivities != nullptr || equation_.reactions != nullptr;
  return slowest_rate(options_.relaxation, options_.factor, equation_.grid, equation_.sides,
                      varies ? 1 : equation_.diffusivity, varies ? 0 : equation_.reaction);
}

template <class T, class S>
Outcome Corrected<T, S>::solve(Stream& given, std::span<T const> right, std::span<T> u,
                               bool from_u) {
  Stream& stream = beside_ ? beside_->begin(given) : given;
  if (shared_) shared_->go_on(stream);
  std::span<double> const solved = kept(u);
  double* const solution = poisson::at_places(equation_, solved.data());
  T const* const f = poisson::at_places(equation_, right.data());
  auto const finest = this->finest();
  Extent const points = points_of(finest);
  bool const renews = other_.size() > 0;
  zero_async(found_.span(), stream);
  // From 0 there is nothing to be written where the first correction, or direction, gives u without a look
  // at what it was.
  bool const begins = from_u || !(renews || (options_.conjugates && options_.most_cycles > 0));
  bool const begins_early = stream.backend() == Backend::cuda && !shared_ && !from_u &&
                            !singular_ && options_.relaxation == Relaxation::none &&
                            options_.most_cycles > 0;
  Found* const found = found_.data() + (begins_early ? of_right : 0);
  find(stream,
       Begin<T>{points, places(), f, from_u ? poisson::at_places(equation_, u.data()) : nullptr,
                begins ? solution : nullptr},
       found);
  if (begins) complete(stream, solved);
  double const largest = begins_early ? begin_early(stream, {a_, finest, f, 1, 0, found})
                                      : number(take_found(stream, 1)[0].first);
  Progress progress(options_, largest, rounding_, slowest());
  // Right-hand sides of levels are near 1, whatever their unit.
  double const unit = unit_of(poisson::bits_of_magnitude(largest));
  // Rounded right-hand sides of equations that leave a constant open have a mean, and no solution.
  double shift = 0;
  if (singular_) {
    auto const integral = poisson::integrate(stream, equation_, right);
    shift = integral.sum / integral.volume;
  }
  TakeResidual<T, S> const residual = residual_step(solution, f, unit, shift);
  if (from_u)
    find(stream, residual, found_.data());
  else if (!begins_early)
    each(stream, BeginResidual<T, S>{a_, finest, f, unit, shift});
  complete_right();
  if (from_u) progress.begin(number(take_found(stream, 1)[0].first));
  double const* old = solution;
  if (largest > 0 && options_.conjugates)
    go_along_directions(stream, solved, residual, from_u, begins_early, progress);
  else if (largest > 0)
    old = go_by_cycles(stream, solved, residual, from_u, begins_early, progress);
  if (renews || !(largest > 0)) settle(stream, largest > 0 ? old : nullptr, solution);
  // What is not a number would stay where levels have no points.
  if (progress.is_lost() || !(largest < none)) clear(stream);
  if constexpr (!std::is_same_v<T, double>)
    each(stream, Round<T>{points, places(), solution, poisson::at_places(equation_, u.data())});
  if (beside_) beside_->end(given);
  Outcome outcome = progress.outcome();
  if (largest == 0) outcome.converged = true;
  return outcome;
}

}  // namespace gridstride::multigrid
