#include "core/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <vector>

namespace gridstride {

std::string format_bytes(double bytes) {
  static constexpr std::array<std::string_view, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (bytes >= 1e6) return fmt::format("{:.3g} {}", bytes, units[unit]);  // no unit is left
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string format_si(double value) {
  static constexpr std::array<std::string_view, 6> prefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  int const decimals = std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}{}", value, decimals, prefix == 0 ? "" : " ", prefixes[prefix]);
}

std::string format_seconds(double seconds) {
  struct Unit {
    double seconds;
    std::string_view name;
  };
  constexpr double day = 24 * 3600;
  static constexpr std::array<Unit, 4> longer = {
      {{60, "minutes"}, {3600, "hours"}, {day, "days"}, {365.25 * day, "years"}}};
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  Unit unit{1, "s"};
  for (Unit const& candidate : longer)
    if (seconds >= 2 * candidate.seconds) unit = candidate;
  return fmt::format("{:.3g} {}", seconds / unit.seconds, unit.name);
}

std::string format_exact(double value) { return fmt::format("{}", value); }

std::string format_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string format_shape(std::span<std::int64_t const> extents) {
  std::string text;
  for (auto const extent : extents) text += fmt::format("[{}]", extent);
  return text.empty() ? "a single value" : text;
}

std::string format_choices(std::span<std::string_view const> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += fmt::format("'{}'", names[i]);
  }
  return text;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return lower;
}

namespace {

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<std::string_view const> candidates) {
  if (name.empty() || name.size() > 64) return {};
  std::string const lower = to_lower(name);
  std::string_view nearest;
  std::size_t smallest = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (auto const candidate : candidates) {
    std::size_t const distance = edit_distance(lower, to_lower(candidate));
    if (distance < smallest) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace gridstride
