#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "equations/system.hpp"

/// What a config says of a system of equations.
namespace gridstride::pde {

template <class T>
using Named = std::vector<std::pair<std::string, T>>;

/// The most names under `let`.
inline constexpr std::size_t most_lets = 256;

class Parameters final : public config::ParameterSet {
 public:
  Named<config::SourceText> equations;  ///< the rate of change of each field
  Named<config::SourceText> lets;       ///< names for parts of equations
  Named<std::string> kinds;             ///< of fields: `scalar` or `vector`
  /// The equations as they were understood; none as long as no file was read without faults.
  std::optional<gridstride::equations::System> system;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;
  std::vector<config::FieldInfo> fields_of(config::RunOptions const& run) const override;

 private:
  void declare(config::Visitor& visitor);
  bool check(config::Visitor& visitor, config::RunOptions const& run) const;
  bool is_vector(std::string const& field) const;
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

}  // namespace gridstride::pde
