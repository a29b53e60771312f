#include "simulations/pde_ranks.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "equations/parity.hpp"
#include "equations/stability.hpp"
#include "kernels/support/rank_pieces.hpp"
#include "model/own_values.hpp"
#include "model/rank_files.hpp"
#include "simulations/pde_events.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_initial.hpp"
#include "simulations/pde_lasting.hpp"
#include "simulations/pde_march.hpp"
#include "simulations/pde_modes.hpp"
#include "simulations/pde_names.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"
#include "simulations/pde_stop.hpp"

namespace gridstride::pde {

namespace {

/// Of all components and those of names with sides, whether they have the other sign around the slowest
/// axis.
std::vector<char> turned_around(config::RunConfig const& run) {
  auto const slowest = static_cast<std::size_t>(run.grid.dims - 1);
  std::vector<char> turned;
  auto const add = [&](equations::Unknown const& unknown) {
    bool const turns = run.sides_of(unknown.name)[slowest][0].kind == SideKind::antiperiodic;
    turned.insert(turned.end(), static_cast<std::size_t>(unknown.components), turns ? 1 : 0);
  };
  for (auto const& unknown : system_of(run).unknowns) add(unknown);
  for (auto const& [name, terms] : system_of(run).names) add(name);
  return turned;
}

bool turns_around(config::RunConfig const& run) {
  return std::ranges::any_of(turned_around(run), [](char turns) { return turns != 0; });
}

bool is_zero(config::Formula const& formula) {
  auto const nodes = formula.expression.nodes();
  return nodes.size() == 1 && nodes[0].operation == expression::Operation::number &&
         nodes[0].value == 0;
}

/// Whether steps of what has the other sign are those of the fields with the other sign: planes beyond the
/// ends of the axis, which ranks make steps of, too, have it.
bool turns_with_fields(config::RunConfig const& run) {
  auto turned = turned_around(run);
  auto const stencil = stencil_of(run);
  turned.resize(turned.size() + stencil.lasting.size(), 0);
  int const dims = run.grid.dims;
  std::size_t place = 0;
  auto const follow = [&](equations::StencilProgram const& program) {
    for (auto const& parity : equations::parities_of(program, turned))
      if (turned.at(place++) != 0 ? !parity.opposite : !parity.same) return false;
    return true;
  };
  auto const components = static_cast<std::size_t>(system_of(run).component_count());
  place = components - stencil.rates.size();  // by leapfrog rates of rates alone
  if (place > 0 && !std::equal(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(place),
                               turned.begin() + static_cast<std::ptrdiff_t>(place)))
    return false;
  if (!follow(equations::program_of(stencil.terms, stencil.rates, dims))) return false;
  auto const names = name_programs(stencil, dims);
  return std::ranges::all_of(names, follow);
}

/// Whether what has the other sign has a value on a side along another axis, which would have it, too.
bool has_values_beside(config::RunConfig const& run) {
  auto const slowest = static_cast<std::size_t>(run.grid.dims - 1);
  return std::ranges::any_of(run.boundary, [&](config::Sides const& sides) {
    if (sides[slowest][0].kind != SideKind::antiperiodic) return false;
    return std::ranges::any_of(std::span(sides).first(slowest), [](auto const& ends) {
      return std::ranges::any_of(ends, [](config::SideCondition const& side) {
        return has_values(side.kind) &&
               !(side.components.empty() ? is_zero(side.value)
                                         : std::ranges::all_of(side.components, is_zero));
      });
    });
  });
}

std::string needed_of(config::RunConfig const& run) try {
  bool const is_explicit = !goes_by_modes(run) && !goes_by_multigrid(run);
  bool const turns = is_explicit && turns_around(run);
  Obstacle const obstacles[] = {
      {goes_by_modes(run),
       "by differences, explicit ones or implicit ones with 'implicit: {solver: multigrid}'"},
      {goes_by_multigrid(run) && run.grid.dims == 1,
       "of grids with two or three axes, where they are implicit"},
      {!system_of(run).sides.empty(), "with sides that do not follow from fields"},
      {turns && !turns_with_fields(run),
       "where the slowest axis is antiperiodic with equations that change their sign with those "
       "fields"},
      {turns && has_values_beside(run),
       "where the slowest axis is antiperiodic with sides along the others that give such fields "
       "0"}};
  return needed_for(obstacles);
} catch (Error const&) {
  return {};  // of equations that nobody takes, which is told by itself
}

/// Points along an axis that names with sides look at, which come before what reads them; what they hold on
/// sides is put on the ends of a part, too.
std::int64_t reach_of_names(equations::Stencil const& stencil, int dims, int axis) {
  std::int64_t reach = 0;
  for (auto const& program : name_programs(stencil, dims))
    reach += std::max<std::int64_t>(program.reach[static_cast<std::size_t>(axis)], 1);
  return reach;
}

/// Points along an axis that a stage looks at.
std::int64_t reach_of_stage(config::RunConfig const& run, equations::Stencil const& stencil,
                            int axis) {
  auto const along =
      [axis = static_cast<std::size_t>(axis)](equations::StencilProgram const& program) {
        return std::int64_t{program.reach[axis]};
      };
  std::int64_t reach = along(equations::whole_program(stencil, run.grid.dims));
  if (parameters_of(run).sections.stop.condition >= 0) {
    auto const condition = condition_stencil(run);
    reach = std::max(reach, along(equations::whole_program(condition, run.grid.dims)));
  }
  reach += reach_of_names(stencil, run.grid.dims, axis);
  if (run.time.adaptive) return std::max<std::int64_t>(reach, 1);
  auto const linearisation = linearisation_of(run);
  auto const coefficients = linearisation->coefficients();
  auto const operands = linearisation->operands();
  std::vector<equations::Term> terms(coefficients.begin(), coefficients.end());
  terms.insert(terms.end(), operands.begin(), operands.end());
  reach =
      std::max(reach, along(equations::program_of(linearisation->terms(), terms, run.grid.dims)));
  return std::max<std::int64_t>(reach, 1);
}

/// Planes that a step looks at. Implicit stages have an exchange each.
std::int64_t reach_of_step(config::RunConfig const& run, equations::Stencil const& stencil) {
  auto const* const slopes = slopes_of(run);
  auto const stages = slopes                   ? std::ssize(slopes->stages)
                      : goes_by_multigrid(run) ? 1
                                               : std::ssize(scheme_of(run).stages);
  return stages * reach_of_stage(run, stencil, run.grid.dims - 1);
}

/// Whether the limit of the step follows from fields, which are looked at for it.
bool is_looked_at(config::RunConfig const& run) {
  if (run.time.adaptive) return false;
  auto const linearisation = linearisation_of(run);
  return std::ranges::any_of(linearisation->coefficients(), [&](equations::Term term) {
    return linearisation->terms().contains(term, equations::Kind::unknown);
  });
}

/// Whether what is queued looks at the time, so that steps are made one by one.
bool looks_at_time(config::RunConfig const& run, equations::Stencil const& stencil,
                   std::vector<Row> const& rows) {
  return equations::whole_program(stencil, run.grid.dims).needs_clock() || depends_on_time(rows);
}

/// Arrays of the whole grid that the first rank has beside the state, and no other.
int arrays_of_first(std::vector<Row> const& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0, [](int sum, Row const& row) {
    bool const is_of_first = row.role == Role::scratch && row.name != "coefficient" &&
                             !is_implicit_row(row) && !is_lasting_row(row);
    return is_of_first ? sum + row.arrays : sum;
  });
}

/// What ranks that cut another axis, too, would need.
std::string needed_of_strips(config::RunConfig const& run, std::vector<Row> const& rows,
                             equations::Stencil const& stencil, std::size_t which) {
  int const slowest = run.grid.dims - 1, axis = axis_of_strips(run.grid.dims, which);
  if (axis < 0) return "of grids with more axes";
  auto const turns = [&](config::Sides const& sides) {
    return sides[static_cast<std::size_t>(axis)][0].kind == SideKind::antiperiodic;
  };
  Obstacle const obstacles[] = {
      {goes_by_multigrid(run), "by explicit schemes"},
      {shares_numbers(run) || parameters_of(run).sections.stop.steady,
       "without values over the whole grid and without a condition to end"},
      {std::ranges::any_of(run.boundary, turns), "where no axis that is cut is antiperiodic"},
      {reach_of_stage(run, stencil, axis) > reach_of_stage(run, stencil, slowest),
       "with differences that reach as far along the slowest axis as along the others that are "
       "cut"}};
  auto const needed = needed_for(obstacles);
  return needed.empty() ? needed_of_formulas(run, rows)[which] : needed;
}

SweepPlan plan_of(SweepShape const& shape, int ranks) {
  SweepPlan plan{shape};
  plan.ranks = ranks;
  return plan;
}

/// Planes that a rank has at most, with the halos of a step.
std::int64_t most_planes(SweepPlan const& plan) {
  std::int64_t most = 0;
  for (int rank = 0; rank < plan.ranks; ++rank) most = std::max(most, plan.owned_by(rank).count());
  return most + 2 * plan.rank_halo();
}

/// What implicit steps take beside the state, in arrays of a rank's planes: solvers and what they sum,
/// boxes for planes and halos, and for the first limit of the step, which the first rank finds by itself where it
/// has the whole, an array of the whole grid for each of what is linearised.
int arrays_of_solvers(config::RunConfig const& run, Device const& device,
                      std::vector<Row> const& rows, SweepShape const& shape, bool without_whole) {
  auto const plan = plan_of(shape, run.ranks);
  std::size_t const array = static_cast<std::size_t>(most_planes(plan)) * shape.plane_bytes();
  std::size_t const halos = static_cast<std::size_t>(plan.rank_halo() * shape.arrays);
  constexpr std::size_t boxes = 4;
  std::size_t const bytes =
      solver_bytes(run, device.backend(), plan.cuts()) +
      boxes * static_cast<std::size_t>(shape.plane_values()) * sizeof(double) +
      RankPieces::bytes(halos * shape.plane_bytes(), 0, run.ranks);
  int arrays = static_cast<int>((bytes + array - 1) / array);
  for (Row const& row : rows) {
    if (row.role != Role::scratch) continue;
    if (is_implicit_row(row)) arrays += row.arrays;
    if (row.name == "coefficient") arrays += (without_whole ? 1 : run.ranks) * row.arrays;
  }
  return arrays;
}

std::vector<std::string> evolved_of(std::vector<Row> const& rows) {
  std::vector<std::string> names;
  for (Row const& row : rows)
    if (row.role == Role::evolved) names.push_back(row.name);
  return names;
}

SlabSteps slab_steps(config::RunConfig const& run, Device const& device,
                     std::vector<Row> const& rows) {
  SlabSteps steps{.shape = {}, .evolved = evolved_of(rows), .needed_of_ranks = needed_of(run)};
  auto& shape = steps.shape;
  shape.grid = run.grid;
  shape.value_bytes = size_of(run.precision);
  if (!steps.needed_of_ranks.empty()) return steps;
  auto const stencil = stencil_of(run);
  auto const slowest = static_cast<std::size_t>(run.grid.dims - 1);
  Scheme const& scheme = scheme_of(run, device.backend());
  auto const components = static_cast<int>(steps.evolved.size());
  shape.periodic = wraps_of(run)[slowest];
  shape.periodic_across =
      of_strip_axes<bool>(run.grid.dims, [&](std::size_t axis) { return wraps_of(run)[axis]; });
  for (std::size_t which = 0; which < strip_axes; ++which)
    steps.needed_of_strips[which] = needed_of_strips(run, rows, stencil, which);
  shape.arrays = shape.made = components;
  auto const turned = turned_around(run);
  for (int c = 0; c < components; ++c)
    if (turned[static_cast<std::size_t>(c)] != 0) shape.turned |= 1U << c;
  auto const* const slopes = slopes_of(run);
  bool const is_implicit = goes_by_multigrid(run);
  shape.reach = reach_of_step(run, stencil);
  shape.alike = slopes == nullptr && !is_implicit && !looks_at_time(run, stencil, rows);
  shape.looked_at = is_looked_at(run);
  shape.values_per_update = 2.0 * components * static_cast<double>(scheme.stages.size());
  auto const lasting = static_cast<int>(stencil.lasting.size());
  steps.without_whole = begins_with_parts(run, device.backend());
  bool const reads_whole = !steps.without_whole && names_read_lasting(run, stencil);
  shape.scratch = (steps.without_whole ? 0 : run.ranks * arrays_of_first(rows)) +
                  (reads_whole ? run.ranks + 1 : 1) * lasting +
                  (is_written_by_all(run, device.backend()) ? quantity_numbers(run) : 0);
  if (goes_by_passes(run, device.backend())) {
    auto const program = equations::program_of(stencil.terms, stencil.rates, run.grid.dims);
    bool const has_globals = !stencil.operands.empty();
    auto const system = pass_system(run, program, scheme);
    if (has_globals) {
      GlobalPassPlan const plan(system.what, system.operands);
      shape.values_per_update = static_cast<double>(plan.passes().size()) * components;
    } else {
      with_zero_of(run.precision, [&](auto zero) {
        Passes<decltype(zero)> const passes(Stream(device), system);
        shape.fused_steps = shape.alike ? passes.longest() : 1;
      });
      shape.values_per_update = 2.0 * components / shape.fused_steps;
    }
    if (shape.alike && run.grid.dims == 2 && !has_globals) shape.parts = 4;
  } else {
    shape.scratch += components * scratch_buffers(run, scheme) + system_of(run).name_count() +
                     (GlobalFinder<float>::needs_scratch(stencil.terms, stencil.operands) ? 1 : 0);
  }
  if (shares_numbers(run))
    shape.together = reduce::planes_of_part(device.backend(), run.grid.dims, run.grid.points);
  if (!is_implicit) return steps;
  if (!goes_by_planes(run, rows)) steps.needed_of_ranks = "with simpler formulas";
  shape.together = std::lcm(shape.together, planes_together(run, device.backend()));
  if (run.ranks > 1 && run.ranks <= most_ranks(shape))
    shape.scratch += arrays_of_solvers(run, device, rows, shape, steps.without_whole);
  return steps;
}

/// Whether the limit of the step follows from values over the whole grid.
bool limits_are_shared(config::RunConfig const& run) {
  return !run.time.adaptive && !linearisation_of(run)->operands().empty();
}

/// Whether what looks so far along each axis, and at names with sides, finds it all among what a rank has of its
/// neighbours for a step.
template <class Reach>
bool is_within_halo(config::RunConfig const& run, Reach const& reach_along) {
  auto const stencil = stencil_of(run);
  std::int64_t const halo = reach_of_step(run, stencil);
  for (int axis = 0; axis < run.grid.dims; ++axis)
    if (std::int64_t const reach = reach_along(axis);
        reach > 0 && reach + reach_of_names(stencil, run.grid.dims, axis) > halo)
      return false;
  return true;
}

/// Whether each rank does what events do at its own points: they look no farther than a step, and take no
/// values over the whole grid.
bool does_events_in_parts(config::RunConfig const& run) {
  auto const events = parameters_of(run).sections.events.size();
  for (std::size_t event = 0; event < events; ++event) {
    auto const stencil = event_stencil(run, event);
    auto const program = equations::whole_program(stencil, run.grid.dims);
    auto const reach = [&](int axis) {
      return std::int64_t{program.reach[static_cast<std::size_t>(axis)]};
    };
    if (!stencil.operands.empty() || !is_within_halo(run, reach)) return false;
  }
  return true;
}

/// Whether each rank makes first values of others' at its own points: they look no farther than a step, nor all
/// together farther than what stands for the sides of parts reaches, and take no values over the whole grid. What has the
/// other sign around an axis is the first rank's with such.
bool makes_first_values_in_parts(config::RunConfig const& run) {
  if (!parameters_of(run).initial) return true;
  if (turns_around(run) || !first_values_are_nearby(run)) return false;
  auto const values = first_values(run);
  for (FirstValues const& one : values) {
    auto const reach = [&](int axis) {
      return std::int64_t{one.program.reach[static_cast<std::size_t>(axis)]};
    };
    if (!is_within_halo(run, reach)) return false;
  }
  SweepPlan plan;
  plan.shape.reach = reach_of_step(run, stencil_of(run));
  auto const fewest = *std::ranges::min_element(
      std::span(run.grid.points).first(static_cast<std::size_t>(run.grid.dims)));
  return 2 * wide_plan(run, plan).shape.reach <= fewest;
}

/// Whether something is made of the state in arrays beside it, on a first rank that has the whole.
bool needs_spare(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  return parameters.initial || !parameters.sections.events.empty();
}

}  // namespace

