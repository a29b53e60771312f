#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/language.hpp"
#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "equations/discretise.hpp"
#include "equations/language.hpp"
#include "equations/stability.hpp"
#include "equations/system.hpp"
#include "simulations/pde_events_sections.hpp"

/// What a config says of a system of equations.
namespace gridstride::pde {

template <class T>
using Named = std::vector<std::pair<std::string, T>>;

/// The most names under `let`.
inline constexpr std::size_t most_lets = 256;

/// What a field is.
struct FieldKind {
  std::string kind = "scalar";  ///< or `vector`
  std::int64_t order = 1;       ///< in time, of its equation
};

/// What the rate of change of a field of order 2 is called: `u_t`.
std::string rate_name(std::string const& field);

/// What solves for implicit steps.
struct ImplicitOptions {
  std::string solver = "auto";      ///< or `modes`, `multigrid`
  std::optional<double> tolerance;  ///< of cycles; empty: 1e-12, in float32 1e-7
};

/// What follows from the fields at each moment: a derived field, or what diagnostics look at.
struct Quantity {
  gridstride::equations::Definition definition;
  std::string key;      ///< where it stands in the file
  bool written = true;  ///< is a field of the results
  gridstride::equations::Ranked value = {};

  std::string const& name() const { return definition.name; }
};

/// The linearisation of the equations on a grid by a scheme, kept for who asks for it again.
struct KnownLinearisation {
  std::mutex guard;
  Grid grid;
  std::string scheme;
  std::shared_ptr<gridstride::equations::Linearisation const> found;
};

class Parameters final : public config::ParameterSet, public config::Language {
 public:
  Named<config::SourceText> equations;  ///< the rate of change of each field
  config::SourceText constraints;       ///< 0 = each: they hold fields of their own
  Named<config::SourceText> lets;       ///< names for parts of equations
  Named<FieldKind> kinds;               ///< of fields
  gridstride::equations::Space space;   ///< what takes the place of derivatives
  bool is_spectral = false;             ///< derivatives are those of modes
  std::optional<double> dealias;        ///< what part of the frequencies products keep
  ImplicitOptions implicit;
  /// The equations as they were understood; none as long as no file was read without faults.
  std::optional<gridstride::equations::System> system;
  std::vector<Quantity> quantities;
  EventSections sections;  ///< `stop` and `events`
  mutable KnownLinearisation linearisation;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;
  std::vector<config::FieldInfo> fields_of(config::RunOptions const& run) const override;
  /// Whether all equations are of order 2. Then the rates of the fields are the second half of the
  /// system's unknowns.
  bool is_of_order_2() const;
  /// First values that are no formulas of space (`read_initial`); none: there are no such.
  std::optional<gridstride::equations::System> initial;
  bool reads_initial() const override { return true; }
  void check_initial(config::Visitor& visitor, config::RunOptions const& run) override;
  void check_sides(config::Visitor& visitor, config::RunOptions& run) override;
  std::vector<config::FieldInfo> names_of(config::RunOptions const& run) const override;

  config::Language* language() override { return this; }
  std::vector<config::FieldInfo> held_fields() const override;
  /// The key of a constraint.
  std::string key_of_constraint(std::size_t constraint) const;
  std::string name_problem(config::RunOptions const& run, std::string const& name) const override;
  std::optional<config::FieldInfo> take_quantity(config::Visitor& visitor, std::string const& key,
                                                 std::string const& name,
                                                 config::SourceText const& text,
                                                 bool written) override;
  std::vector<config::MadeSolution> manufacture(
      config::Visitor& visitor, std::string const& key,
      Named<config::SourceText> const& solutions) override;

 private:
  void declare(config::Visitor& visitor);
  void declare_equations(config::Visitor& visitor);
  void declare_space(config::Visitor& visitor);
  void declare_convection(config::Visitor& visitor);
  void declare_implicit(config::Visitor& visitor);
  bool read_constraints(config::Visitor& visitor);
  bool check(config::Visitor& visitor, config::RunOptions const& run) const;
  bool is_vector(std::string const& field) const;
  bool is_field(std::string const& name) const;
  bool has_rate(std::string const& field) const;
  class SideReader;
  void check_initial_fluxes(config::Visitor& visitor, config::RunOptions const& run);
  FieldKind kind_of(std::string const& field) const;
  std::optional<gridstride::equations::Ranked> read(config::Visitor& visitor,
                                                    std::string const& key,
                                                    gridstride::equations::Definition const& text);
  gridstride::equations::SystemText text_of(config::RunOptions const& run) const;

  gridstride::equations::SystemText text_;  // of the system
  std::vector<std::string> sided_;          // names under `let` that the file gives sides to
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// What takes the place of derivatives in all that is no rate, of which nothing is carried along.
inline gridstride::equations::Space space_of_values(config::RunConfig const& run) {
  return {.order = parameters_of(run).space.order};
}

}  // namespace gridstride::pde
