// The list of boxes of an adaptive cubature on a GPU. The kernels that evaluate boxes have the
// integrand in them and are compiled at run time (cubature.cuh); those here need only the values.
//
// A generation is: errors to counts and totals (`survey_boxes`), copied to the host, which decides
// the bin from which on boxes are cut; the boxes that are cut, in their order, by a scan of flags
// (`flag_boxes`, `list_boxes`); both halves of each evaluated. Halves take the place of their box
// and places at the end, so that nothing else moves.
//
// Thread-to-data: one thread per box, or a grid of fixed size over all boxes for totals, so that
// their order, and with it their bits, depend on the number of boxes alone. Bytes: 17 per box for
// the survey, 17 + 9 for the list; the roof is the copy bandwidth, and evaluating the boxes takes
// far longer.

#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/buffer.hpp"
#include "kernels/cubature/list.hpp"
#include "kernels/scan/scan.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::quadrature {

namespace {

constexpr int threads = 256;
constexpr int survey_blocks = 264;

/// What a survey finds; zero before it.
struct Survey {
  BoxTotals parts[survey_blocks];
  ErrorCounts counts;
};

__global__ void __launch_bounds__(threads)
    survey_boxes(BoxArrays arrays, std::int64_t size, int bin, Survey* survey) {
  __shared__ unsigned counts[error_bins];
  __shared__ BoxTotals of_warps[threads / warp_size];
  for (int b = static_cast<int>(threadIdx.x); b < error_bins; b += threads) counts[b] = 0;
  __syncthreads();
  BoxTotals totals;
  for (std::int64_t i = blockIdx.x * threads + threadIdx.x; i < size;
       i += survey_blocks * threads) {
    double const error = arrays.errors[i];
    int const axis = arrays.axes[i];
    if (!is_cut(error, axis, bin)) totals.add(arrays.values[i], error, axis);
    if (axis >= 0) atomicAdd(&counts[error_bin(error)], 1u);
  }
  totals = block_reduce<threads>(
      totals,
      [](BoxTotals a, BoxTotals const& b) {
        a.add(b);
        return a;
      },
      of_warps);
  if (threadIdx.x == 0) survey->parts[blockIdx.x] = totals;
  for (int b = static_cast<int>(threadIdx.x); b < error_bins; b += threads)
    if (counts[b] != 0) atomicAdd(&survey->counts[b], counts[b]);
}

__global__ void __launch_bounds__(threads)
    flag_boxes(BoxArrays arrays, std::int64_t size, int bin, std::int32_t* flags) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < size) flags[i] = is_cut(arrays.errors[i], arrays.axes[i], bin) ? 1 : 0;
}

/// From the ranks of the boxes to cut to a list of the first `count` of them.
__global__ void __launch_bounds__(threads)
    list_boxes(BoxArrays arrays, std::int64_t size, int bin, std::int32_t const* ranks,
               std::int64_t count, std::int32_t* list) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < size && is_cut(arrays.errors[i], arrays.axes[i], bin) && ranks[i] < count)
    list[ranks[i]] = static_cast<std::int32_t>(i);
}

/// result[i] of each array = the box list[first + i], for i < count.
__global__ void __launch_bounds__(threads)
    gather_boxes(BoxArrays arrays, int dimensions, std::int32_t const* list, std::int64_t first,
                 std::int64_t count, BoxArrays result) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= count) return;
  std::int64_t const from = list[first + i];
  for (int k = 0; k < 2 * dimensions; ++k)
    result.boxes[i * 2 * dimensions + k] = arrays.boxes[from * 2 * dimensions + k];
  result.values[i] = arrays.values[from];
  result.errors[i] = arrays.errors[from];
  result.axes[i] = arrays.axes[from];
}

/// Room for boxes.
class BoxBuffers {
 public:
  BoxBuffers() = default;
  BoxBuffers(Stream& stream, int dimensions, std::int64_t size)
      : boxes_(stream, MemorySpace::device, static_cast<std::size_t>(2 * dimensions * size)),
        values_(stream, MemorySpace::device, static_cast<std::size_t>(size)),
        errors_(stream, MemorySpace::device, static_cast<std::size_t>(size)),
        axes_(stream, MemorySpace::device, static_cast<std::size_t>(size)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  BoxArrays arrays() { return {boxes_.data(), values_.data(), errors_.data(), axes_.data()}; }

  /// Copies the first `count` boxes of the other to the places from `at` on.
  void take(BoxBuffers& other, std::int64_t at, std::int64_t count, Stream& stream) {
    if (count == 0) return;
    auto const copy = [&](auto& to, auto& from) {
      auto const each = to.size() / values_.size();
      auto const begin = static_cast<std::size_t>(at) * each;
      auto const length = static_cast<std::size_t>(count) * each;
      copy_async(to.span().subspan(begin, length), from.span().first(length), stream);
    };
    copy(boxes_, other.boxes_);
    copy(values_, other.values_);
    copy(errors_, other.errors_);
    copy(axes_, other.axes_);
  }

 private:
  Buffer<double> boxes_, values_, errors_;
  Buffer<signed char> axes_;
};

template <class T>
class DeviceBoxes final : public BoxList {
 public:
  DeviceBoxes(Stream& stream, CubatureProblem const& problem, std::int64_t max_boxes)
      : stream_(stream),
        problem_(problem),
        dimensions_(problem.integrand.dimensions),
        max_boxes_(max_boxes),
        module_(compile<T>(stream.device(), problem.integrand, file)),
        survey_(stream, MemorySpace::device, 1),
        found_(std::make_unique<Survey>()) {
    for (std::size_t k = 0; k < problem.parameters.size(); ++k)
      parameters_.at[k] = static_cast<T>(problem.parameters[k]);
  }

  std::int64_t size() const override { return size_; }

  void begin(std::span<double const> boxes) override {
    std::int64_t const count = std::ssize(boxes) / (2 * dimensions_);
    reserve(count);
    copy_async(std::span(room_.arrays().boxes, boxes.size()), boxes, stream_);
    size_ = count;
    evaluate(nullptr, count);
    stream_.synchronize();  // the caller's boxes are read
  }

  BoxTotals survey(int bin, ErrorCounts& counts) override {
    zero_async(survey_.span(), stream_);
    survey_boxes<<<survey_blocks, threads, 0, native(stream_)>>>(room_.arrays(), size_, bin,
                                                                 survey_.data());
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "survey_boxes");
    copy_async(std::span(found_.get(), 1), survey_.span(), stream_);
    stream_.synchronize();
    BoxTotals totals;
    for (auto const& part : found_->parts) totals.add(part);
    counts = found_->counts;
    return totals;
  }

  void cut(int bin, std::int64_t count) override {
    find_list(bin, count);
    reserve(size_ + count);
    evaluate(list_.data(), count);
    size_ += count;
  }

  void keep(int bin, std::int64_t count) override {
    find_list(bin, count);
    // A box moves to a lower place, never onto one that is still to be read.
    constexpr std::int64_t piece = 1 << 16;
    BoxBuffers moving(stream_, dimensions_, std::min(piece, std::max<std::int64_t>(count, 1)));
    for (std::int64_t first = 0; first < count; first += piece) {
      std::int64_t const part = std::min(piece, count - first);
      gather_boxes<<<blocks_for(part, threads), threads, 0, native(stream_)>>>(
          room_.arrays(), dimensions_, list_.data(), first, part, moving.arrays());
      GRIDSTRIDE_CHECK_LAUNCH(stream_, "gather_boxes");
      room_.take(moving, first, part, stream_);
    }
    size_ = count;
  }

