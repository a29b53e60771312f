#include "simulations/pde_implicit_steps.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "model/hand_out.hpp"
#include "simulations/pde_additive_steps.hpp"

namespace gridstride::pde {

namespace {

template <class T>
class Backward final : public ImplicitSteps<T> {
 public:
  Backward(Stream const& stream, config::RunConfig const& run, State<T>& state,
           std::vector<Array<T>*> const& evolved, StepPlace<T>& place, bool gathers)
      : stream_(stream),
        run_(run),
        evolved_(evolved),
        place_(place),
        buffers_(multigrid_scheme(run.time.scheme).buffers),
        solves_(stream, run, state, evolved, place),
        gathers_(gathers) {
    if (!keeps_steps()) return;
    bool const has_whole =
        gathers_ && place_.ranks() != nullptr && place_.ranks()->ranks().is_first();
    for (std::size_t c = 0; c < evolved_.size(); ++c)
      for (int const number : numbers_kept) {
        auto& one = kept_.emplace_back(
            Kept{fmt::format("implicit/{}.{}", evolved_[c]->row().name, number), number, c});
        zero_async(values_of(one), stream_);
        if (has_whole) one.whole = {stream_, MemorySpace::pinned, size_of_grid()};
      }
  }

  void advance(double step, double time) override;
  void forget() override { step_before_ = 0; }
  void settle() override;
  void save(CheckpointSink& sink, OwnArrays<T> const& own) const override;
  void load(CheckpointSource const& source, OwnArrays<T> const& own) override;

 private:
  /// u' has this weight on the left side, u and u₋ those on the right, all in 1/s; N and N₋ theirs.
  struct Weights {
    double next, now, before, rate, rate_before;
  };

  /// What the next step takes of this one.
  static constexpr int numbers_kept[] = {2, 3};
  struct Kept {
    std::string name;
    int number;
    std::size_t component;
    Buffer<T> whole = {};  // of the first of several ranks
  };

  std::size_t size_of_grid() const { return static_cast<std::size_t>(run_.grid.size()); }
  std::span<T> values_of(Kept const& one) const { return place_.kept(one.number, one.component); }
  /// At all points of the grid, where this process has them.
  std::span<T const> whole(Kept const& one) const {
    return place_.ranks() == nullptr ? std::span<T const>(values_of(one)) : one.whole.span();
  }
  std::span<T> buffer(std::size_t component, int number) {
    return {place_.buffer(number, component), static_cast<std::size_t>(place_.grid().size())};
  }
  bool keeps_steps() const { return buffers_ > 2; }
  Weights weights_of(double step) const;
  std::span<T> right_of(std::size_t component) { return buffer(component, keeps_steps() ? 3 : 1); }
  void make_right(std::size_t component, Weights const& weights, bool is_alone);

