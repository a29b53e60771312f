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

namespace {

Json json_difference(io::FieldDifference const& one, Json const& place) {
  Json worst = {{"output", one.time_index}, {"time", one.time}};
  worst.update(place);
  worst["a"] = json_number(one.value_a);
  worst["b"] = json_number(one.value_b);
  return {{"name", one.name},
          {"max_absolute", json_number(one.max_absolute)},
          {"max_relative", json_number(one.max_relative)},
          {"l2", json_number(one.l2)},
          {"violations", one.violations},
          {"worst", std::move(worst)}};
}

}  // namespace

Json json_comparison(io::Comparison const& comparison) {
  Json fields = Json::array(), columns = Json::array();
  for (auto const& field : comparison.fields) {
    Json place = {{"indices", field.indices}};
    if (field.component >= 0) place["component"] = field.component;
    fields.push_back(json_difference(field, place));
  }
  for (auto const& column : comparison.columns)
    columns.push_back(json_difference(column, {{"row", column.indices[0]}}));
  return {{"equal", comparison.equal()},
          {"mismatches", comparison.mismatches},
          {"notes", comparison.notes},
          {"fields", std::move(fields)},
          {"columns", std::move(columns)}};
}

void print_json(Json const& json) {
  // A path may hold any bytes.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace gridstride::cli
