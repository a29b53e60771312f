#include "simulations/pde_balance.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>

#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "equations/text.hpp"
#include "model/entry.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {
namespace {

/// A sum of many values has few of their roundings, some for each value.
template <class T>
constexpr double rounding = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// What a balance is in the mean, and its largest size.
struct Balance {
  double mean, largest;
};

template <class T>
Balance find(config::RunConfig const& run, equations::System system, equations::Term balance,
             Stream stream, std::vector<system::Input<T>> const& inputs) {
  auto& terms = system.terms;
  system.rates = {terms.global(equations::Kind::mean, balance),
                  terms.global(equations::Kind::greatest,
                               terms.operation(expression::Operation::abs, balance))};
  auto const stencil = equations::discretise(system, run.grid, space_of_values(run));
  Buffer<T> scratch(stream, MemorySpace::device, static_cast<std::size_t>(run.grid.size()));
  Buffer<evaluate::DeviceClock> clock(stream, MemorySpace::device, 1);
  evaluate::set_clock(stream, clock.data(), {0, 0, 0});
  GlobalFinder<T> finder(stream, run.grid, wraps_of(run), stencil.terms, stencil.operands);
  finder.find(inputs, clock.data(), 0, scratch.span(), evaluating_variant(run));
  auto const found = finder.on_host();
  return {value_of(stencil.terms, stencil.rates[0], 0, found),
          value_of(stencil.terms, stencil.rates[1], 0, found)};
}

}  // namespace

template <class T>
void check_balances(config::RunConfig const& run, equations::ModalSplit const& split,
                    Stream const& stream, std::vector<system::Input<T>> const& inputs) {
  equations::System system = system_of(run);
  system.terms = split.terms;
  for (std::size_t i = 0; i < split.balances.size(); ++i) {
    auto const [mean, largest] = find(run, system, split.balances[i], stream, inputs);
    if (std::abs(mean) <= rounding<T> * largest) continue;
    throw ConfigError({run.problem(
        run.location(
            parameters_of(run).key_of_constraint(static_cast<std::size_t>(split.balanced[i]))),
        fmt::format("no field makes it hold: beside that field it has {}, whose mean is {:.6g} and "
                    "would have to be 0, as that of what is differentiated is (take the mean from "
                    "the first value, as in 'w - mean(w)')",
                    equations::to_text(system, split.balances[i]), mean))});
  }
}

template void check_balances<float>(config::RunConfig const&, equations::ModalSplit const&,
                                    Stream const&, std::vector<system::Input<float>> const&);
template void check_balances<double>(config::RunConfig const&, equations::ModalSplit const&,
                                     Stream const&, std::vector<system::Input<double>> const&);

}  // namespace gridstride::pde
