#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/declaration.hpp"
#include "config/diagnostics_section.hpp"
#include "config/run_config.hpp"
#include "config/run_sections.hpp"
#include "config/yaml_text.hpp"

namespace gridstride::config {

namespace {

std::string yaml_of(RunOptions run, ParameterSet& parameters, std::string_view but = "") {
  Declaration root = collect_run(run, parameters);
  std::erase_if(root.children, [&](Declaration const& key) { return key.name == but; });
  return block_yaml(section_value(root));
}

}  // namespace

std::string resolved_yaml(RunConfig const& config) { return yaml_of(config, *config.parameters); }

std::string problem_yaml(RunConfig const& config) {
  RunOptions problem = config;
  problem.device = {};
  problem.time.end = 1;
  problem.output = {};
  problem.output.formats = default_formats(*config.simulation);
  problem.checkpoint = {};
  problem.diagnostics = default_diagnostics(*config.simulation);
  problem.verify = {};
  problem.verify.manufactured = config.verify.manufactured;
  for (auto const& family : config.simulation->kernels)
    if (family.for_diagnostics) problem.kernels[std::string(family.name)] = "auto";
  problem.fused_steps.reset();
  return yaml_of(problem, *config.parameters,
                 config.simulation->limits == SimulationInfo::LimitsOf::nothing ? "" : "limits");
}

}  // namespace gridstride::config
