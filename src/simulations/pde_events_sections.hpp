#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/visitor.hpp"
#include "equations/language.hpp"

/// What a config says of events in a system of equations, and of what ends its run.
namespace gridstride::pde {

/// What ends a run before its time; of both the first that holds.
struct StopOptions {
  std::optional<double> steady;  ///< 1/s times the fields' units: every |∂u/∂t| is below it
  std::string when;              ///< a formula of global values that is not 0; empty: none
  /// The condition as it was understood; −1: none.
  gridstride::equations::Term condition = -1;
};

/// Fields that are set anew at some moments.
struct EventOptions {
  std::vector<double> at;                                       ///< s
  std::vector<std::pair<std::string, config::SourceText>> set;  ///< formulas by fields' names
  /// Numbers of components, and what they are set to as it was understood.
  std::vector<std::pair<int, gridstride::equations::Term>> values = {};
};

/// The sections `stop` and `events`.
class EventSections {
 public:
  StopOptions stop;
  std::vector<EventOptions> events;

  void declare(config::Visitor& visitor);
  /// Notes names that are no fields; returns whether the formulas can be read.
  bool check(config::Visitor& visitor,
             std::function<bool(std::string const&)> const& is_field) const;
  std::string key_of_event(std::size_t event) const {
    return listed_ ? "events." + std::to_string(event) : "events";
  }
  /// Reads all formulas by `read`, which tells what is wrong in one; notes what is no value of its
  /// field, and what is no condition.
  void understand(
      config::Visitor& visitor, gridstride::equations::System const& system,
      std::function<std::optional<gridstride::equations::Ranked>(
          std::string const& key, gridstride::equations::Definition const& text)> const& read);

 private:
  /// A formula in the file.
  struct Place {
    std::string key;
    std::optional<std::size_t> event;  // none: the condition
    std::string field;
    config::SourceText text;
  };
  std::vector<Place> places() const;

  bool listed_ = true;
};

}  // namespace gridstride::pde
