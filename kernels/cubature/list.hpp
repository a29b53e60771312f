#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/stream.hpp"
#include "kernels/cubature/boxes.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/integrand/two_term_sum.hpp"

namespace gridstride::quadrature {

/// What boxes are together.
struct BoxTotals {
  TwoTermSum integral, error;
  double final_error = 0;    ///< of those that cannot be cut
  double rounding = 0;       ///< of those whose error is that of rounding
  long long non_finite = 0;  ///< boxes whose integral or error is not finite

  GRIDSTRIDE_HOST_DEVICE void add(double value, double box_error, int axis) {
    if (!is_finite(value) || !is_finite(box_error)) {
      ++non_finite;
      return;
    }
    integral.add(value);
    error.add(box_error);
    if (axis < 0) final_error += box_error;
    if (axis == only_rounding) rounding += box_error;
  }
  GRIDSTRIDE_HOST_DEVICE void add(BoxTotals const& other) {
    integral.add(other.integral);
    error.add(other.error);
    final_error += other.final_error;
    rounding += other.rounding;
    non_finite += other.non_finite;
  }
};

/// How many boxes that can be cut have an error of each bin.
using ErrorCounts = std::array<unsigned, error_bins>;

/// A problem as the lists of boxes take it.
struct CubatureProblem {
  Integrand const& integrand;
  BoxExtents extents;
  std::span<double const> parameters;
};

/// The boxes that the domain is cut into, on one device, each with its integral and error.
class BoxList {
 public:
  virtual ~BoxList() = default;
  virtual std::int64_t size() const = 0;

  /// Evaluates the first boxes, 2·d numbers each.
  virtual void begin(std::span<double const> boxes) = 0;

  /// The totals of the boxes that `is_cut` leaves out for this bin (`error_bins`: of all), and
  /// how many boxes there are in each bin.
  virtual BoxTotals survey(int bin, ErrorCounts& counts) = 0;

  /// Halves the first `count` boxes that `is_cut` names, and evaluates the halves.
  virtual void cut(int bin, std::int64_t count) = 0;

  /// Keeps only the boxes that `is_cut` names, in their order; there are `count`.
  virtual void keep(int bin, std::int64_t count) = 0;

  /// A sample that is not finite, of the first box with such an integral or error; empty where its
  /// samples are finite.
  virtual std::vector<double> non_finite_sample() = 0;
};

/// Bytes of a box in a list.
constexpr std::size_t bytes_of_box(int dimensions) {
  return static_cast<std::size_t>(dimensions) * 16 + 17 + 8;  // 8: of the lists made of it
}

/// The rows of the family's table.
std::unique_ptr<BoxList> make_reference_boxes(Stream& stream, CubatureProblem const& problem,
                                              std::int64_t max_boxes);
std::unique_ptr<BoxList> make_host_boxes(Stream& stream, CubatureProblem const& problem,
                                         std::int64_t max_boxes);
template <class T>
std::unique_ptr<BoxList> make_device_boxes(Stream& stream, CubatureProblem const& problem,
                                           std::int64_t max_boxes);

}  // namespace gridstride::quadrature
