#include "core/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace gridstride {

std::string Problem::text() const {
  std::string place = file;
  if (line > 0) place += fmt::format(":{}:{}", line, column);
  if (!path.empty()) place += ": " + path;
  return place + ": " + message;
}

namespace {

std::string joined(std::vector<Problem> const& problems) {
  std::string all;
  for (auto const& problem : problems) {
    if (!all.empty()) all += '\n';
    all += problem.text();
  }
  return all;
}

}  // namespace

ConfigError::ConfigError(std::vector<Problem> problems)
    : Error(joined(problems)), problems_(std::move(problems)) {}

IoError::IoError(std::string const& path, std::string const& message)
    : Error(path + ": " + message) {}

CudaError::CudaError(std::string const& call, char const* file, int line,
                     std::string const& reported)
    : Error(fmt::format("CUDA: {} ({} at {}:{})", reported, call, file, line)) {}

NumericalError::NumericalError(std::string const& what, std::int64_t step, double time,
                               std::string const& field, std::array<std::int64_t, 3> cell)
    : Error(fmt::format("{} in field '{}' at cell ({}), step {}, time {}", what, field,
                        fmt::join(cell, ", "), step, time)) {}

}  // namespace gridstride
