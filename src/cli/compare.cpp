#include "io/compare.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"

namespace gridstride::cli {

void add_compare(CLI::App& app, Action& action) {
  struct Options {
    std::string a, b;
    double rtol = 1e-10;
    double atol = 1e-12;
  };
  auto const options = std::make_shared<Options>();
  auto* command = app.add_subcommand(
      "compare", "Compare two results; exit code 3 when |a-b| > atol + rtol*|b| anywhere");
  command->add_option("a", options->a, "Result: an .h5 file, or a run's directory")->required();
  command->add_option("b", options->b, "Reference")->required();
  command->add_option("--rtol", options->rtol, "Relative tolerance")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--atol", options->atol, "Absolute tolerance")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->callback([options, &action] {
    action = [options] {
      auto const comparison =
          io::compare(std::filesystem::path(options->a), std::filesystem::path(options->b),
                      options->rtol, options->atol);
      fmt::print("{}", comparison.table());
      return comparison.equal() ? 0 : 3;
    };
  });
}

}  // namespace gridstride::cli
