#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/stream.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/riemann/tensor/lines.hpp"

namespace gridstride::quadrature {

/// The nodes of a product; `axes.nodes` points to `nodes`.
struct TensorProduct {
  std::vector<TensorNode> nodes;
  TensorAxes axes;
};

inline constexpr std::int64_t all_finite = -1;

/// A way to sum products. The results are there when a call returns.
class TensorSummation {
 public:
  virtual ~TensorSummation() = default;
  virtual TensorSums sum(TensorProduct const& product) = 0;
  /// The number of the first sample that is not finite, 64 times its piece and its place in it, or
  /// `all_finite`.
  virtual std::int64_t first_non_finite(TensorProduct const& product) = 0;
};

std::unique_ptr<TensorSummation> make_host_tensor(Stream& stream, Integrand const& integrand,
                                                  std::span<double const> parameters);
template <class T>
std::unique_ptr<TensorSummation> make_device_tensor(Stream& stream, Integrand const& integrand,
                                                    std::span<double const> parameters);

}  // namespace gridstride::quadrature
