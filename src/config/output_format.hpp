#pragma once

#include <string_view>

namespace gridstride::config {

class Visitor;
struct RunOptions;

/// A format of results, as files know it. The driver has a table of them.
struct OutputFormat {
  std::string_view name;
  std::string_view documentation;
  /// Reports what this format cannot hold of a run that is to be written in it. Null: nothing.
  void (*check)(Visitor& visitor, RunOptions const& run) = nullptr;
};

}  // namespace gridstride::config
