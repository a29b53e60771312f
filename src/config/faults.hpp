#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace gridstride::config {

/// Where a value stands: in the file (source 0) or in the k-th `--set` argument (source k), whose
/// values have no line, and count bytes in the place of a column.
struct Place {
  int source = 0;
  int line = 0;
  int column = 0;
};

/// What is wrong with one run's input, collected in any order and reported by position.
class Faults {
 public:
  explicit Faults(std::string file) : sources_{std::move(file)} {}

  /// A `--set` argument; returns its number for `Place::source`.
  int add_source(std::string name);
  std::string const& source_name(int source) const;

  void add(Place place, std::string path, std::string message);
  bool empty() const { return faults_.empty(); }
  /// Throws `ConfigError` with all faults in the order of their places, if there are any.
  void throw_if_any() const;

 private:
  struct Fault {
    Place place;
    std::string path;
    std::string message;
  };
  std::vector<std::string> sources_;
  std::vector<Fault> faults_;
};

/// The user's text in single quotes, cut to a length that a message can hold, on one line.
std::string show(std::string_view text);

/// `; did you mean 'name'?` for the candidate nearest to `name`, or nothing. One letter is near to
/// itself in the other case only.
std::string suggestion(std::string_view name, std::vector<std::string_view> const& candidates);

/// `a.b` from `a` and `b`; either may be empty.
std::string join_path(std::string_view parent, std::string_view key);

}  // namespace gridstride::config
