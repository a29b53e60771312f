#pragma once

#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "kernels/scan/scan.hpp"

/// Inclusive scans of a sequence that comes piece by piece, one piece after the other, with the
/// same bits however it is cut into pieces. T is int32, int64, float or double; integrals are of
/// float and double.
namespace gridstride::scan {

enum class Running {
  sum,
  maximum,
  integral,  ///< y_0 = 0, y_i = y_(i−1) + (h/2)·(x_(i−1) + x_i): by the trapezoidal rule
};

/// Results are within the bounds of scan.hpp; those of integrals are sums of the increments, each
/// rounded to T. The bits are those of the backend; on GPUs those of all that have asynchronous bulk
/// copies (compute capability 9.0), or of all that have not.
///
/// The sequence is cut into groups of `group()` elements, each of which is scanned in a fixed order
/// from what is before it. Whole groups are scanned where they lie. What a piece leaves of an
/// unfinished group is kept, and scanned again with the next piece. On a GPU groups that do not
/// begin at a multiple of 16 bytes are scanned by way of a copy, one after the other.
template <class T>
class RunningScan {
 public:
  explicit RunningScan(Stream const& stream, Running what, double spacing = 1);

  /// Of device memory, at most.
  static std::size_t bytes(Device const& device);

  /// Pieces that are multiples of it are all whole groups.
  std::int64_t group() const { return group_; }

  /// Queues the next elements, which lie in the stream's device memory. A call begins, in the order
  /// of the device's work, after the one before. `output` may be the very array `input`, but not
  /// for an integral. Throws `std::invalid_argument` as the functions of scan.hpp do.
  void add(Stream& stream, std::span<T const> input, std::span<T> output);

 private:
  /// Scans input[0, size), which begins with a group, and moves on where `advances`.
  void scan(Stream& stream, T const* input, T* output, std::int64_t size, bool advances);
  void through_group(Stream& stream, std::span<T const> input, std::span<T> output);
  void add_increments(Stream& stream, std::span<T const> input, std::span<T> output);

  Running what_;
  T spacing_;
  std::int64_t group_;
  std::int64_t kept_ = 0;
  bool carries_ = false, begun_ = false;
  std::size_t slot_ = 0;    ///< of `carries`: what is before the present group
  Buffer<T> carry_, last_;  ///< two slots; the last element of an integrand
  Buffer<T> group_input_, group_output_;
};

}  // namespace gridstride::scan