bool shares_numbers(config::RunConfig const& run) {
  return parameters_of(run).sections.stop.condition >= 0 || !stencil_of(run).operands.empty() ||
         limits_are_shared(run);
}

bool is_written_by_all(config::RunConfig const& run, Backend backend) {
  if (!is_written_in_parts(run, backend)) return false;
  if (goes_by_multigrid(run) && backend != Backend::cpu) return false;
  if (!finds_quantities_in_parts(run)) return false;
  return quantity_numbers(run) == 0 ||
         is_within_halo(run, [&](int axis) { return reach_of_quantities(run, axis); });
}

SweepPlan wide_plan(config::RunConfig const& run, SweepPlan plan) {
  std::int64_t more = 0;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    more = std::max(more, reach_of_first_values(run, axis));
  if (more > 0) plan.trip_steps = 1;
  plan.shape.reach += more;
  return plan;
}

/// Limits of the step that follow from values over the whole grid, events that take them or look too far, and first
/// values that do so are the first rank's.
bool begins_with_parts(config::RunConfig const& run, Backend backend) {
  if (run.ranks == 1 || !goes_without_whole(run, backend) || goes_by_modes(run) ||
      !is_written_by_all(run, backend) || !makes_first_values_in_parts(run) ||
      !does_events_in_parts(run) || limits_are_shared(run))
    return false;
  return std::ranges::all_of(
      run.initial, [&](auto const& initial) { return goes_by_planes(initial.second, run.grid); });
}

