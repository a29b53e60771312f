#pragma once

#include <span>

#include "config/document.hpp"
#include "config/run_config.hpp"

namespace gridstride::config {

/// Puts the values of `--set` arguments into a document, whose root is a mapping: keys on the way
/// are made, the last is replaced; elements of lists go by their index. Notes faults and goes on.
void apply_overrides(Node& root, std::span<Override const> overrides, Faults& faults);

}  // namespace gridstride::config
