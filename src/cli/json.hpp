#pragma once

#include <nlohmann/json.hpp>

#include "io/compare.hpp"

/// What `--json` prints: one object on standard output, its keys in the order of this code.
namespace gridstride::cli {

using Json = nlohmann::ordered_json;

/// A number; where JSON has none for it the text `nan`, `inf` or `-inf`, which Python's `float`
/// reads.
Json json_number(double value);
Json json_numbers(std::vector<double> const& values);
/// The texts or numbers under their names.
Json json_named(std::vector<NamedText> const& texts);
Json json_named(std::vector<NamedValue> const& values);
Json json_comparison(io::Comparison const& comparison);

void print_json(Json const& json);

}  // namespace gridstride::cli
