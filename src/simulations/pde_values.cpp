#include "simulations/pde_values.hpp"

#include <cstddef>
#include <utility>

#include "core/error.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_schemes.hpp"

namespace gridstride::pde {

bool has_values_by_modes(config::RunConfig const& run) { return parameters_of(run).is_spectral; }

equations::ValuesByModes values_by_modes(config::RunConfig const& run) {
  Parameters const& parameters = parameters_of(run);
  StopOptions const& stop = parameters.sections.stop;
  equations::ValuesByModes values(system_of(run), stop.steady.has_value());
  auto const add = [&](equations::Term term) {
    try {
      values.of(term);
    } catch (Error const&) {  // is told where the term is asked for
    }
  };
  for (Quantity const& quantity : parameters.quantities)
    for (equations::Term const term : terms_of(quantity, run.grid.dims)) add(term);
  for (auto const& event : parameters.sections.events)
    for (auto const& [target, term] : event.values) add(term);
  if (stop.condition >= 0) add(stop.condition);
  return values;
}

namespace {

equations::Stencil stencil_of(config::RunConfig const& run, equations::System system,
                              std::vector<equations::Term> terms) {
  system.rates = std::move(terms);
  return equations::discretise(system, run.grid, space_of_values(run));
}

}  // namespace

equations::Stencil value_stencil(config::RunConfig const& run, std::vector<equations::Term> terms) {
  if (!has_values_by_modes(run)) return stencil_of(run, system_of(run), std::move(terms));
  auto values = values_by_modes(run);
  for (equations::Term& term : terms) term = values.of(term);
  return stencil_of(run, values.system(), std::move(terms));
}

equations::Stencil rate_stencil(config::RunConfig const& run) {
  if (!has_values_by_modes(run)) return stencil_of(run, system_of(run), system_of(run).rates);
  auto values = values_by_modes(run);
  std::vector<equations::Term> rates;
  for (int c = 0; c < system_of(run).component_count(); ++c) rates.push_back(values.rate(c));
  return stencil_of(run, values.system(), std::move(rates));
}

}  // namespace gridstride::pde
