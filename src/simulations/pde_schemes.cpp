#include "simulations/pde_schemes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "equations/ill_posed.hpp"
#include "model/entry.hpp"
#include "model/modal_scheme.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_parameters.hpp"

namespace gridstride::pde {

namespace {

/// The names of schemes in files, the default first.
struct SchemeName {
  std::string_view name;
  std::string_view scheme;
};
constexpr SchemeName names_of_schemes[] = {{"rk4", "rk4"},        {"rk45", "rk45"},
                                           {"ssprk3", "ssp_rk3"}, {"ssprk2", "ssp_rk2"},
                                           {"euler", "euler"},    {"leapfrog", "leapfrog"}};
// The schemes in modes that take what is linear by itself come after these, by their own names.

/// By leapfrog fields of order 2 have no rates of their own: they follow those of their rates.
equations::Stencil without_rates(config::RunConfig const& run, equations::Stencil stencil) {
  if (!is_leapfrog(run) || !parameters_as<Parameters>(run).is_of_order_2()) return stencil;
  std::size_t const half = stencil.rates.size() / 2;
  stencil.rates.erase(stencil.rates.begin(), stencil.rates.begin() + std::ssize(stencil.rates) / 2);
  std::erase_if(stencil.reactions, [&](auto const& one) { return one.rate < half; });
  for (auto& one : stencil.reactions) one.rate -= half;
  for (auto& held : stencil.held)
    std::erase_if(held, [&](std::size_t component) { return component >= half; });
  return stencil;
}

}  // namespace

std::vector<std::string_view> scheme_names() {
  std::vector<std::string_view> names;
  for (auto const& [name, scheme] : names_of_schemes) names.push_back(name);
  for (std::string_view const name : implicit_modal_schemes()) names.push_back(name);
  return names;
}

bool is_leapfrog(config::RunConfig const& run) { return run.time.scheme == "leapfrog"; }

SlopeScheme const* slopes_of(config::RunConfig const& run) {
  if (!run.time.adaptive && run.time.scheme != "rk45" && !is_leapfrog(run)) return nullptr;
  if (goes_by_multigrid(run)) return nullptr;
  return &find_slope_scheme(
      std::ranges::find(names_of_schemes, run.time.scheme, &SchemeName::name)->scheme);
}

Scheme const& scheme_of(config::RunConfig const& run) {
  if (auto const* slopes = slopes_of(run)) return slopes->scheme;
  if (goes_by_multigrid(run)) return multigrid_scheme(run.time.scheme);
  return find_scheme(
      std::ranges::find(names_of_schemes, run.time.scheme, &SchemeName::name)->scheme);
}

int degree_of(config::RunConfig const& run) { return explicit_region(run).degree; }

std::vector<double> stage_times(config::RunConfig const& run) {
  std::vector<double> times;
  if (auto const* slopes = slopes_of(run))
    for (SlopeStage const& stage : slopes->stages) times.push_back(stage.moment.time);
  else
    for (Stage const& stage : scheme_of(run).stages) times.push_back(stage.time);
  std::ranges::sort(times);
  auto const [first, last] = std::ranges::unique(times);
  times.erase(first, last);
  return times;
}

equations::System const& system_of(config::RunConfig const& run) {
  return parameters_as<Parameters>(run).system.value();
}

equations::Space const& space_of(config::RunConfig const& run) {
  return parameters_as<Parameters>(run).space;
}

namespace {

/// What steps take explicitly.
equations::System explicit_system(config::RunConfig const& run) {
  return goes_by_multigrid(run) ? diffusion_split_of(run).rest : system_of(run);
}

/// The components that each side gives values of, where these are some of several.
std::vector<std::vector<std::size_t>> held_by_sides(config::RunConfig const& run) {
  std::set<std::vector<std::size_t>> all;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      std::vector<std::size_t> held;
      std::size_t count = 0;
      for (auto const& unknown : system_of(run).unknowns) {
        SideKind const kind = run.sides_of(unknown.name)[axis][end].kind;
        for (std::size_t i = 0; i < static_cast<std::size_t>(unknown.components); ++i, ++count)
          if (kind == SideKind::dirichlet ||
              (kind == SideKind::wall && unknown.is_vector && i == axis))
            held.push_back(count);
      }
      if (!held.empty() && held.size() < count) all.insert(held);
    }
  return {all.begin(), all.end()};
}

equations::Stencil stability_of(config::RunConfig const& run, equations::System const& system,
                                Grid const& grid) {
  auto stencil = equations::discretise_for_stability(system, grid, space_of(run));
  stencil.held = held_by_sides(run);
  return stencil;
}

equations::Stencil stability_on(config::RunConfig const& run, Grid const& grid) {
  return without_rates(run, stability_of(run, system_of(run), grid));
}

}  // namespace

