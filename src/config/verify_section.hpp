#pragma once

#include "config/run_config.hpp"
#include "config/visitor.hpp"

namespace gridstride::config {

/// Declares `verify`: what the result is compared with.
void declare_verify(Visitor& visitor, RunOptions& run);

}  // namespace gridstride::config
