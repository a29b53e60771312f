#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "equations/system.hpp"

/// The part of a system that is linear with constant coefficients, as schemes want it that take it
/// implicitly or by exponentials.
namespace gridstride::equations {

/// What is differentiated how often along each axis.
struct Derived {
  int component = 0;
  std::array<std::int8_t, 3> orders = {0, 0, 0};
  auto operator<=>(Derived const&) const = default;
};

/// A rate as Σ coefficient·∂^orders component, and the rest.
struct LinearSplit {
  std::map<Derived, double> linear;  ///< none of them 0
  Term rest = -1;
};

/// Splits a rate: linear + rest = rate, but for rounding, where sides are periodic. Sums,
/// differences, numbers that multiply or divide, and derivatives are gone into; products of fields
/// are not multiplied out, so that (u − 1)·(u + 2) stays whole in the rest. Names with sides of
/// their own and fluxes through sides stay there, too; with `names_from` names count as components
/// from that number on.
LinearSplit split_linear(Terms& terms, Term rate, std::optional<int> names_from = std::nullopt);

/// The linear part as a term: of each component, with derivatives of one order that have the same
/// coefficient together.
Term linear_part(Terms& terms, LinearSplit const& split);

}  // namespace gridstride::equations
