#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <string>

#include "equations/modal.hpp"

/// Operators with constant coefficients as polynomials of derivatives.
namespace gridstride::equations {

using Orders = std::array<std::int8_t, 3>;

/// One derivative along an axis.
Orders first_along(int axis);

/// Adds factor·∂^orders(what), and leaves out what cancels. Throws `Error` for derivatives of more
/// than `max_order` along an axis.
void add_to(Operator& sum, Operator const& what, double factor = 1, Orders const& orders = {});
Operator multiplied(Operator const& a, Operator const& b);
bool is_one(Operator const& of);

/// `d2_dx2 + d2_dy2 - 1`
std::string to_text(Operator const& of, int dims);

/// A mode of a grid: its angle from point to point along each axis, and whether that is the one at
/// the Nyquist frequency of a periodic axis.
struct Mode {
  std::array<double, 3> angles = {0, 0, 0};
  std::array<bool, 3> nyquist = {false, false, false};
};

/// What ∂^order along an axis multiplies exp(iθj) by. Central differences are second ones as often
/// as they go into it, then a first one, as `discretise` takes them.
std::complex<double> symbol_of(Symbols symbols, int order_of_differences, int order, double angle,
                               bool nyquist, double spacing);
/// The same of an operator and a mode. Between sides only what is of even order along that axis has
/// one.
std::complex<double> symbol_of(Symbols symbols, int order_of_differences, Operator const& of,
                               Mode const& mode, std::array<double, 3> const& spacing);

}  // namespace gridstride::equations
