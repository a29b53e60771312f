#include "simulations/pde_balance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "equations/text.hpp"
#include "model/entry.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {
namespace {

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
/// A sum of many values has few of their roundings, some for each value.
template <class T>
constexpr double rounding = 100 * epsilon<T>;

equations::System with_terms_of(config::RunConfig const& run, equations::ModalSplit const& split) {
  equations::System system = system_of(run);
  system.terms = split.terms;
  return system;
}

equations::Stencil mean_and_largest(config::RunConfig const& run, equations::System system,
                                    equations::Term balance) {
  auto& terms = system.terms;
  system.rates = {terms.global(equations::Kind::mean, balance),
                  terms.global(equations::Kind::greatest,
                               terms.operation(expression::Operation::abs, balance))};
  return equations::discretise(system, run.grid, space_of_values(run));
}

}  // namespace

template <class T>
Balances<T>::Balances(config::RunConfig const& run, equations::ModalSplit const& split,
                      Stream const& stream)
    : run_(run),
      system_(with_terms_of(run, split)),
      stream_(stream),
      clock_(stream_, MemorySpace::device, 1),
      scratch_(stream_, MemorySpace::device,
               split.balances.empty() ? 0 : static_cast<std::size_t>(run.grid.size())) {
  for (std::size_t i = 0; i < split.balances.size(); ++i) {
    auto stencil = mean_and_largest(run, system_, split.balances[i]);
    GlobalFinder<T> finder(stream_, run.grid, wraps_of(run), stencil.terms, stencil.operands);
    balances_.push_back(
        {split.balances[i], split.balanced[i], std::move(stencil), std::move(finder)});
  }
}

template <class T>
std::size_t Balances<T>::bytes(config::RunConfig const& run, equations::ModalSplit const& split,
                               Backend backend) {
  if (split.balances.empty()) return 0;
  auto const system = with_terms_of(run, split);
  std::size_t bytes =
      sizeof(evaluate::DeviceClock) + static_cast<std::size_t>(run.grid.size()) * sizeof(T);
  for (equations::Term const balance : split.balances)
    bytes += GlobalFinder<T>::bytes(backend, run.grid,
                                    mean_and_largest(run, system, balance).operands.size());
  return bytes;
}

template <class T>
void Balances<T>::find(double time, std::vector<system::Input<T>> const& inputs) {
  if (balances_.empty()) return;
  evaluate::set_clock(stream_, clock_.data(), {time, 0, 0});
  for (Balance& balance : balances_) {
    balance.finder.find(inputs, clock_.data(), 0, scratch_.span(), evaluating_variant(run_));
    auto const found = balance.finder.on_host();
    auto const& stencil = balance.stencil;
    balance.mean = value_of(stencil.terms, stencil.rates[0], time, found);
    balance.largest =
        std::max(balance.largest, value_of(stencil.terms, stencil.rates[1], time, found));
  }
}

template <class T>
std::string Balances<T>::open_part(Balance const& balance) const {
  return fmt::format(
      "beside that field it has {}, whose mean is {:.6g} and would have to be 0, as "
      "that of what is differentiated is",
      equations::to_text(system_, balance.of), balance.mean);
}

template <class T>
std::string Balances<T>::text_of_constraint(Balance const& balance) const {
  auto const& system = system_of(run_);
  return equations::to_text(system,
                            system.constraints[static_cast<std::size_t>(balance.constraint)]);
}

template <class T>
void Balances<T>::check_given(double time, std::vector<system::Input<T>> const& inputs) {
  for (Balance& balance : balances_) balance.largest = 0;
  find(time, inputs);
  for (Balance const& balance : balances_) {
    if (std::abs(balance.mean) <= rounding<T> * balance.largest) continue;
    auto const& key =
        parameters_of(run_).key_of_constraint(static_cast<std::size_t>(balance.constraint));
    throw ConfigError({run_.problem(
        run_.location(key),
        fmt::format("no field makes it hold: {} (take the mean from the first value, as in "
                    "'w - mean(w)')",
                    open_part(balance)))});
  }
}

template <class T>
void Balances<T>::check(double time, std::vector<system::Input<T>> const& inputs) {
  find(time, inputs);
  for (Balance const& balance : balances_)
    if (std::abs(balance.mean) > std::sqrt(epsilon<T>) * balance.largest)
      throw NumericalError(
          fmt::format("until t = {} s: no field makes the constraint '0: {}' hold: {} (the other "
                      "equations move that mean: a source in them needs a mean of 0)",
                      time, text_of_constraint(balance), open_part(balance)));
}

template <class T>
void Balances<T>::save(CheckpointSink& sink) const {
  for (std::size_t i = 0; i < balances_.size(); ++i)
    sink.put_real(fmt::format("balance/{}", i), balances_[i].largest);
}

template <class T>
void Balances<T>::load(CheckpointSource const& source) {
  for (std::size_t i = 0; i < balances_.size(); ++i)
    balances_[i].largest = source.get_real(fmt::format("balance/{}", i));
}

template class Balances<float>;
template class Balances<double>;

}  // namespace gridstride::pde
