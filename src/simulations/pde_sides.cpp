// What a file gives on the sides of the grid: what flows through them becomes part of the equations,
// other values that are made of fields are kept beside these.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "config/run_fields.hpp"
#include "equations/manufactured.hpp"
#include "equations/sides.hpp"
#include "equations/text.hpp"
#include "simulations/pde_parameters.hpp"

namespace gridstride::pde {

using config::Formula;
using config::RunOptions;
using config::SideCondition;
using config::Visitor;
using gridstride::equations::SideValue;
using gridstride::equations::Term;
using gridstride::equations::Unknown;

/// Reads the sides of all fields into the system. What is said for several fields at once and is
/// wrong is told once.
class Parameters::SideReader {
 public:
  SideReader(Parameters& parameters, Visitor& visitor, RunOptions& run)
      : parameters_(parameters), system_(*parameters.system), visitor_(visitor), run_(run) {}

  void read() {
    system_.sides.clear();
    for (std::size_t i = 0; i < run_.fields.size(); ++i)
      if (run_.fields[i].rate_of.empty() && !run_.fields[i].derived) read_field(i);
    for (std::size_t i = run_.fields.size(); i < run_.boundary.size(); ++i) refuse_name(i);
    for (Outward const& one : outward_) give(one);
    check_held();
  }

 private:
  /// What flows through the sides of an axis.
  struct Outward {
    std::size_t component;  ///< whose rate it changes
    int field;              ///< the component that has these sides
    int axis;
    std::array<Term, 2> values = {-1, -1};
    std::string path = {};
  };

  template <class Fault>
  void refuse(std::string const& path, Fault const& fault) {
    if (told_.insert(path).second) visitor_.fault(path, fault);
  }

  void read_field(std::size_t field) {
    auto const& unknowns = system_.unknowns;
    Unknown const unknown = *std::ranges::find(unknowns, run_.fields[field].name, &Unknown::name);
    for (int axis = 0; axis < system_.dims; ++axis)
      for (std::size_t c = 0; c < static_cast<std::size_t>(unknown.components); ++c) {
        Outward outward = {.component = static_cast<std::size_t>(rate_of(unknown)) + c,
                           .field = unknown.first + static_cast<int>(c),
                           .axis = axis};
        for (int end = 0; end < 2; ++end) {
          auto& condition =
              run_.boundary[field][static_cast<std::size_t>(axis)][static_cast<std::size_t>(end)];
          SideValue side = {condition.kind, unknown.first + static_cast<int>(c), axis, end};
          read_condition(condition, c, unknown, side, outward);
        }
        if (outward.values != std::array<Term, 2>{-1, -1}) outward_.push_back(outward);
      }
  }

  /// The component whose rate the field's equation gives.
  int rate_of(Unknown const& unknown) const {
    if (!parameters_.has_rate(unknown.name)) return unknown.first;
    return std::ranges::find(system_.unknowns, rate_name(unknown.name), &Unknown::name)->first;
  }

  void read_condition(SideCondition& condition, std::size_t c, Unknown const& unknown,
                      SideValue side, Outward& outward) {
    Formula& value = condition.components.empty() ? condition.value : condition.components[c];
    if (condition.kind == SideKind::flux) {
      if (value.text.empty()) return;  // reported
      outward.path = value.location.path;
      outward.values[static_cast<std::size_t>(side.end)] =
          value.is_foreign ? read_formula(value)
                           : gridstride::equations::term_of(system_.terms, value.expression);
      return;
    }
    if (value.is_foreign) side.value = read_value(value, unknown);
    if (!condition.factors.empty() && condition.factors[c].is_foreign)
      side.factor = read_value(condition.factors[c], unknown);
    if (side.value < 0 && side.factor < 0) return;
    system_.sides.push_back(side);
    paths_.push_back((value.is_foreign ? value : condition.factors[c]).location.path);
  }

