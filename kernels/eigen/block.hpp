#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/host_device.hpp"
#include "core/stream.hpp"

/// Work with blocks of vectors, of which there are few beside their length: products of all with
/// all, and combinations of them. Vectors are rows in device memory; small matrices are on the host.
namespace gridstride::eigen {

/// Rows of n values, and what they count in ⟨u, v⟩ = Σ w_p·u_p·v_p. Where w_p = 0 there is no unknown,
/// and all rows are 0.
struct Space {
  std::int64_t size = 0;            ///< n
  double const* weights = nullptr;  ///< w, in device memory; null: 1 everywhere
};

/// A row-major matrix on the host.
struct Small {
  int rows = 0, columns = 0;
  std::vector<double> values;

  Small() = default;
  Small(int row_count, int column_count)
      : rows(row_count),
        columns(column_count),
        values(static_cast<std::size_t>(row_count) * static_cast<std::size_t>(column_count)) {}
  double& operator()(int i, int j) {
    return values[static_cast<std::size_t>(i) * static_cast<std::size_t>(columns) +
                  static_cast<std::size_t>(j)];
  }
  double operator()(int i, int j) const { return const_cast<Small&>(*this)(i, j); }
};

/// A·B, and A·Bᵀ.
Small product(Small const& a, Small const& b);
Small product_transposed(Small const& a, Small const& b);

/// Rows in up to three pieces of memory, counted through.
struct Rows {
  struct Piece {
    double* first = nullptr;
    int rows = 0;
  };
  Piece pieces[3] = {};

  GRIDSTRIDE_HOST_DEVICE int count() const {
    return pieces[0].rows + pieces[1].rows + pieces[2].rows;
  }
  GRIDSTRIDE_HOST_DEVICE double* row(int number, std::int64_t size) const {
    if (number < pieces[0].rows) return pieces[0].first + number * size;
    number -= pieces[0].rows;
    if (number < pieces[1].rows) return pieces[1].first + number * size;
    return pieces[2].first + (number - pieces[1].rows) * size;
  }
};

/// ⟨u_i, v_j⟩ for all rows. Waits for the stream.
Small gram(Stream& stream, Space const& space, Rows const& u, Rows const& v);

/// out_i ← Σ_j factors_ij·in_j; rows of `out` may be rows of `in`, others must not overlap. At most
/// `most_combined` rows in.
void combine(Stream& stream, Space const& space, Rows const& in, Small const& factors,
             Rows const& out);
inline constexpr int most_combined = 512;

/// r_i ← ax_i − values_i·x_i, and their norms. Waits for the stream.
std::vector<double> residuals(Stream& stream, Space const& space, Rows const& x, Rows const& ax,
                              std::span<double const> values, Rows const& r);

/// Queues numbers in (−1, 1) for unknowns, each of which depends on its place, the row and the seed
/// alone.
void randomise(Stream& stream, Space const& space, Rows const& rows, std::uint64_t seed);

/// Queues row_p ← row_p·factors_p for so many rows.
void scale_points(Stream& stream, Space const& space, double const* factors, Rows const& rows);

/// Where the first of the largest |u_p| of each row is, as far as they can be told apart (they are
/// within a thousandth), and whether u is negative there. Waits for the stream.
struct Peak {
  std::int64_t place = 0;
  bool negative = false;
};
std::vector<Peak> peaks(Stream& stream, Space const& space, Rows const& rows);

/// Queues out[p·point_stride + i·row_stride] ← factors_i·row_i[p], rounded to T.
template <class T>
void deliver(Stream& stream, Space const& space, Rows const& rows, std::span<double const> factors,
             T* out, std::int64_t point_stride, std::int64_t row_stride);

}  // namespace gridstride::eigen
