#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "kernels/convolve/convolve.hpp"
#include "model/simulation.hpp"
#include "simulations/filters.hpp"

/// What a config says of a convolution, for the simulation's own files.
namespace gridstride::convolution {

class Parameters final : public config::ParameterSet {
 public:
  config::FieldSource signal;
  std::array<convolve::Boundary, 3> modes = {};
  double value = 0;
  std::vector<FilterOptions> filters;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;

 private:
  void declare_signal(config::Visitor& visitor, config::RunOptions const& run);
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// Files of other shapes than the grid and the filters need.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::convolution
