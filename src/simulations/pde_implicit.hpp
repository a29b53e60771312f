#pragma once

#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "equations/diffusion_split.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "model/entry.hpp"
#include "model/scheme.hpp"

/// Runs of a system whose steps take the diffusion of each field implicitly, by cycles of multigrid:
/// what they take, and what they do not.
namespace gridstride::pde {

/// Whether a run needs modes whatever its scheme is: with derivatives of modes, or with constraints.
bool needs_modes(config::RunConfig const& run);
/// Whether implicit steps of a run go by multigrid.
bool goes_by_multigrid(config::RunConfig const& run);
/// Of such a run the scheme, with the buffers that it needs, and the moments that rates are taken at.
Scheme const& multigrid_scheme(std::string_view name);
/// The order that the estimate of a step's error goes with; 0: the scheme has none.
int multigrid_error_order(std::string_view name);
/// Where what is explicit is stable: in so much of the region of a polynomial of so high a degree, also
/// of runs that are all explicit (1).
struct ExplicitRegion {
  int degree;
  double share;
};
/// Of imex_euler forward Euler's disc, of imex_bdf2 2/3 of it. With λ of what is explicit and any μ ≤ 0
/// of what is implicit its characteristic polynomial
///
///   (3/2 − dt·μ)ζ² − (2 + 2dt·λ)ζ + 1/2 + dt·λ
///
/// has no root outside the unit circle where |dt·λ + 2/3| ≤ 2/3, which it touches at dt·λ = −4/3. Of
/// ark3 |R(dt·λ, dt·μ)| ≤ 1 for all μ ≤ 0 in 1.21 times the region of degree 3, as found along rays.
ExplicitRegion explicit_region(config::RunConfig const& run);

equations::DiffusionSplit diffusion_split_of(config::RunConfig const& run);

/// Components that one equation (1/τ)·v − ∇·(D∇v) + κ·v = g is for.
struct ImplicitGroup {
  std::vector<int> components;
  poisson::Sides kinds;      ///< as multigrid has them: `robin` and `flux` are `neumann`
  bool has_factors = false;  ///< whether there is a robin side
  config::FieldSource diffusivity, decay;
  std::string name;  ///< of its rows: with `.diffusivity` and `.decay`

  bool has_fields() const;  ///< whether a coefficient is more than a number
};
/// Of a run that goes by multigrid without faults. Components of a vector share one where they can.
std::vector<ImplicitGroup> implicit_groups(config::RunConfig const& run);
/// The coefficients of groups.
void add_implicit_rows(std::vector<Row>& rows, config::RunConfig const& run);
bool is_implicit_row(Row const& row);
multigrid::Options implicit_options(config::RunConfig const& run, ImplicitGroup const& group);
/// Adds what solvers take of memory, and what is saved beside the fields.
void add_implicit_memory(MemoryForecast& memory, config::RunConfig const& run, Backend backend);
/// The latter alone; returns its bytes.
std::size_t add_kept_memory(MemoryForecast& memory, config::RunConfig const& run);
/// What all solvers take, of several ranks those of one, and how many planes no rank may cut.
std::size_t solver_bytes(config::RunConfig const& run, Backend backend, RankCuts const& cuts = {});
std::int64_t planes_together(config::RunConfig const& run, Backend backend);

/// Adds what is wrong with the section `implicit`, and what a run by multigrid does not take;
/// returns whether that is nothing.
bool check_implicit(config::RunConfig const& run, std::vector<Problem>& problems);
/// Throws `ConfigError` for a D that is not positive at the beginning, and for an a of ∂u/∂n + a·u = g that is negative
/// somewhere.
void check_implicit_values(config::RunConfig const& run, Inputs const& inputs);

/// What steps take implicitly, a line for each field.
std::vector<std::string> implicit_lines(config::RunConfig const& run);

}  // namespace gridstride::pde