equations::Stencil stencil_of(config::RunConfig const& run) {
  return without_rates(
      run, equations::discretise(explicit_system(run), run.grid, space_of(run),
                                 equations::NamesAs::arrays, equations::LastingAs::arrays));
}

std::shared_ptr<equations::Linearisation const> linearisation_of(config::RunConfig const& run) {
  auto& [guard, grid, scheme, found] = parameters_as<Parameters>(run).linearisation;
  std::scoped_lock const lock(guard);
  if (!found || grid != run.grid || scheme != run.time.scheme) {
    found = std::make_shared<equations::Linearisation const>(stability_on(run, run.grid));
    grid = run.grid;
    scheme = run.time.scheme;
  }
  return found;
}

std::vector<std::shared_ptr<equations::Linearisation const>> explicit_linearisations(
    config::RunConfig const& run) {
  if (!goes_by_multigrid(run)) return {linearisation_of(run)};
  auto const rest = explicit_system(run);
  auto const linearised = [&](equations::System const& system) {
    return std::make_shared<equations::Linearisation const>(stability_of(run, system, run.grid));
  };
  std::vector<std::shared_ptr<equations::Linearisation const>> all = {linearised(rest)};
  for (std::size_t c = 0; rest.rates.size() > 1 && c < rest.rates.size(); ++c) {
    auto alone = rest;
    for (std::size_t other = 0; other < rest.rates.size(); ++other)
      if (other != c) alone.rates[other] = alone.terms.number(0);
    all.push_back(linearised(alone));
  }
  return all;
}

equations::Stencil finer_stability_of(config::RunConfig const& run) {
  Grid finer = run.grid;
  for (double& spacing : finer.spacing) spacing /= equations::finer_by;
  return stability_on(run, finer);
}

void check_leapfrog(config::RunConfig const& run, std::vector<Problem>& problems) {
  if (!is_leapfrog(run)) return;
  auto const refuse = [&](std::string const& why) {
    problems.push_back(run.problem(run.location("time.scheme"), why));
  };
  if (run.time.adaptive)
    return refuse(
        "leapfrog takes steps of one length, without which it keeps no energy (rk45 and "
        "the others follow their error)");
  if (!parameters_as<Parameters>(run).is_of_order_2())
    return refuse(
        "leapfrog takes equations of order 2 in time alone ('fields: {u: {order: 2}}' "
        "makes one u_tt = ...)");
  if (space_of(run).convection != equations::Convection::central)
    return refuse("leapfrog takes waves that nothing carries along (see space.convection)");
  auto const stencil = stencil_of(run);
  auto const accelerations = equations::whole_program(stencil, run.grid.dims);
  auto const& unknowns = system_of(run).unknowns;
  auto const half = static_cast<int>(stencil.rates.size());
  for (auto const& node : accelerations.code) {
    if (node.kind != equations::Kind::unknown || node.index < half || node.index >= 2 * half)
      continue;
    auto const after =
        std::ranges::upper_bound(unknowns, node.index, {}, &equations::Unknown::first);
    return refuse(
        fmt::format("leapfrog takes no equations with rates in them, and here is {} "
                    "(rk4 takes them)",
                    std::prev(after)->name));
  }
}

}  // namespace gridstride::pde
