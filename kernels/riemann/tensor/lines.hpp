#pragma once

#include "core/host_device.hpp"
#include "kernels/integrand/two_term_sum.hpp"

/// The samples of a product of one-dimensional rules, once for host and device.
namespace gridstride::quadrature {

inline constexpr int max_tensor_axes = 20;

/// A node of an axis. A sample's weight is the product of those of its nodes.
struct TensorNode {
  double position, weight;
};

/// The product's samples are cut into pieces of at most `tensor_piece` neighbours along axis 0. So
/// few may be added plainly: their sum is off by less than 64·ε/2 of their sizes.
inline constexpr int tensor_piece = 64;

/// The nodes of all axes, one axis after the other.
struct TensorAxes {
  TensorNode const* nodes;
  int first[max_tensor_axes];  ///< of an axis
  int count[max_tensor_axes];
  int pieces_of_line;  ///< along axis 0
  long long pieces;    ///< of all lines
};

/// What pieces add to.
struct TensorSums {
  TwoTermSum value;
  double magnitude = 0;  ///< sum of the sizes of the pieces' sums

  GRIDSTRIDE_HOST_DEVICE void add(double of_piece) {
    value.add(of_piece);
    magnitude += of_piece < 0 ? -of_piece : of_piece;
  }
  GRIDSTRIDE_HOST_DEVICE void add(TensorSums const& other) {
    value.add(other.value);
    magnitude += other.magnitude;
  }
};

/// Goes through pieces in their order: those of a line, then the next line, the lower axes first.
/// Loops are over `dimensions`, which is a constant on the device, so that arrays are registers.
template <class Real, int capacity = max_tensor_axes>
class TensorCursor {
 public:
  GRIDSTRIDE_HOST_DEVICE TensorCursor(TensorAxes const& axes, int dimensions, long long piece)
      : segment_(static_cast<int>(piece % axes.pieces_of_line)) {
    long long line = piece / axes.pieces_of_line;
    for (int k = 1; k < dimensions; ++k) {
      digits_[k] = static_cast<int>(line % axes.count[k]);
      line /= axes.count[k];
    }
    take_nodes(axes, dimensions, dimensions);
  }

  /// Coordinates from axis 1 on; the one of axis 0 is the caller's.
  Real v[capacity];

  /// The product of the weights of all axes but axis 0.
  GRIDSTRIDE_HOST_DEVICE double weight() const { return weights_[1]; }
  /// The piece's nodes on axis 0.
  GRIDSTRIDE_HOST_DEVICE int begin() const { return segment_ * tensor_piece; }
  GRIDSTRIDE_HOST_DEVICE int end(TensorAxes const& axes) const {
    int const last = begin() + tensor_piece;
    return last < axes.count[0] ? last : axes.count[0];
  }

  GRIDSTRIDE_HOST_DEVICE void advance(TensorAxes const& axes, int dimensions) {
    if (++segment_ < axes.pieces_of_line) return;
    segment_ = 0;
    bool carries = true;
    int changed = 0;
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int k = 1; k < dimensions; ++k) {
      if (!carries) continue;
      changed = k;
      carries = ++digits_[k] == axes.count[k];
      if (carries) digits_[k] = 0;
    }
    take_nodes(axes, dimensions, changed);
  }

 private:
  /// Nodes of the axes up to `last`, whose digits are new.
  GRIDSTRIDE_HOST_DEVICE void take_nodes(TensorAxes const& axes, int dimensions, int last) {
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int k = dimensions - 1; k >= 1; --k) {
      if (k > last) continue;
      TensorNode const node = axes.nodes[axes.first[k] + digits_[k]];
      v[k] = static_cast<Real>(node.position);
      weights_[k] = k + 1 < dimensions ? weights_[k + 1] * node.weight : node.weight;
    }
  }

  int segment_;
  int digits_[capacity];
  double weights_[capacity];  ///< products of the weights of this axis and higher ones
};

}  // namespace gridstride::quadrature
