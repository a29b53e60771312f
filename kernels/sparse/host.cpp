// Sparse matrix times vector on the host.
//
// `reference`: each row's elements in their order, one row after the other: the oracle.
// `threads`: the same sums, rows shared among threads in runs of about 4096 elements, so that
// neither short nor long rows leave a thread without work; each element serves up to eight vectors.

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernels/sparse/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

namespace {

template <class T>
class HostRows : public Product<T> {
 public:
  explicit HostRows(Csr<T> const& matrix) : a_(matrix) {}
  void multiply(Stream&, T const* x, T* y, std::int64_t vectors) const override {
    for (std::int64_t v = 0; v < vectors; ++v)
      multiply_rows<1>(0, a_.rows, x + v * a_.columns, y + v * a_.rows);
  }
  std::size_t bytes() const override {
    return a_.offsets.size() * sizeof(a_.offsets[0]) +
           a_.values.size() * (sizeof(T) + sizeof(a_.column_indices[0]));
  }

 protected:
  template <int vectors>
  void multiply_rows(std::int64_t first, std::int64_t last, T const* x, T* y) const {
    auto const* const offsets = a_.offsets.data();
    auto const* const columns = a_.column_indices.data();
    T const* const values = a_.values.data();
    for (std::int64_t row = first; row < last; ++row) {
      std::array<T, vectors> sums{};
      for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k)
        for (std::size_t v = 0; v < vectors; ++v)
          sums[v] += values[k] * x[static_cast<std::int64_t>(v) * a_.columns + columns[k]];
      for (std::size_t v = 0; v < vectors; ++v)
        y[static_cast<std::int64_t>(v) * a_.rows + row] = sums[v];
    }
  }

  Csr<T> a_;
};

template <class T>
class SharedRows final : public HostRows<T> {
 public:
  explicit SharedRows(Csr<T> const& matrix) : HostRows<T>(matrix) {
    constexpr std::int64_t run = 4096;  // steps: an element, or a row
    firsts_.push_back(0);
    std::int64_t begin = 0;
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      std::int64_t const step = matrix.offsets[static_cast<std::size_t>(row) + 1] + row + 1;
      if (step - begin < run && row + 1 < matrix.rows) continue;
      firsts_.push_back(row + 1);
      begin = step;
    }
  }
  void multiply(Stream&, T const* x, T* y, std::int64_t vectors) const override {
    for_groups(vectors, [&]<int count>(std::integral_constant<int, count>, std::int64_t first) {
      constexpr std::int64_t work = 2 * 4096 * count;
      parallel_for(static_cast<std::int64_t>(firsts_.size()) - 1, work, [&](std::int64_t run) {
        auto const i = static_cast<std::size_t>(run);
        this->template multiply_rows<count>(
            firsts_[i], firsts_[i + 1], x + first * this->a_.columns, y + first * this->a_.rows);
      });
    });
  }

 private:
  std::vector<std::int64_t> firsts_;  // rows where runs begin, and the end
};

}  // namespace

template <class T>
Form<T> host_reference(Stream&, Csr<T> const& matrix) {
  return std::make_unique<HostRows<T>>(matrix);
}

template <class T>
Form<T> host_threads(Stream&, Csr<T> const& matrix) {
  return std::make_unique<SharedRows<T>>(matrix);
}

#define GRIDSTRIDE_INSTANTIATE(T)                          \
  template Form<T> host_reference(Stream&, Csr<T> const&); \
  template Form<T> host_threads(Stream&, Csr<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse
