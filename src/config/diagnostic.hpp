#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/parameters.hpp"
#include "core/device.hpp"

namespace gridstride::config {

/// What one entry of `diagnostics` asks for. A value left as constructed is the default.
class Diagnostic {
 public:
  virtual ~Diagnostic() = default;
  /// Declares the one key that the entry is a mapping of: its kind, which `self` names. Of the run,
  /// what stands before `diagnostics` is known. A kind that is a mere word has none.
  virtual void declare(Visitor&, Spec const& /*self*/, RunOptions const&) {}
  /// What no other entry may give too, as texts that are the same if what they tell of is; none for
  /// what could not be read.
  virtual std::vector<std::string> gives() const = 0;
  /// Whether it is found of fields of which several processes have parts on such devices, and nobody the whole.
  virtual bool is_found_by_parts(RunOptions const&, Backend) const { return false; }
};

/// A kind of diagnostics, as files know it. The driver has a table of them.
struct DiagnosticKind {
  std::string_view name;
  std::string_view documentation;
  bool is_word = false;     ///< it stands as its mere name
  bool needs_grid = false;  ///< it is refused where the simulation has no grid
  std::unique_ptr<Diagnostic> (*make)() = nullptr;
};

/// One entry of `diagnostics`. Copies share what is asked for, which no longer changes once read.
struct DiagnosticEntry {
  std::string_view kind;
  std::shared_ptr<Diagnostic> options;
};

}  // namespace gridstride::config
