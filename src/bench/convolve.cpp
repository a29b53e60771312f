#include "kernels/convolve/convolve.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_convolve {

using convolve::Boundary;
using convolve::Filter;
using convolve::Shape;

struct Asked {
  std::string_view operation;
  std::int64_t taps;
  std::int64_t gpu_size;
  int axis = 0;

  /// One signal along x, or a square.
  Shape shape(std::int64_t size) const {
    if (axis == 0) return {{size, 1, 1}, 0};
    return {{side_of(size), side_of(size), 1}, axis};
  }
};

/// Whether the variant works in transforms.
bool transforms(std::string_view variant) {
  return variant == "fft" || variant == "overlap_save" || variant == "cufft";
}

// ------------------------------------------------------------------------------------ the problem

/// Random data and taps; where signals end they go on as their last element.
template <class T>
class Filtering {
 public:
  Filtering(Stream& stream, Asked const& asked, std::int64_t size, int sets)
      : stream_(stream),
        shape_(asked.shape(size)),
        in_(stream, shape_.size(), sets),
        out_(stream, shape_.size(), sets),
        taps_(random_taps(asked.taps)),
        filter_(stream, taps_, asked.taps / 2) {}

  void prepare(int set) {
    machine::fill_random(stream_, in_(set), static_cast<std::uint64_t>(set),
                         {.bits = std::numeric_limits<T>::digits});
    spoil(stream_, out_(set));
  }

  void run(std::string_view variant, int set) {
    convolve::convolve<T>(stream_, filter_, shape_, Boundary::nearest, in_.constant(set), out_(set),
                          0, variant);
  }

  /// The largest |out − exact| / Σ|taps||in| of the samples. A sum of k products has at most
  /// k·ε/2·Σ|taps||in| of it, to first order and in any order (Higham, "Accuracy and Stability of
  /// Numerical Algorithms", 2nd ed., 3.1); docs/kernels/convolve.md has the bound for transforms.
  Accuracy accuracy(std::string_view variant) {
    if (samples_.empty()) find_samples();
    double const epsilon = std::numeric_limits<T>::epsilon();
    auto const points = static_cast<double>(shape_.length() + filter_.count());
    double squares = 0;
    for (T const tap : filter_.taps()) squares += static_cast<double>(tap) * tap;
    double const transformed =
        10 * epsilon * std::log2(4 * points) * std::sqrt(squares * 2 * points);
    Accuracy result{0, (static_cast<double>(filter_.count()) + 3) * epsilon};
    for (auto const& [index, value, magnitude] : samples_) {
      if (transforms(variant))
        result.allowed = std::max(result.allowed, transformed / static_cast<double>(magnitude));
      T const found = element(out_.constant(0), index);
      if (!std::isfinite(found)) return {std::numeric_limits<double>::infinity(), result.allowed};
      result.error =
          std::max(result.error, static_cast<double>(std::abs(found - value) / magnitude));
    }
    return result;
  }

 private:
  static constexpr std::int64_t most_samples = 256;

  struct Sample {
    std::int64_t index;
    long double value, magnitude;
  };

  static std::vector<double> random_taps(std::int64_t count) {
    std::vector<double> taps(static_cast<std::size_t>(count));
    Stream host(Device::open(Backend::cpu));
    machine::fill_random(host, std::span(taps), 99);
    return taps;
  }

  T element(std::span<T const> values, std::int64_t index) {
    T value;
    copy_async(std::span(&value, 1), values.subspan(static_cast<std::size_t>(index), 1), stream_);
    stream_.synchronize();
    return value;
  }

  /// Elements `first` to before `last` of the signal to which the element at `index` belongs.
  std::vector<T> data_of(std::int64_t index, std::int64_t first, std::int64_t last) {
    if (shape_.axis != 0) {
      std::vector<T> data;
      std::int64_t const stride = shape_.points[0];
      for (std::int64_t i = first; i < last; ++i)
        data.push_back(element(in_.constant(0), index % stride + i * stride));
      return data;
    }
    std::vector<T> data(static_cast<std::size_t>(last - first));
    copy_async(std::span(data),
               in_.constant(0).subspan(static_cast<std::size_t>(first), data.size()), stream_);
    stream_.synchronize();
    return data;
  }

