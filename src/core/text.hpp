#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gridstride {

/// Bytes as people read them: `512 B`, `64.0 GiB`.
std::string format_bytes(double bytes);

/// A rate or count with an SI prefix and three digits: `1.25 G`, `431 M`, `12.0`.
std::string format_si(double value);

/// Seconds as people read times: `0.52 ms`, `12 s`, `3.4 hours`, `17 years`.
std::string format_seconds(double seconds);

/// Shortest text that reads back as exactly `value`: `0.1`, `1e-09`, `nan`.
std::string format_exact(double value);

/// The time of day in UTC: `2026-01-02T03:04:05Z`.
std::string format_now();

/// Extents as HDF5 writes them, the slowest axis first: `[1024][512]`; `a single value`.
std::string format_shape(std::span<std::int64_t const> extents);

/// `a, b or c`, each in single quotes.
std::string format_choices(std::span<std::string_view const> names);

/// Of ASCII, whatever the locale.
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The text with small letters for ASCII's capital ones.
std::string to_lower(std::string_view text);

/// The candidate nearest to `name` by edit distance (a swap of neighbours counts one, letter case
/// nothing), or empty when none is near enough to be what was probably meant.
std::string_view nearest_name(std::string_view name, std::span<std::string_view const> candidates);

}  // namespace gridstride