  mutable Stream stream_;
  config::RunConfig const& run_;
  std::vector<Array<T>*> const& evolved_;
  StepPlace<T>& place_;
  int buffers_;
  ImplicitSolves<T> solves_;
  std::vector<Kept> kept_;
  double step_before_ = 0;  // s; 0: there is none
  bool gathers_;
  bool is_settled_ = false;  // what is kept has been gathered
};

/// Weights of u are multiples of a unit that the precision of the arrays has exactly, so that they add
/// up: a constant stays what it is, however many steps there are.
template <class T>
typename Backward<T>::Weights Backward<T>::weights_of(double step) const {
  constexpr double longest_ratio =
      2;  // backward differences of second order stay stable up to 1 + √2
  double w = step_before_ > 0 ? step / step_before_ : 0;
  if (!keeps_steps() || w > longest_ratio) w = 0;
  double const unit =
      std::ldexp(1.0, std::ilogb((1 + w) / step) - (std::numeric_limits<T>::digits - 3));
  auto const rounded = [&](double weight) { return std::round(weight / unit) * unit; };
  double const next = rounded((1 + 2 * w) / (1 + w) / step);
  double const before = rounded(w * w / (1 + w) / step);
  return {next, next + before, -before, 1 + w, -w};
}

/// The right-hand side of a component; of one that is alone, what changes it.
template <class T>
void Backward<T>::make_right(std::size_t component, Weights const& weights, bool is_alone) {
  std::span<T> const u = buffer(component, 0), rate = buffer(component, 1),
                     right = right_of(component);
  auto const add = [&](double weight, std::span<T const> from) {
    elementwise::axpy<T>(stream_, static_cast<T>(weight), from, right);
  };
  double const now = is_alone ? -weights.before : weights.now;
  if (keeps_steps() && weights.rate_before == 0) {
    copy_async(right, std::span<T const>(rate), stream_);
  } else if (keeps_steps()) {
    elementwise::scale<T>(stream_, static_cast<T>(weights.rate_before), right);
    add(weights.rate, rate);
  }
  if (now != 0) add(now, u);
  if (!keeps_steps()) return;
  auto const before = buffer(component, 2);
  if (weights.before != 0) add(weights.before, before);
  copy_async(before, std::span<T const>(u), stream_);
}

/// What is explicit counts as it is at the beginning of a step, sides and D at the end.
template <class T>
void Backward<T>::advance(double step, double time) {
  Stage const begin = {.sides_at_time = true}, end = {.time = 1, .sides_at_time = true};
  place_.refresh(begin);
  place_.queue_rates(begin, 0, 1, 0);
  place_.refresh(end);
  double const until = time + step;
  solves_.renew(until);
  auto const weights = weights_of(step);
  for (std::size_t const c : solves_.solved()) {
    make_right(c, weights, false);
    T* const next = place_.begin_next(c);
    impose_sides(stream_, place_, c, next);
    if (!solves_.solve(c, weights.next, right_of(c).data(), next, until))
      throw NumericalError(fmt::format(
          "in the step to t = {} s {} is beyond all numbers (is what is explicit growing?)", until,
          evolved_[c]->row().name));
  }
  for (std::size_t const c : solves_.alone()) {
    make_right(c, weights, true);
    T* const next = place_.begin_next(c);
    std::span<T const> const change = right_of(c);
    elementwise::axpy<T>(stream_, static_cast<T>(1 / weights.next), change,
                         std::span(next, change.size()));
    impose_sides(stream_, place_, c, next);
  }
  if (keeps_steps()) {
    for (std::size_t c = 0; c < evolved_.size(); ++c)
      copy_async(right_of(c), std::span<T const>(buffer(c, 1)), stream_);
    step_before_ = step;
    is_settled_ = false;
  }
  place_.hold_sides(0, 1);
}

template <class T>
void Backward<T>::settle() {
  auto* const planes = place_.ranks();
  if (planes == nullptr || !gathers_ || is_settled_) return;
  for (Kept& one : kept_)
    gather_planes<T>(stream_, planes->ranks(), planes->cuts(),
                     run_.grid.face_size(run_.grid.dims - 1), values_of(one), one.whole.span());
  is_settled_ = true;
}

template <class T>
void Backward<T>::save(CheckpointSink& sink, OwnArrays<T> const& own) const {
  if (!keeps_steps()) return;
  sink.put_real("implicit/step_before", step_before_);
  for (Kept const& one : kept_)
    if (own.put)
      own.put(sink, one.name, values_of(one));
    else
      sink.put_array(one.name, whole(one), stream_);
}

template <class T>
void Backward<T>::load(CheckpointSource const& source, OwnArrays<T> const& own) {
  if (!keeps_steps()) return;
  if (!source.contains("implicit/step_before")) return;  // of ranks that have made no step
  step_before_ = source.get_real("implicit/step_before");
  auto* const planes = place_.ranks();
  for (Kept& one : kept_) {
    if (own.get) {
      own.get(source, one.name, values_of(one));
      continue;
    }
    source.get_array(one.name, planes == nullptr ? values_of(one) : one.whole.span(), stream_);
    if (planes == nullptr) continue;
    hand_out<T>(stream_, planes->ranks(), run_.grid, whole(one),
                {.planes = {planes->lower(), planes->upper()}}, values_of(one));
  }
}

[[noreturn]] void refuse_attempt() {
  throw std::logic_error("pde: steps of this scheme have no estimate of their error");
}

}  // namespace

template <class T>
void ImplicitSteps<T>::attempt(evaluate::DeviceClock const*, system::ErrorScale,
                               std::span<system::WorstError>) {
  refuse_attempt();
}

template <class T>
void ImplicitSteps<T>::find_rate(evaluate::DeviceClock const*, system::ErrorScale,
                                 std::span<system::WorstError>) {
  refuse_attempt();
}

template <class T>
void impose_sides(Stream& stream, StepPlace<T>& place, std::size_t component, T* values) {
  system::Sides<T> sides{};
  place.copy_sides(component, sides);
  system::impose_sides<T>(stream, place.grid(), sides, values);
}

template <class T>
std::unique_ptr<ImplicitSteps<T>> make_implicit_steps(Stream const& stream,
                                                      config::RunConfig const& run, State<T>& state,
                                                      std::vector<Array<T>*> const& evolved,
                                                      StepPlace<T>& place, bool gathers) {
  if (run.time.scheme == "ark3")
    return std::make_unique<AdditiveSteps<T>>(stream, run, state, evolved, place);
  return std::make_unique<Backward<T>>(stream, run, state, evolved, place, gathers);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template class ImplicitSteps<T>;                                                       \
  template void impose_sides(Stream&, StepPlace<T>&, std::size_t, T*);                   \
  template std::unique_ptr<ImplicitSteps<T>> make_implicit_steps(                        \
      Stream const&, config::RunConfig const&, State<T>&, std::vector<Array<T>*> const&, \
      StepPlace<T>&, bool);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::pde
