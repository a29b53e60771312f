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
Table<T> roots(std::int64_t count, std::int64_t period, std::int64_t step = 1) {
  Table<T> table;
  for (std::int64_t k = 0; k < count; ++k) table.emplace_back(root_of_one(k * step, period));
  return table;
}

template <class T>
Table<T> joined(SplitComplex<T> const& numbers) {
  Table<T> table;
  for (std::size_t k = 0; k < numbers.re.size(); ++k)
    table.emplace_back(numbers.re[k], numbers.im[k]);
  return table;
}

/// Tables that are made once for each key and device.
template <class T, class Key>
class Kept {
 public:
  template <class Make>
  Number<T> const* get(Stream& stream, Key const& key, Make const& make) {
    std::lock_guard const lock(mutex_);
    auto& buffer = buffers_[{stream.device().ordinal(), key}];
    if (buffer.size() == 0) {
      Table<T> const table = make();
      OutsideOfCapture const relaxed;
      Stream beside = stream.urgent();
      buffer = Buffer<Number<T>>(beside, MemorySpace::device, table.size());
      copy_async(buffer.span(),
                 std::span(reinterpret_cast<Number<T> const*>(table.data()), table.size()), beside);
      beside.synchronize();
    }
    return buffer.data();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, Key>, Buffer<Number<T>>> buffers_;
};

enum class Content { roots, chirp, filter, filter_rows, halving, quarter, high, low };

/// By content and the number of points, and that of the convolution.
template <class T>
auto& kept() {
  static auto& tables = *new Kept<T, std::tuple<Content, std::int64_t, std::int64_t>>;
  return tables;
}

}  // namespace

template <class T>
void set_tables(Stream& stream, LineKind kind, std::int64_t line_points, std::int64_t convolution,
                LineWork<T>& work) {
  std::int64_t const length = length_of(kind, line_points);
  std::int64_t const points = complex_length(kind, line_points);
  auto const get = [&](Content content, std::int64_t of, auto const& make) {
    return kept<T>().get(stream, {content, of, content == Content::filter ? convolution : 0}, make);
  };
  std::int64_t const all = convolution > 0 ? convolution : points;
  work.roots = get(Content::roots, all, [&] { return roots<T>(all, all); });
  if (convolution > 0) {
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
void set_twist(Stream& stream, std::int64_t points, std::int64_t unit, LineWork<T>& work) {
  constexpr int shift = 13;
  constexpr std::int64_t step = std::int64_t{1} << shift;
  work.twist = unit;
  work.twist_shift = shift;
  work.twist_low = kept<T>().get(stream, {Content::low, points, 0},
                                 [&] { return roots<T>(std::min(step, points), points); });
  work.twist_high = kept<T>().get(stream, {Content::high, points, 0},
                                  [&] { return roots<T>((points - 1) / step + 1, points, step); });
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
  template void set_twist(Stream&, std::int64_t, std::int64_t, LineWork<T>&);                     \
  template void set_convolution(Stream&, std::int64_t, std::int64_t, std::int64_t, LineWork<T>&); \
  template LineWork<T> work_of(Pass<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft
