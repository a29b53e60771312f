#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/csr.hpp"

/// Triangular systems, for the family's own files:
///
///   x_i = d_i·b_i − Σ_j t_ij·x_j,   j < i, or j > i
///
/// Rows are sorted by levels: a row's level is one more than the highest of those that it waits for.
/// Each level is cut into steps of up to 512 rows, for a block's threads, and each step into slices of
/// 32. The rows of a slice are there with the longest first; its elements lie side by side, the first
/// one of each row, then the second of those that have two, and so on, so that a warp reads
/// neighbouring places and nothing is padded.
///
/// A task is a run of levels of one step each, or one step of a wider level. It may begin once all
/// tasks before the `needs` that it names are done.
namespace gridstride::sparse {

inline constexpr int rows_of_step = 512;
inline constexpr int rows_of_triangle_slice = 32;

/// What a kernel sees of a triangle.
template <class T>
struct TriangleView {
  std::int32_t const *rows, *lengths;  ///< by places in the order of levels
  std::int64_t const* begins;          ///< the first element of the row
  std::int32_t const* columns;
  T const* values;
  T const* factors;              ///< d, by places; null for 1
  std::int64_t const* steps;     ///< the first place of each step, and the end
  std::int64_t const* tasks;     ///< the first step of each task, and the end
  std::int64_t const* needs;     ///< of each task
  std::int64_t count;            ///< of tasks
  unsigned long long* counters;  ///< tasks taken and tasks done, 0 between solves
};

template <class T>
class Triangle {
 public:
  /// `strict` has elements on one side of the diagonal alone; `factors` are d by rows, none for 1.
  Triangle(Stream& stream, Csr<double> const& strict, std::span<double const> factors, bool upper);

  /// Queues the solve; x may be b.
  void solve(Stream& stream, T const* b, T* x) const;
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t levels() const { return static_cast<std::int64_t>(level_steps_.size()) - 1; }

 private:
  struct Plan;
  void sort_rows(Csr<double> const& strict, bool upper, Plan& plan);
  void cut_tasks(Plan& plan);
  TriangleView<T> view() const;

  std::vector<std::int64_t> level_steps_;  ///< the first step of each level, and the end
  std::int64_t work_of_step_ = 0, widest_ = 0;
  Buffer<std::int32_t> rows_, lengths_, columns_;
  Buffer<std::int64_t> begins_, steps_, tasks_, needs_;
  Buffer<T> values_, factors_;
  mutable Buffer<unsigned long long> counters_;
};

#ifdef GRIDSTRIDE_WITH_CUDA
/// `widest` is the most tasks that may run at the same time.
template <class T>
void cuda_solve(Stream& stream, TriangleView<T> const& triangle, std::int64_t widest, T const* b,
                T* x);
#endif

}  // namespace gridstride::sparse
