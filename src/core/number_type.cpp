#include "core/number_type.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace gridstride {

namespace {

constexpr std::string_view names[] = {"int8",  "uint8",  "int16",   "uint16",  "int32",  "uint32",
                                      "int64", "uint64", "float16", "float32", "float64"};

constexpr NumberKind signed_kind = NumberKind::signed_integer;
constexpr NumberKind unsigned_kind = NumberKind::unsigned_integer;
constexpr NumberKind real = NumberKind::real;

/// In the order of their names.
constexpr std::array<NumberType, std::size(names)> types = {{{signed_kind, 1},
                                                             {unsigned_kind, 1},
                                                             {signed_kind, 2},
                                                             {unsigned_kind, 2},
                                                             {signed_kind, 4},
                                                             {unsigned_kind, 4},
                                                             {signed_kind, 8},
                                                             {unsigned_kind, 8},
                                                             {real, 2},
                                                             {real, 4},
                                                             {real, 8}}};

}  // namespace

std::span<std::string_view const> number_type_names() { return names; }

std::optional<NumberType> number_type_called(std::string_view name) {
  auto const found = std::ranges::find(names, name);
  if (found == std::end(names)) return std::nullopt;
  return types[static_cast<std::size_t>(found - std::begin(names))];
}

std::string_view name_of(NumberType const& type) {
  auto const found = std::ranges::find(types, NumberType{type.kind, type.bytes, false});
  if (found == types.end()) throw std::invalid_argument("no such type of numbers");
  return names[found - types.begin()];
}

}  // namespace gridstride
