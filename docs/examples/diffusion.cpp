// ∂u/∂t = D·∇²u on a uniform grid in 1 to 3 dimensions, by central differences and forward Euler.

#include "config/visitor.hpp"
#include "kernels/families.hpp"
#include "kernels/stencil/stencil.hpp"
#include "model/entry.hpp"
#include "model/time_stepping.hpp"

namespace gridstride {

namespace {

struct DiffusionParameters final : config::ParameterSet {
  double diffusivity = config::required_number;

  void fields(config::Visitor& visitor, config::RunOptions const&) override {
    visitor.visit({.name = "diffusivity",
                   .unit = "m^2/s",
                   .documentation = "D: how fast u spreads",
                   .minimum = 0,
                   .exclusive_minimum = true},
                  diffusivity);
  }
};

/// Every array, once: u with the buffers of the scheme, and the values on its sides.
std::vector<Row> diffusion_rows(config::RunConfig const& run, Backend) {
  Scheme const& scheme = find_scheme("euler");
  std::vector<Row> rows = {evolved(run, "u", scheme.buffers)};
  add_sides(rows, run, "u", scheme);
  return rows;
}

double diffusion_time_step(config::RunConfig const& run, Inputs const&, Device const&) {
  double const diffusivity = parameters_as<DiffusionParameters>(run).diffusivity;
  return stable_step(run, stencil::euler_limit(run.grid, diffusivity),
                     depends_on_time(diffusion_rows(run, Backend::cpu)), "1/(2·D·Σ 1/h²)");
}

template <class T>
class Diffusion final : public StagedStepping<T> {
 public:
  Diffusion(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : StagedStepping<T>(run, stream, inputs, diffusion_rows(run, stream.backend()),
                          find_scheme("euler"),
                          whole_steps(diffusion_time_step(run, inputs, stream.device()))) {
    step_.grid = run.grid;
    step_.diffusivity = parameters_as<DiffusionParameters>(run).diffusivity;
    for (int axis = 0; axis < run.grid.dims; ++axis)
      for (int side = 0; side < 2; ++side)
        step_.sides[axis][side] = {run.sides_of("u")[axis][side].kind,
                                   this->state_.side("u", axis, side)};
    this->fill_initial(run, inputs);
    stencil::impose_dirichlet(this->stream_, run.grid, step_.sides, this->buffer(0));
  }

 private:
  void queue_stage(Stage const& stage) override {
    auto step = step_;
    this->set_stage(step, stage);
    stencil::diffuse(this->stream_, step);
  }

  stencil::DiffusionStep<T> step_;  // what all have in common
};

}  // namespace

SimulationEntry diffusion_entry() {
  config::SimulationInfo info;
  info.name = "diffusion";
  info.summary = "diffusion: u_t = D div grad u";
  info.fields = {{"u", "1", "any quantity that spreads"}};
  info.kernels = {{"evaluate", variant_names("evaluate")}};
  return entry<Diffusion, DiffusionParameters>(
      {.info = info, .rows = diffusion_rows, .time_step = diffusion_time_step});
}

}  // namespace gridstride