  /// −1 where it cannot be read, which is told.
  Term read_formula(Formula const& formula) {
    std::string const& path = formula.location.path;
    if (told_.contains(path)) return -1;
    auto const value = parameters_.read(visitor_, path, {path, {formula.text}, false});
    if (!value) {
      told_.insert(path);
      return -1;
    }
    if (value->rank > 0) {
      refuse(path,
             expression::ParseError(fmt::format("a scalar expected, here is {}",
                                                gridstride::equations::noun_of_rank(value->rank)),
                                    value->begin));
      return -1;
    }
    Term const term = value->terms[0];
    if (auto const problem = gridstride::equations::side_value_problem(system_.terms, term);
        !problem.empty()) {
      refuse(path, problem);
      return -1;
    }
    return term;
  }

  /// The same of a value beside a flux; −1 also where it comes to a formula of space and time.
  Term read_value(Formula& formula, Unknown const& unknown) {
    Term const term = read_formula(formula);
    if (term < 0) return term;
    if (system_.terms.is_formula(term)) {
      formula.expression = gridstride::equations::to_expression(system_.terms, term);
      formula.is_foreign = false;
      return -1;
    }
    if (!parameters_.has_rate(unknown.name)) return term;
    refuse(formula.location.path,
           fmt::format("has fields in it, and {0} is of order 2 in time (on sides {1} has the rate "
                       "of what {0} has there; 'flux' takes fields)",
                       unknown.name, rate_name(unknown.name)));
    return -1;
  }

  void refuse_name(std::size_t place) {
    auto const refuse_one = [&](Formula& value) {
      if (!value.is_foreign) return;
      Term const term = read_formula(value);
      if (term < 0) return;
      if (!system_.terms.is_formula(term))
        return refuse(value.location.path,
                      fmt::format("has fields in it, which the sides of {} under 'let' do not take",
                                  run_.sided(place).name));
      value.expression = gridstride::equations::to_expression(system_.terms, term);
      value.is_foreign = false;
    };
    for (auto& ends : run_.boundary[place])
      for (SideCondition& condition : ends) {
        refuse_one(condition.value);
        std::ranges::for_each(condition.components, refuse_one);
      }
  }

  void give(Outward const& one) {
    std::vector<std::size_t> others;  // with a flux of their own there
    for (Outward const& other : outward_)
      if (other.axis == one.axis && other.component != one.component)
        others.push_back(other.component);
    std::vector<Term*> elsewhere;
    for (auto& event : parameters_.sections.events)
      for (auto& value : event.values) elsewhere.push_back(&value.second);
    if (parameters_.sections.stop.condition >= 0)
      elsewhere.push_back(&parameters_.sections.stop.condition);
    std::string const name = gridstride::equations::component_name(system_, one.field);
    std::string const problem = gridstride::equations::give_flux(
        system_, one.component, name, one.axis, one.values, others, elsewhere);
    if (!problem.empty()) refuse(one.path, problem);
  }

  void check_held() {
    auto const circle = gridstride::equations::order_of_held(system_).circle;
    if (circle.empty()) return;
    auto const is_of = [&](SideValue const& side) {
      return side.kind == SideKind::dirichlet && side.component == circle.front();
    };
    auto const place = std::ranges::find_if(system_.sides, is_of) - system_.sides.begin();
    std::vector<std::string> names;
    for (int const component : circle)
      names.push_back(gridstride::equations::component_name(system_, component));
    refuse(paths_[static_cast<std::size_t>(place)],
           fmt::format("on its sides {} is made of itself ({})", names.front(),
                       fmt::join(names, " needs ")));
  }

  Parameters& parameters_;
  gridstride::equations::System& system_;
  Visitor& visitor_;
  RunOptions& run_;
  std::vector<Outward> outward_;
  std::vector<std::string> paths_;  // of the system's sides
  std::set<std::string> told_;      // keys with faults
};

void Parameters::check_sides(Visitor& visitor, RunOptions& run) {
  if (system && visitor.given("boundary")) SideReader(*this, visitor, run).read();
}

}  // namespace gridstride::pde
