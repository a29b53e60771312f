#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "kernels/convolve/convolve.hpp"
#include "kernels/evaluate/formulas.hpp"
#include "simulations/transform_layout.hpp"

namespace gridstride::transform {

/// What stays in device memory from one pass to the next: of each array that comes from a file, some
/// rows.
template <class T>
struct Resident {
  std::vector<Rows> rows;         ///< of each array, those that may stay
  std::vector<Buffer<T>> values;  ///< these
  std::vector<Rows> filled;       ///< those that are there
};

/// A scan of a whole array, which goes on from chunk to chunk, in whatever lane it is.
template <class T>
class ScanState {
 public:
  /// Keeps `rows` rows of what it made last.
  ScanState(Stream const& stream, Chain const& chain, int place, std::int64_t rows);
  /// Of device memory.
  static std::size_t bytes(Device const& device, Chain const& chain, int place, std::int64_t rows);

  int place() const { return place_; }
  /// Queues the rows of a piece from row `scanned` on; those before come from what is kept.
  void make(Stream& stream, T const* input, Rows const& piece, std::int64_t scanned, T* output);

 private:
  int place_;
  std::int64_t width_, capacity_;
  scan::RunningScan<T> scan_;
  Buffer<T> kept_;
  Rows rows_;  ///< that are kept
};

/// Computes the arrays of a chain for one chunk after the other, on one stream. T is float or
/// double.
template <class T>
class Worker {
 public:
  /// With device memory for layouts of so many values.
  Worker(Stream const& stream, Chain const& chain, std::size_t values);
  /// What it takes of device memory beside these.
  static std::size_t bytes(Chain const& chain);

  /// Queues the work on a chunk; what it needs of files lies at `read`, or is resident
  /// there. The layout has to live until another one is computed. Where there
  /// are scans, chunks are computed one after the other.
  void compute(Layout const& layout, T const* read, Resident<T> const& resident,
               std::vector<ScanState<T>>& scans);
  /// Rows of an array of the present layout, in device memory.
  T const* find(int place, Rows const& rows) const;
  std::span<T const> values(int place, Rows const& rows) const {
    return {find(place, rows), static_cast<std::size_t>(rows.count() * chain_->width(place))};
  }
  Stream& stream() { return stream_; }
  /// What it does otherwise than asked, a line each.
  std::vector<std::string> fallbacks() const;

 private:
  T* own(std::size_t offset) { return memory_.data() + offset; }
  void make(int place, Placed const& piece, std::vector<ScanState<T>>& scans);
  void scan(int place, Placed const& piece, ScanState<T>& state);
  void evaluate(std::size_t group);
  void filter(int place, Placed const& piece);
  T const* join(int place, Placed const& piece);
  void difference(int place, Placed const& piece);
  /// The grid of some rows of an array; along the slowest axis coordinates are indices.
  Grid rows_grid(int place, Rows const& rows) const;

  Stream stream_;
  Chain const* chain_;
  Buffer<T> memory_;
  std::vector<evaluate::Formulas> formulas_;                 // of each group of the chain
  std::vector<std::optional<convolve::Filter<T>>> filters_;  // of each link
  Layout const* layout_ = nullptr;
  T const* read_ = nullptr;
  Resident<T> const* resident_ = nullptr;
};

}  // namespace gridstride::transform
