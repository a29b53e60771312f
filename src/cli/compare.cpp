#include "io/compare.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "config/value.hpp"

namespace gridstride::cli {

namespace {

/// CLI11's own check lets NaN and infinities pass, with which everything would agree.
std::string refused_tolerance(std::string const& text) {
  try {
    if (config::parse_number(text) >= 0) return {};
    return fmt::format("'{}' is no tolerance (it must be >= 0)", text);
  } catch (config::ValueError const& error) {
    return fmt::format("'{}' is no tolerance ({})", text, error.what());
  }
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  struct Options {
    std::string a, b;
    double rtol = 1e-10;
    double atol = 1e-12;
    bool json = false;
  };
  auto const options = std::make_shared<Options>();
  auto* command = app.add_subcommand(
      "compare", "Compare two results; exit code 3 when |a-b| > atol + rtol*|b| anywhere");
  command->add_option("a", options->a, "Result: an .h5 file, or a run's directory")->required();
  command->add_option("b", options->b, "Reference")->required();
  command->add_option("--rtol", options->rtol, "Relative tolerance")
      ->check(refused_tolerance)
      ->capture_default_str();
  command->add_option("--atol", options->atol, "Absolute tolerance")
      ->check(refused_tolerance)
      ->capture_default_str();
  command->add_flag("--json", options->json, "As JSON");
  command->callback([options, &action] {
    action = [options] {
      auto const comparison =
          io::compare(std::filesystem::path(options->a), std::filesystem::path(options->b),
                      options->rtol, options->atol);
      if (options->json) {
        Json report = {
            {"a", options->a}, {"b", options->b}, {"rtol", options->rtol}, {"atol", options->atol}};
        report.update(json_comparison(comparison));
        print_json(report);
      } else {
        fmt::print("{}", comparison.table());
      }
      return comparison.equal() ? 0 : 3;
    };
  });
}

}  // namespace gridstride::cli
