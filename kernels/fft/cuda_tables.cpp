#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/fft/host.hpp"
#include "kernels/support/preparation.cuh"

namespace gridstride::fft {

namespace {

template <class T>
using Table = std::vector<std::complex<T>>;

template <class T>
Table<T> roots(std::int64_t count, std::int64_t period) {
  Table<T> table;
  for (std::int64_t k = 0; k < count; ++k) table.emplace_back(root_of_one(k, period));
  return table;
}

template <class T>
Table<T> roots_of_passes(std::vector<int> const& radices) {
  Table<T> table;
  std::int64_t before = 1;
  for (int const radix : radices) {
    if (before > 1)
      for (int row = 0; row < root_rows(radix); ++row)
        for (std::int64_t k = 0; k < before; ++k)
          table.emplace_back(root_of_one(k * (row == 0 ? 1 : 4 * row), before * radix));
    before *= radix;
  }
  return table;
}

template <class T>
Table<T> joined(SplitComplex<T> const& numbers) {
  Table<T> table;
  for (std::size_t k = 0; k < numbers.re.size(); ++k)
    table.emplace_back(numbers.re[k], numbers.im[k]);
  return table;
}

/// Tables of `Entry` that are made once for each key and device.
template <class Entry, class Key>
class Kept {
 public:
  /// `make` makes as many values as entries, each as large as one.
  template <class Make>
  Entry const* get(Stream& stream, Key const& key, Make const& make) {
    std::lock_guard const lock(mutex_);
    auto& buffer = buffers_[{stream.device().ordinal(), key}];
    if (buffer.size() == 0) {
      auto const table = make();
      static_assert(sizeof(table[0]) == sizeof(Entry));
      OutsideOfCapture const relaxed;
      Stream beside = stream.urgent();
      buffer = Buffer<Entry>(beside, MemorySpace::device, table.size());
      copy_async(buffer.span(),
                 std::span(reinterpret_cast<Entry const*>(table.data()), table.size()), beside);
      beside.synchronize();
    }
    return buffer.data();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, Key>, Buffer<Entry>> buffers_;
};

enum class Content { roots, chirp, filter, filter_rows, reordered_filter, halving, quarter };

/// By content and the number of points, and that of the convolution.
template <class T>
auto& kept() {
  static auto& tables = *new Kept<Number<T>, std::tuple<Content, std::int64_t, std::int64_t>>;
  return tables;
}

int const* order_of(Stream& stream, std::int64_t prime) {
  static auto& orders = *new Kept<int, std::int64_t>;
  return orders.get(stream, prime, [&] { return powers_of_root(prime); });
}

/// What x of g^q is convolved with for Rader's transform: the transform of exp(−2πi·g^(−q)/p), over
/// its length.
template <class T>
Table<T> reordered_filter(std::int64_t prime) {
  auto const powers = powers_of_root(prime);
  Fourier<double> const fourier(prime - 1);
  SplitComplex<double> data(fourier.room()), spare(fourier.room());
  for (std::size_t q = 0; q < powers.size(); ++q) {
    auto const root = root_of_one(powers[q == 0 ? 0 : powers.size() - q], prime);
    data.re[q] = root.real() / static_cast<double>(powers.size());
    data.im[q] = root.imag() / static_cast<double>(powers.size());
  }
  auto result = view(data), other = view(spare);
  fourier.forward(result, other, 1);
  Table<T> table;
  for (std::size_t k = 0; k < powers.size(); ++k) table.emplace_back(result.re[k], result.im[k]);
  return table;
}

}  // namespace

template <class T>
void set_roots(Stream& stream, std::int64_t points, LineWork<T>& work) {
  work.roots =
      kept<T>().get(stream, {Content::roots, points, 0}, [&] { return roots<T>(points, points); });
}

template <class T>
void set_roots(Stream& stream, std::vector<int> const& radices, LineWork<T>& work) {
  static auto& tables = *new Kept<Number<T>, std::vector<int>>;
  if (radices.size() > 1)
    work.roots = tables.get(stream, radices, [&] { return roots_of_passes<T>(radices); });
}

template <class T>
void set_tables(Stream& stream, LineKind kind, std::int64_t line_points, std::int64_t convolution,
                LineWork<T>& work) {
  std::int64_t const length = length_of(kind, line_points);
  std::int64_t const points = complex_length(kind, line_points);
  auto const get = [&](Content content, std::int64_t of, auto const& make) {
    return kept<T>().get(stream, {content, of, content == Content::filter ? convolution : 0}, make);
  };
  if (convolution > 0 && convolution < points) {
    work.order = order_of(stream, points);
    work.filter =
        get(Content::reordered_filter, points, [&] { return reordered_filter<T>(points); });
  } else if (convolution > 0) {
    work.chirp = get(Content::chirp, points, [&] { return joined(Fourier<T>(points).chirp()); });
    work.filter = get(Content::filter, points,
                      [&] { return joined(Fourier<T>(points, convolution).filter()); });
  }
  if (length % 2 == 0 && kind != LineKind::complex)
    work.halving = get(Content::halving, length, [&] { return roots<T>(length / 4 + 1, length); });
  if (is_quarter(kind))
    work.quarter =
        get(Content::quarter, length, [&] { return roots<T>(length / 2 + 1, 4 * length); });
}

template <class T>
void set_convolution(Stream& stream, std::int64_t points, std::int64_t rows, std::int64_t columns,
                     LineWork<T>& work) {
  work.short_points = points;
  work.stretch = columns;
  work.chirp = kept<T>().get(stream, {Content::chirp, points, 0},
                             [&] { return joined(Fourier<T>(points).chirp()); });
  work.filter = kept<T>().get(stream, {Content::filter_rows, points, rows * columns}, [&] {
    // Result row + rows·column of the transform is in that row and column.
    auto const filter = joined(Fourier<T>(points, rows * columns).filter());
    Table<T> by_rows;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        by_rows.push_back(filter[static_cast<std::size_t>(row + rows * column)]);
    return by_rows;
  });
}

template <class T>
LineWork<T> work_of(Pass<T> const& pass) {
  LineWork<T> work{};
  work.in = pass.in;
  work.out = pass.out;
  work.in_stride = pass.in_stride;
  work.out_stride = pass.out_stride;
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::ranges::stable_sort(order, {}, [&](std::size_t axis) {
    return pass.counts[axis] > 1 ? pass.in_strides[axis] : INT64_MAX;
  });
  work.counts[3] = 1;
  for (std::size_t place = 0; place < 3; ++place) {
    std::size_t const axis = order[place];
    work.counts[place] = pass.counts[axis];
    work.in_strides[place] = pass.in_strides[axis];
    work.out_strides[place] = pass.out_strides[axis];
    if (axis < 2) work.across[place] = pass.across[axis];
  }
  work.lines = pass.lines();
  work.along = pass.along;
  work.constant = pass.constant;
  work.scale = pass.scale;
  return work;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template void set_tables(Stream&, LineKind, std::int64_t, std::int64_t, LineWork<T>&);          \
  template void set_roots(Stream&, std::int64_t, LineWork<T>&);                                   \
  template void set_roots(Stream&, std::vector<int> const&, LineWork<T>&);                        \
  template void set_convolution(Stream&, std::int64_t, std::int64_t, std::int64_t, LineWork<T>&); \
  template LineWork<T> work_of(Pass<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft
