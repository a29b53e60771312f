#include "simulations/pde_ill_posed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "simulations/pde_schemes.hpp"

namespace gridstride::pde {
namespace {

/// The fields that these components are of.
std::vector<std::string> fields_with(equations::System const& system,
                                     std::vector<std::size_t> const& components) {
  std::vector<std::string> names;
  for (auto const& unknown : system.unknowns)
    if (std::ranges::any_of(components, [&](std::size_t c) {
          auto const component = static_cast<int>(c);
          return component >= unknown.first && component < unknown.first + unknown.components;
        }))
      names.push_back(unknown.name);
  return names;
}

}  // namespace

std::optional<Problem> ill_posed_problem(config::RunConfig const& run, WaveGrowths const& here,
                                         std::function<WaveGrowths()> const& on_finer) {
  auto const found = equations::find_ill_posed(here, on_finer);
  if (!found) return std::nullopt;
  // By leapfrog components are those of accelerations, in 1/s².
  char const* const unit = is_leapfrog(run) ? "1/s^2" : "1/s";
  auto const names = fields_with(system_of(run), found->components);
  bool const has_others = names.size() > 1;
  std::string const others =
      has_others ? fmt::format("together with what the equation of '{}' does ",
                               fmt::join(names.begin() + 1, names.end(), "' and that of '"))
                 : "";
  return run.problem(
      run.location("equations." + names.front()),
      fmt::format(
          "{}the shortest waves of the grid grow fastest, by {:.4g} {}, and faster still on "
          "a finer grid, which no scheme can follow (is a sign wrong, as that of {}, or the "
          "grid too coarse for what damps them?)",
          others, found->growth, unit,
          has_others ? "one in 'u: laplace(v), v: laplace(u)'" : "-laplace(u)"));
}

}  // namespace gridstride::pde