std::string refusal_of_ranks(config::RunConfig const& run) {
  if (run.ranks == 1) return {};
  SlabSteps const steps{.shape = {}, .evolved = {}, .needed_of_ranks = needed_of(run)};
  return steps.refusal_of_ranks();
}

std::optional<SweepPlan> rank_plan(config::RunConfig const& run, Device const& device) {
  if (run.ranks == 1) return {};
  auto const rows = rows_of(run, device.backend());
  return plan_slabs(run, device, rows, slab_steps(run, device, rows));
}

std::vector<Row> rank_rows(config::RunConfig const& run, Device const& device,
                           std::optional<SweepPlan> const& plan) {
  auto rows = rows_of(run, device.backend());
  if (!plan) return rows;
  SlabSteps const steps{.shape = plan->shape,
                        .evolved = evolved_of(rows),
                        .without_whole = begins_with_parts(run, device.backend())};
  rows = rows_of_slabs(run, std::move(rows), steps, *plan);
  for (Row& row : rows)
    if (row.role == Role::evolved && row.arrays > 0 && needs_spare(run)) row.arrays = 2;
  Planes const own = plan->owned_by(ranks().rank());
  for (Row& row : rows)  // as equations that ranks share have them
    if (row.planes && is_implicit_row(row)) row.planes = {own.lower - 1, own.upper + 1};
  return rows;
}

MemoryForecast rank_memory(config::RunConfig const& run, Device const& device) {
  auto rows = rows_of(run, device.backend());
  auto steps = slab_steps(run, device, rows);
  auto const plan = plan_slabs(run, device, rows, steps);
  steps.other_bytes = global_pass_bytes(run, device.backend()) +
                      global_finder_bytes(run, device.backend(), !steps.without_whole);
  std::erase_if(rows, [](Row const& row) {  // the plan counts them
    return row.role == Role::scratch && row.name != "coefficient";
  });
  auto memory = forecast_slabs(run, device, rows, steps, plan);
  if (!steps.without_whole && needs_spare(run)) memory.host_bytes += steps.shape.bytes();
  if (!goes_by_multigrid(run)) return memory;
  std::size_t const kept = add_kept_memory(memory, run);
  if (!is_written_by_all(run, device.backend())) memory.host_bytes += kept;
  return memory;
}

}  // namespace gridstride::pde
