#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gridstride::config {

/// A value on one line: `{time: 0.5}`, `[vti, hdf5]`, `"sin(x)"`.
std::string flow_yaml(nlohmann::ordered_json const& value);

/// A document: keys of the root and of mappings with mappings in them on lines of their own.
std::string block_yaml(nlohmann::ordered_json const& root);

}  // namespace gridstride::config
