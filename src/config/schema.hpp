#pragma once

#include <nlohmann/json.hpp>

#include "config/declaration.hpp"

namespace gridstride::config {

/// The JSON Schema (draft 2020-12) of what a declaration accepts.
nlohmann::ordered_json schema_of(Declaration const& declaration);

/// Whether a file must have the key: it has no default, or a key in it has none.
bool must_be_given(Declaration const& declaration);

}  // namespace gridstride::config
