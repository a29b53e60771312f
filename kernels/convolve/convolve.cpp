#include "kernels/convolve/convolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/convolve/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::convolve {

// ------------------------------------------------------------------------------------- the filter

namespace {

template <class T>
std::vector<T> checked_taps(std::span<double const> taps, std::int64_t center) {
  auto const count = std::ssize(taps);
  if (count < 1 || count > most_taps)
    throw std::invalid_argument(
        fmt::format("convolve: a filter has 1 to {} taps, not {}", most_taps, count));
  if (center < 0 || center >= count)
    throw std::invalid_argument(fmt::format(
        "convolve: tap {} is the center of a filter of {} (counted from 0)", center, count));
  std::vector<T> result;
  for (double const tap : taps) {
    result.push_back(static_cast<T>(tap));
    if (!std::isfinite(result.back()))
      throw std::invalid_argument(
          fmt::format("convolve: tap {} is {} (taps have to be finite, also in float{})",
                      result.size() - 1, tap, 8 * sizeof(T)));
  }
  return result;
}

}  // namespace

template <class T>
Filter<T>::Filter(Stream& stream, std::span<double const> taps, std::int64_t center)
    : count_(std::ssize(taps)),
      center_(center),
      prepared_(new Prepared{stream.backend(), checked_taps<T>(taps, center), {}, {}, {}}) {
  prepared_->device_taps = Buffer<T>(stream, MemorySpace::device, taps.size());
  copy_async(prepared_->device_taps.span(), std::span<T const>(prepared_->taps), stream);
}

template <class T>
Filter<T>::~Filter() = default;
template <class T>
Filter<T>::Filter(Filter&&) noexcept = default;
template <class T>
Filter<T>& Filter<T>::operator=(Filter&&) noexcept = default;

template <class T>
std::span<T const> Filter<T>::taps() const {
  return prepared_->taps;
}

template <class T>
std::span<T const> Filter<T>::device_taps() const {
  return std::as_const(prepared_->device_taps).span();
}

// ------------------------------------------------------------------------------------- the ladder

namespace {

/// The row's function, which is for float64 alone.
template <class T>
constexpr Function<T>* tensor_core_row() {
  if constexpr (std::is_same_v<T, double>)
    return GRIDSTRIDE_CUDA_ROW(cuda_tensor_core);
  else
    return nullptr;
}

}  // namespace

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "one output after the other, one tap after the other, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "blocks of outputs shared among threads; sums of neighbouring outputs in vectors"},
      {"fft", Backend::cpu, host_fft<T>,
       "blocks of the signal times the filter's spectrum: a few operations per output for any "
       "number of taps"},
      {"global", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_global<T>),
       "one thread per output; data and taps from global memory"},
      {"shared", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_shared<T>),
       "a block stages the data of its outputs in shared memory, boundaries included"},
      {"constant", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_constant<T>),
       "the same, with the taps as a kernel parameter: the constant bank hands a tap to all lanes"},
      {"persistent", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_persistent<T>),
       "the same by as many blocks as run at a time, which fetch tile after tile"},
      {"register", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_register<T>),
       "several outputs per thread, the window of data in registers: a load serves them all"},
      {"tensor_core",
       Backend::cuda,
       tensor_core_row<T>(),
       "float64 as products with a Toeplitz matrix on tensor cores",
       {.float64_products = true}},
      {"overlap_save", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_overlap_save<T>),
       "overlapping blocks of the signal times the filter's spectrum, transforms by cuFFT"},
      {"fft", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_fft<T>),
       "the same within one block of threads each: two transforms and the product on the chip"},
      {"cufft", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cufft<T>),
       "the whole signal in one transform of NVIDIA's cuFFT"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "register";
}

namespace {

/// From how many taps on transforms are faster on a GPU, as measured on an H200. Along x they gain
/// with the length of the signals, and along y and z they pay for turning them.
struct Crossover {
  std::int64_t least_length;
  std::int64_t float32_taps, float64_taps;
};
constexpr Crossover along_x[] = {{65536, 48, 120}, {4096, 95, 64}, {0, 180, 112}};
constexpr Crossover along_y_or_z{0, 420, 310};

/// On signals of this length along x, tensor cores are the fastest from so many taps on, until
/// transforms are.
constexpr std::int64_t tensor_core_length = 65536, tensor_core_taps = 41;

}  // namespace

std::string_view choose(Backend backend, std::int64_t taps, Shape const& shape,
                        std::size_t value_bytes) {
  auto const signals = Signals::of(shape);
  bool const is_double = value_bytes == sizeof(double);
  if (backend == Backend::cpu) return taps < (is_double ? 64 : 112) ? "threads" : "fft";
  auto const* crossover = &along_y_or_z;
  if (signals.inner == 1)
    for (crossover = along_x; signals.length < crossover->least_length;) ++crossover;
  if (taps >= (is_double ? crossover->float64_taps : crossover->float32_taps)) return "fft";
  bool const products = signals.inner == 1 && is_double && signals.length >= tensor_core_length;
  return products && taps >= tensor_core_taps ? "tensor_core" : "register";
}

