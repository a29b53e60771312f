#include "config/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/text.hpp"

namespace gridstride::config {
namespace {

constexpr std::size_t most_reported = 100;

/// What other programs call what a word or key here means.
constexpr std::pair<std::string_view, std::string_view> foreign_words[] = {
    {"double", "float64"},    {"f64", "float64"},
    {"fp64", "float64"},      {"float", "float32"},
    {"single", "float32"},    {"f32", "float32"},
    {"fp32", "float32"},      {"gpu", "cuda"},
    {"nvidia", "cuda"},       {"host", "cpu"},
    {"h5", "hdf5"},           {"hdf", "hdf5"},
    {"vtkhdf", "hdf5"},       {"vtk", "vti"},
    {"paraview", "vti"},      {"yes", "true"},
    {"on", "true"},           {"no", "false"},
    {"off", "false"},         {"coordinate", "at"},
    {"coordinates", "at"},    {"position", "at"},
    {"point", "at"},          {"dt", "step"},
    {"time_step", "step"},    {"timestep", "step"},
    {"t_end", "end"},         {"final_time", "end"},
    {"duration", "end"},      {"mesh", "grid"},
    {"domain", "grid"},       {"initial_conditions", "initial"},
    {"params", "parameters"}, {"boundary_conditions", "boundary"},
};

bool is_continuation_byte(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

int Faults::add_source(std::string name) {
  sources_.push_back(std::move(name));
  return static_cast<int>(sources_.size()) - 1;
}

std::string const& Faults::source_name(int source) const {
  return sources_.at(static_cast<std::size_t>(source));
}

void Faults::add(Place place, std::string path, std::string message) {
  faults_.push_back({place, std::move(path), std::move(message)});
}

void Faults::throw_if_any() const {
  if (faults_.empty()) return;
  auto const position = [](Fault const& fault) {
    return std::tuple(fault.place.source, fault.place.line, fault.place.column);
  };
  std::vector<Fault> sorted = faults_;
  std::ranges::stable_sort(sorted, {}, position);

  std::vector<Problem> problems;
  for (Fault const& fault : sorted) {
    if (problems.size() == most_reported) {
      std::size_t const rest = sorted.size() - most_reported;
      problems.push_back({sources_[0], 0, 0, "", fmt::format("and {} more problems", rest)});
      break;
    }
    problems.push_back({source_name(fault.place.source), fault.place.line, fault.place.column,
                        fault.path, fault.message});
  }
  throw ConfigError(std::move(problems));
}

std::string show(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::size_t length = std::min(text.size(), longest);
  while (length < text.size() && length > 0 && is_continuation_byte(text[length])) --length;
  std::string shown(text.substr(0, length));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return fmt::format("'{}{}'", shown, length < text.size() ? "..." : "");
}

std::string suggestion(std::string_view name, std::vector<std::string_view> const& candidates) {
  auto const same_letter = [&](std::string_view other) {
    return name.size() == 1 && other.size() == 1 && (name[0] ^ other[0]) == 'a' - 'A';
  };
  std::string_view nearest = name.size() > 1 ? nearest_name(name, candidates) : "";
  std::string const lower = to_lower(name);
  for (std::string_view const candidate : candidates) {
    auto const means = [&](auto const& pair) {
      return pair.first == lower && pair.second == candidate;
    };
    if (same_letter(candidate) || std::ranges::any_of(foreign_words, means)) nearest = candidate;
  }
  return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
}

std::string join_path(std::string_view parent, std::string_view key) {
  std::string path(parent);
  if (!parent.empty() && !key.empty()) path += '.';
  return path += key;
}

}  // namespace gridstride::config
