#include "simulations/pde_implicit_steps.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "simulations/pde_additive_steps.hpp"

namespace gridstride::pde {

namespace {

template <class T>
class Backward final : public ImplicitSteps<T> {
 public:
  Backward(Stream const& stream, config::RunConfig const& run, State<T>& state,
           std::vector<Array<T>*> const& evolved, std::vector<system::Input<T>> const& inputs,
           StepParts parts)
      : stream_(stream),
        run_(run),
        evolved_(evolved),
        inputs_(inputs),
        parts_(std::move(parts)),
        buffers_(multigrid_scheme(run.time.scheme).buffers),
        solves_(stream, run, state, evolved, inputs) {
    for (std::size_t c = 0; c < evolved_.size(); ++c)
      for (int number = 2; number < buffers_; ++number) zero_async(buffer(c, number), stream_);
  }

  void advance(double step, double time) override;
  void forget() override { step_before_ = 0; }
  void save(CheckpointSink& sink) const override;
  void load(CheckpointSource const& source) override;

 private:
  /// u' has this weight on the left side, u and u₋ those on the right, all in 1/s; N and N₋ theirs.
  struct Weights {
    double next, now, before, rate, rate_before;
  };

  std::span<T> buffer(std::size_t component, int number) {
    return {evolved_[component]->buffer(number), static_cast<std::size_t>(run_.grid.size())};
  }
  bool keeps_steps() const { return buffers_ > 2; }
  Weights weights_of(double step) const;
  std::span<T> right_of(std::size_t component) { return buffer(component, keeps_steps() ? 3 : 1); }
  void make_right(std::size_t component, Weights const& weights, bool is_alone);

  mutable Stream stream_;
  config::RunConfig const& run_;
  std::vector<Array<T>*> const& evolved_;
  std::vector<system::Input<T>> const& inputs_;
  StepParts parts_;
  int buffers_;
  ImplicitSolves<T> solves_;
  double step_before_ = 0;  // s; 0: there is none
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
  parts_.refresh(begin);
  parts_.find_rates(begin, 0, 1);
  parts_.refresh(end);
  double const until = time + step;
  solves_.renew(until);
  auto const weights = weights_of(step);
  for (std::size_t const c : solves_.solved()) {
    make_right(c, weights, false);
    if (!solves_.solve(c, weights.next, right_of(c), buffer(c, 0), until))
      throw NumericalError(fmt::format(
          "in the step to t = {} s {} is beyond all numbers (is what is explicit growing?)", until,
          evolved_[c]->row().name));
  }
  for (std::size_t const c : solves_.alone()) {
    make_right(c, weights, true);
    auto const u = buffer(c, 0);
    elementwise::axpy<T>(stream_, static_cast<T>(1 / weights.next), std::span<T const>(right_of(c)),
                         u);
    system::impose_sides<T>(stream_, run_.grid, inputs_[c].sides, u.data());
  }
  if (keeps_steps()) {
    for (std::size_t c = 0; c < evolved_.size(); ++c)
      copy_async(right_of(c), std::span<T const>(buffer(c, 1)), stream_);
    step_before_ = step;
  }
  parts_.hold_sides(0, 1);
}

template <class T>
void Backward<T>::save(CheckpointSink& sink) const {
  if (!keeps_steps()) return;
  sink.put_real("implicit/step_before", step_before_);
  auto const size = static_cast<std::size_t>(run_.grid.size());
  for (Array<T>* const array : evolved_)
    for (int const number : {2, 3})
      sink.put_array(fmt::format("implicit/{}.{}", array->row().name, number),
                     std::span<T const>(array->buffer(number), size), stream_);
}

template <class T>
void Backward<T>::load(CheckpointSource const& source) {
  if (!keeps_steps()) return;
  step_before_ = source.get_real("implicit/step_before");
  auto const size = static_cast<std::size_t>(run_.grid.size());
  for (Array<T>* const array : evolved_)
    for (int const number : {2, 3})
      source.get_array(fmt::format("implicit/{}.{}", array->row().name, number),
                       std::span<T>(array->buffer(number), size), stream_);
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
void ImplicitSteps<T>::commit(system::StepControl const*) {
  refuse_attempt();
}

template <class T>
void ImplicitSteps<T>::find_rate(evaluate::DeviceClock const*, system::ErrorScale,
                                 std::span<system::WorstError>) {
  refuse_attempt();
}

template <class T>
std::unique_ptr<ImplicitSteps<T>> make_implicit_steps(Stream const& stream,
                                                      config::RunConfig const& run, State<T>& state,
                                                      std::vector<Array<T>*> const& evolved,
                                                      std::vector<system::Input<T>> const& inputs,
                                                      StepParts parts) {
  if (run.time.scheme == "ark3")
    return std::make_unique<AdditiveSteps<T>>(stream, run, state, evolved, inputs,
                                              std::move(parts));
  return std::make_unique<Backward<T>>(stream, run, state, evolved, inputs, std::move(parts));
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template class ImplicitSteps<T>;                                                       \
  template std::unique_ptr<ImplicitSteps<T>> make_implicit_steps(                        \
      Stream const&, config::RunConfig const&, State<T>&, std::vector<Array<T>*> const&, \
      std::vector<system::Input<T>> const&, StepParts);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::pde