namespace {

/// Whether the row `fft` of a GPU takes such filters.
bool takes_fft([[maybe_unused]] Device const& device, [[maybe_unused]] std::int64_t taps,
               [[maybe_unused]] Shape const& shape, [[maybe_unused]] std::size_t value_bytes) {
#ifdef GRIDSTRIDE_WITH_CUDA
  return value_bytes == sizeof(double) ? cuda_takes_fft<double>(device, taps, shape.length())
                                       : cuda_takes_fft<float>(device, taps, shape.length());
#else
  return true;
#endif
}

bool has_cuda_fft() {
#ifdef GRIDSTRIDE_WITH_CUDA
  return cuda_has_fft();
#else
  return true;
#endif
}

}  // namespace

std::string_view choose(Device const& device, std::int64_t taps, Shape const& shape,
                        std::size_t value_bytes) {
  auto const choice = choose(device.backend(), taps, shape, value_bytes);
  if (device.backend() == Backend::cpu) return choice;
  if (choice == "tensor_core" && !device.capabilities().float64_products) return "register";
  if (choice == "fft" && !takes_fft(device, taps, shape, value_bytes))
    return has_cuda_fft() ? "overlap_save" : "register";
  return choice;
}

template <class T>
Variant<Function<T>> const& row_for(Device const& device, std::int64_t taps, Shape const& shape,
                                    std::string_view variant) {
  bool const automatic = variant == "auto";
  if (automatic) variant = choose(device, taps, shape, sizeof(T));
  auto const& row = find_variant("convolve", variants<T>(), device, variant);
  if (!automatic && device.backend() == Backend::cuda && variant == "fft" &&
      !takes_fft(device, taps, shape, sizeof(T)))
    throw std::invalid_argument(
        fmt::format("convolve: 'fft' takes no filter of {} taps on {} (overlap_save does)", taps,
                    device.name()));
  return row;
}

// -------------------------------------------------------------------------------------- the calls

namespace {

void check(Shape const& shape, NamedBytes const& in, NamedBytes const& out) {
  auto const [nx, ny, nz] = shape.points;
  if (shape.axis < 0 || shape.axis > 2)
    throw std::invalid_argument(fmt::format("convolve: there is no axis {}", shape.axis));
  if (std::min({nx, ny, nz}) < 0)
    throw std::invalid_argument(
        fmt::format("convolve: no array has {} x {} x {} points", nx, ny, nz));
  // No array that there can be has more points than a product in floating point shows exactly.
  double const points = static_cast<double>(nx) * static_cast<double>(ny) * static_cast<double>(nz);
  for (auto const& array : {in, out})
    if (static_cast<double>(array.size) < points)
      throw std::invalid_argument(
          fmt::format("convolve: {} has {} elements, {} x {} x {} points are {:.0f}", array.name,
                      array.size, nx, ny, nz, points));
}

}  // namespace

template <class T>
void convolve(Stream& stream, Filter<T> const& filter, Shape const& shape, Boundary boundary,
              std::span<T const> in, std::span<T> out, double value, std::string_view variant) {
  convolve(stream, filter, shape, boundary, in, out, value,
           row_for<T>(stream.device(), filter.count(), shape, variant));
}

template <class T>
void convolve(Stream& stream, Filter<T> const& filter, Shape const& shape, Boundary boundary,
              std::span<T const> in, std::span<T> out, double value,
              Variant<Function<T>> const& row) {
  check(shape, named("in", in), named("out", out));
  require_disjoint("convolve", named("in", in), named("out", out));
  if (filter.prepared().backend != stream.backend())
    throw std::invalid_argument(
        fmt::format("convolve: the filter was made for {}, the stream is {}",
                    name_of(filter.prepared().backend), name_of(stream.backend())));
  if (shape.size() == 0) return;
  row.run(stream, {&filter, in.data(), out.data(), shape, boundary, static_cast<T>(value)});
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                               \
  template class Filter<T>;                                                                     \
  template std::span<Variant<Function<T>> const> variants<T>();                                 \
  template Variant<Function<T>> const& row_for(Device const&, std::int64_t, Shape const&,       \
                                               std::string_view);                               \
  template void convolve(Stream&, Filter<T> const&, Shape const&, Boundary, std::span<T const>, \
                         std::span<T>, double, std::string_view);                               \
  template void convolve(Stream&, Filter<T> const&, Shape const&, Boundary, std::span<T const>, \
                         std::span<T>, double, Variant<Function<T>> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::convolve