  std::vector<double> non_finite_sample() override {
    constexpr unsigned long long none = ~0ull;
    unsigned long long number = none;
    Buffer<unsigned long long> found(stream_, MemorySpace::device, 1);
    copy_async(found.span(), std::span(&number, 1), stream_);
    std::string const definitions[] = {"LOCATE_NON_FINITE"};
    compile<T>(stream_.device(), problem_.integrand, file, definitions)
        ->launch(stream_, "locate_non_finite", {{static_cast<unsigned>(size_)}, {box_block}},
                 room_.arrays(), parameters_, found.data());
    copy_async(std::span(&number, 1), found.span(), stream_);
    stream_.synchronize();
    if (number == none) return {};
    std::vector<double> sample(2 * static_cast<std::size_t>(dimensions_));
    double const* const box = room_.arrays().boxes + (number >> 32) * sample.size();
    copy_async(std::span(sample), std::span(box, sample.size()), stream_);
    stream_.synchronize();
    auto const point =
        genz_malik::point(dimensions_, static_cast<int>(number & 0xffffffff), rounding_of<T>());
    for (int k = 0; k < dimensions_; ++k)
      sample[k] = genz_malik::coordinate(point, k, static_cast<T>(sample[k]),
                                         static_cast<T>(sample[dimensions_ + k]));
    sample.resize(dimensions_);
    return sample;
  }

 private:
  static constexpr std::string_view file = "kernels/cubature/cubature.cuh";

  /// Makes room for `count` boxes: the least of max_boxes, max_boxes/2, max_boxes/4, … that
  /// suffices.
  void reserve(std::int64_t count) {
    if (count <= room_.size()) return;
    std::int64_t size = max_boxes_;
    while (size / 2 >= std::max<std::int64_t>(count, 1 << 12)) size /= 2;
    BoxBuffers larger(stream_, dimensions_, size);
    larger.take(room_, 0, size_, stream_);
    room_ = std::move(larger);
  }

  /// Puts the first `count` boxes that `is_cut` names into `list_`.
  void find_list(int bin, std::int64_t count) {
    if (std::ssize(ranks_.span()) < size_) {
      auto const room = static_cast<std::size_t>(room_.size());
      ranks_ = Buffer<std::int32_t>(stream_, MemorySpace::device, room);
      list_ = Buffer<std::int32_t>(stream_, MemorySpace::device, room);
    }
    auto const ranks = ranks_.span().first(static_cast<std::size_t>(size_));
    unsigned const blocks = blocks_for(size_, threads);
    flag_boxes<<<blocks, threads, 0, native(stream_)>>>(room_.arrays(), size_, bin, ranks.data());
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "flag_boxes");
    scan::exclusive_sum<std::int32_t>(stream_, ranks, ranks);
    list_boxes<<<blocks, threads, 0, native(stream_)>>>(room_.arrays(), size_, bin, ranks.data(),
                                                        count, list_.data());
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "list_boxes");
  }

  void evaluate(std::int32_t const* list, std::int64_t count) {
    unsigned const blocks = blocks_for(count, box_block / threads_of_box(dimensions_));
    module_->launch(stream_, "evaluate_boxes", {{blocks}, {box_block}}, room_.arrays(), list,
                    static_cast<int>(size_), static_cast<int>(count), problem_.extents,
                    parameters_);
  }

  Stream stream_;
  CubatureProblem problem_;
  int dimensions_;
  std::int64_t max_boxes_, size_ = 0;
  std::shared_ptr<RuntimeModule const> module_;
  ParameterValues<T> parameters_ = {};
  Buffer<Survey> survey_;
  std::unique_ptr<Survey> found_;  // a copy on the host
  Buffer<std::int32_t> ranks_, list_;
  BoxBuffers room_;
};

}  // namespace

template <class T>
std::unique_ptr<BoxList> make_device_boxes(Stream& stream, CubatureProblem const& problem,
                                           std::int64_t max_boxes) {
  return std::make_unique<DeviceBoxes<T>>(stream, problem, max_boxes);
}

template std::unique_ptr<BoxList> make_device_boxes<float>(Stream&, CubatureProblem const&,
                                                           std::int64_t);
template std::unique_ptr<BoxList> make_device_boxes<double>(Stream&, CubatureProblem const&,
                                                            std::int64_t);

}  // namespace gridstride::quadrature
