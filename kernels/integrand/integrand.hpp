#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expression/expression.hpp"
#include "kernels/support/runtime_compiler.hpp"

/// What the families of integrals share (riemann, adaptive, cubature, sampling): the integrand, on
/// host and device, and what an integrator returns.
namespace gridstride::quadrature {

inline constexpr int max_dimensions = 20;
inline constexpr int max_parameters = 4;

/// f(v_0, …, v_{d−1}; p_0, …, p_{m−1}): of the formula's variables the first `dimensions` are
/// integrated over, the `parameters` after them are given.
struct Integrand {
  expression::Expression formula;
  int dimensions = 1;
  int parameters = 0;
};

/// Throws `std::invalid_argument` when the numbers are out of range or the formula is of more
/// variables.
void check(Integrand const& integrand);

struct Interval {
  double lower = 0, upper = 1;
};

enum class Outcome : std::int64_t {
  reached,      ///< the estimated error is within the tolerance
  not_reached,  ///< it is not; the value is the best there is
  non_finite,   ///< a sample was infinite or not a number
};

struct Estimate {
  double value = 0;
  double error = 0;  ///< estimated, absolute
  std::int64_t evaluations = 0;
  Outcome outcome = Outcome::reached;
  double rounding = 0;  ///< what of the error rounding leaves, where that is known
};

/// What is compiled: the embedded file `file` ("kernels/riemann/compensated.cuh") with this before
/// it, where T is float or double:
///
///     using Real = T;
///     constexpr int dimensions = …, parameters = …;
///     __device__ Real integrand(Real const* v, Real const* p);   // inlined where it is called
///
/// and each definition as `#define`: "BLOCK 256". The file defines `extern "C" __global__` kernels.
/// Whole powers up to the 8th are products there (`Powers::by_products`). Throws as `check`.
template <class T>
RuntimeSource source_of(Integrand const& integrand, std::string_view file,
                        std::span<std::string const> definitions = {});

/// Its kernels on a GPU; throws as `gridstride::compile` does.
template <class T>
std::shared_ptr<RuntimeModule const> compile(Device const& device, Integrand const& integrand,
                                             std::string_view file,
                                             std::span<std::string const> definitions = {}) {
  return gridstride::compile(device, source_of<T>(integrand, file, definitions));
}

/// The integrand on the host, in float64. Threads may share it.
class HostIntegrand {
 public:
  /// Throws as `check`.
  explicit HostIntegrand(Integrand const& integrand);

  int dimensions() const { return dimensions_; }
  int parameters() const { return parameters_; }

  /// The value at one point, from `dimensions` coordinates and `parameters` parameters.
  double operator()(double const* coordinates, double const* parameters = nullptr) const;

  /// result[i] = f at point i, whose variable k (coordinates, then parameters) is
  /// `variables[k][i]`; block by block, so that it is much faster than point by point. `result`
  /// must not overlap them.
  void evaluate(std::span<double const* const> variables, std::int64_t points,
                double* result) const;

 private:
  int dimensions_, parameters_;
  std::vector<expression::Instruction> code_;
};

}  // namespace gridstride::quadrature
