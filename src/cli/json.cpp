#include "cli/json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/text.hpp"

namespace gridstride::cli {

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : format_exact(value));
}

Json json_numbers(std::vector<double> const& values) {
  Json numbers = Json::array();
  for (double const value : values) numbers.push_back(json_number(value));
  return numbers;
}

Json json_named(std::vector<NamedText> const& texts) {
  Json named = Json::object();
  for (auto const& [name, text] : texts) named[name] = text;
  return named;
}

Json json_named(std::vector<NamedValue> const& values) {
  Json named = Json::object();
  for (NamedValue const& value : values) named[value.name] = json_number(value.value);
  return named;
}

Json json_comparison(io::Comparison const& comparison) {
  Json fields = Json::array();
  for (auto const& field : comparison.fields)
    fields.push_back({{"name", field.name},
                      {"max_absolute", json_number(field.max_absolute)},
                      {"max_relative", json_number(field.max_relative)},
                      {"l2", json_number(field.l2)},
                      {"violations", field.violations},
                      {"worst",
                       {{"output", field.time_index},
                        {"time", field.time},
                        {"indices", field.indices},
                        {"a", json_number(field.value_a)},
                        {"b", json_number(field.value_b)}}}});
  return {{"equal", comparison.equal()},
          {"mismatches", comparison.mismatches},
          {"notes", comparison.notes},
          {"fields", std::move(fields)}};
}

void print_json(Json const& json) {
  // A path may hold any bytes.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace gridstride::cli
