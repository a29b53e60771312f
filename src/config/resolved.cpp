#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "config/declaration.hpp"
#include "config/diagnostics_section.hpp"
#include "config/run_config.hpp"
#include "config/run_sections.hpp"
#include "config/yaml_text.hpp"

namespace gridstride::config {

namespace {

std::string yaml_of(RunOptions run, ParameterSet& parameters,
                    std::vector<std::string_view> const& but = {}) {
  Declaration root = collect_run(run, parameters);
  std::erase_if(root.children, [&](Declaration const& key) {
    return std::ranges::find(but, key.name) != but.end();
  });
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
  std::vector<std::string_view> of_no_matter = {"stop", "ranks"};
  if (config.simulation->limits != SimulationInfo::LimitsOf::nothing)
    of_no_matter.push_back("limits");
  return yaml_of(problem, *config.parameters, of_no_matter);
}

}  // namespace gridstride::config