  /// Exact outputs of set 0 at even distances, the first and the last included.
  void find_samples() {
    std::int64_t const count = std::min(most_samples, shape_.size()), n = shape_.length();
    for (std::int64_t s = 0; s < count; ++s) {
      auto const index = count == 1 ? 0 : s * (shape_.size() - 1) / (count - 1);
      auto const i = shape_.axis == 0 ? index : index / shape_.points[0];
      auto const lowest = i + filter_.center() - (filter_.count() - 1);
      auto const first = std::clamp<std::int64_t>(lowest, 0, n - 1);
      auto const data =
          data_of(index, first, std::clamp<std::int64_t>(i + filter_.center() + 1, 1, n));
      Sample sample{index, 0, 0};
      for (std::int64_t k = 0; k < filter_.count(); ++k) {
        auto const source = std::clamp<std::int64_t>(i + filter_.center() - k, 0, n - 1);
        long double const product =
            static_cast<long double>(filter_.taps()[static_cast<std::size_t>(k)]) *
            data[static_cast<std::size_t>(source - first)];
        sample.value += product;
        sample.magnitude += std::abs(product);
      }
      samples_.push_back(sample);
    }
  }

  Stream& stream_;
  Shape shape_;
  Arrays<T> in_, out_;
  std::vector<double> taps_;
  Filter<T> filter_;
  std::vector<Sample> samples_;
};

template <class T>
Problem problem(Stream& stream, Asked const& asked, std::int64_t size, int sets) {
  auto const filtering = std::make_shared<Filtering<T>>(stream, asked, size, sets);
  return {.prepare = [=](int set) { filtering->prepare(set); },
          .run = [=](std::string_view variant, int set) { filtering->run(variant, set); },
          .accuracy = [=](std::string_view variant) { return filtering->accuracy(variant); }};
}

// ---------------------------------------------------------------------------------- the workloads

/// Operations per output of the direct sum, and of blocks of n points, which give n − taps + 1
/// outputs for two real transforms of 2.5·n·log2 n operations and a product; for the best n.
double direct_flops(std::int64_t taps) { return 2 * static_cast<double>(taps); }
double transform_flops(std::int64_t taps) {
  double least = std::numeric_limits<double>::infinity();
  for (int log2 = 4; log2 <= 24; ++log2) {
    double const n = std::ldexp(1.0, log2), outputs = n - static_cast<double>(taps) + 1;
    if (outputs > 0) least = std::min(least, n * (5 * log2 + 3) / outputs);
  }
  return least;
}

/// The rows, each with the operations that it needs. Very long filters are left to those that are
/// made for them.
template <class T>
std::vector<Row> rows(Backend backend, Asked const& asked, double flops) {
  auto const choice = convolve::choose(backend, asked.taps, asked.shape(asked.gpu_size), sizeof(T));
  auto rows = rows_of(convolve::variants<T>(), backend, choice);
  if (backend == Backend::cuda && asked.taps > 1000)
    std::erase_if(rows,
                  [](Row const& row) { return !transforms(row.name) && row.name != "register"; });
  for (auto& row : rows) {
    bool const products = row.name == "tensor_core";  // 15 of them are with zeros
    row.roof = products ? machine::float64_tensor_roof : arithmetic_roof<T>();
    row.operations = (transforms(row.name) ? transform_flops(asked.taps)
                      : products           ? direct_flops(asked.taps + 15)
                                           : direct_flops(asked.taps)) /
                     flops;
  }
  return rows;
}

template <class T>
Workload workload(Backend backend, Asked const& asked) {
  constexpr double moved = 2 * sizeof(T);
  double const flops = std::min(direct_flops(asked.taps), transform_flops(asked.taps));
  constexpr std::int64_t host_products = std::int64_t{1} << 30;
  auto const size = default_size(backend, asked.gpu_size);
  return {.family = "convolve",
          .operation = asked.operation,
          .type = type_name<T>(),
          .by_default = true,
          .size = backend == Backend::cuda ? size : std::min(size, host_products / asked.taps),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                               .set_bytes = moved}),
          .rows = rows<T>(backend, asked, flops),
          .make = [=](Stream& stream, std::int64_t elements,
                      int sets) { return problem<T>(stream, asked, elements, sets); },
          .rounded = asked.axis == 0
                         ? [](std::int64_t wanted) { return wanted; }
                         : [](std::int64_t wanted) { return side_of(wanted) * side_of(wanted); },
          .error = "the largest |out - exact| / sum |taps||in| of up to 256 outputs"};
}

}  // namespace of_convolve

std::vector<Workload> convolve_workloads(Backend backend) {
  using namespace of_convolve;
  constexpr std::int64_t large = std::int64_t{1} << 28, medium = large / 4;
  return {
      workload<float>(backend, {"9 taps along x", 9, large}),
      workload<float>(backend, {"63 taps along x", 63, medium}),
      workload<float>(backend, {"255 taps along x", 255, medium}),
      workload<float>(backend, {"8191 taps along x", 8191, medium}),
      workload<float>(backend, {"31 taps along y", 31, medium, 1}),
      workload<double>(backend, {"9 taps along x", 9, large / 2}),
      workload<double>(backend, {"63 taps along x", 63, medium}),
      workload<double>(backend, {"255 taps along x", 255, medium}),
  };
}

}  // namespace gridstride::bench
