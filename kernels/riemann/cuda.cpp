// Composite rules on a GPU: how the kernels of compensated.cuh and ladder.cuh are compiled with
// the integrand and launched. A first pass leaves sums, a block of `finish` for each integral makes
// its result of them. Each integral has the blocks of a team; there are as many as the GPU holds at
// a time for a single one, and four times as many for several, so that the last ones to finish do
// not count.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/riemann/rows.hpp"

namespace gridstride::quadrature {

static_assert(sizeof(IntegralResult) == sizeof(Estimate) &&
              offsetof(IntegralResult, evaluations) == offsetof(Estimate, evaluations) &&
              offsetof(IntegralResult, verdict) == offsetof(Estimate, outcome) &&
              offsetof(IntegralResult, rounding) == offsetof(Estimate, rounding) &&
              static_cast<int>(Verdict::reached) == static_cast<int>(Outcome::reached) &&
              static_cast<int>(Verdict::non_finite) == static_cast<int>(Outcome::non_finite));

namespace {

constexpr std::string_view ladder_file = "kernels/riemann/ladder.cuh";
constexpr int largest_block = 256, warp_threads = 32;
constexpr std::int64_t samples_of_thread = 16;  ///< at least, where there are as many

/// The samples with offsets and weights in the device's memory.
template <class T>
class DeviceSamples {
 public:
  DeviceSamples(Stream& stream, RuleArguments const& a)
      : samples_(samples_of(a.pattern, a.rule, a.interval.lower, a.interval.upper,
                            std::numeric_limits<T>::epsilon())) {
    std::vector<double> numbers = a.pattern.offsets;
    numbers.insert(numbers.end(), a.pattern.fine.begin(), a.pattern.fine.end());
    numbers.insert(numbers.end(), a.pattern.coarse.begin(), a.pattern.coarse.end());
    numbers_ = Buffer<double>(stream, MemorySpace::device, numbers.size());
    copy_async<double>(numbers_.span(), numbers, stream);
    samples_.offsets = numbers_.data();
    samples_.fine = samples_.offsets + samples_.nodes;
    samples_.coarse = samples_.fine + samples_.nodes;
  }
  Samples const& operator*() const { return samples_; }
  Samples const* operator->() const { return &samples_; }

 private:
  Samples samples_;
  Buffer<double> numbers_;
};

/// How the threads are shared out.
struct Teams {
  int block_threads;
  int blocks;  ///< of each integral
};

/// A power of two of threads, not many more than a cell has nodes or an integral needs.
int block_threads_for(Samples const& s) {
  auto const wanted =
      static_cast<std::uint64_t>(std::max<std::int64_t>(s.nodes, s.count() / samples_of_thread));
  return static_cast<int>(std::clamp<std::uint64_t>(
      std::bit_ceil(std::min<std::uint64_t>(wanted, largest_block)), warp_threads, largest_block));
}

Teams teams_for(Stream const& stream, RuntimeModule const& module, char const* kernel,
                Samples const& s, std::size_t integrals) {
  int const threads = block_threads_for(s);
  std::int64_t const resident = static_cast<std::int64_t>(stream.device().processors()) *
                                module.resident_blocks(kernel, threads);
  std::int64_t const of_block = threads * samples_of_thread;
  std::int64_t const needed = (s.count() + of_block - 1) / of_block;
  auto const count = static_cast<std::int64_t>(integrals);
  std::int64_t const share = count == 1 ? resident : 4 * resident / count;
  return {threads, static_cast<int>(std::max<std::int64_t>(1, std::min(needed, share)))};
}

/// The number of blocks of a launch; throws when there are more than a grid may have.
unsigned grid_of(std::int64_t blocks, std::size_t integrals) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (static_cast<std::int64_t>(integrals) > most / blocks)
    throw std::invalid_argument(
        fmt::format("riemann: {} integrals of {} blocks of threads each are too many for a grid "
                    "of {} blocks",
                    integrals, blocks, most));
  return static_cast<unsigned>(blocks * static_cast<std::int64_t>(integrals));
}

/// The second pass.
void finish(Stream& stream, RuntimeModule const& module, Samples const& s, RuleArguments const& a,
            Sums const* partials, std::int64_t count) {
  auto const threads = static_cast<unsigned>(count <= warp_threads ? warp_threads : largest_block);
  module.launch(stream, "finish", {grid_of(1, a.integrals), threads, 0}, s, a.parameters, partials,
                static_cast<long long>(count), reinterpret_cast<IntegralResult*>(a.results));
}

/// Both passes, of a kernel that leaves a sum for each `threads_of_sum` threads; 0 is for each
/// block.
template <class T>
void run(Stream& stream, RuntimeModule const& module, char const* kernel, RuleArguments const& a,
         int threads_of_sum) {
  DeviceSamples<T> const samples(stream, a);
  Teams const teams = teams_for(stream, module, kernel, *samples, a.integrals);
  int const sums_of_block = threads_of_sum == 0 ? 1 : teams.block_threads / threads_of_sum;
  std::int64_t const sums = static_cast<std::int64_t>(teams.blocks) * sums_of_block;
  Buffer<Sums> partials(stream, MemorySpace::device, static_cast<std::size_t>(sums) * a.integrals);
  module.launch(stream, kernel,
                {grid_of(teams.blocks, a.integrals), static_cast<unsigned>(teams.block_threads), 0},
                *samples, a.parameters, teams.blocks, partials.data());
  finish(stream, module, *samples, a, partials.data(), sums);
}

template <class T>
void run_ladder(Stream& stream, char const* kernel, RuleArguments const& a, int threads_of_sum) {
  auto const module = compile<T>(stream.device(), a.integrand, ladder_file);
  run<T>(stream, *module, kernel, a, threads_of_sum);
}

}  // namespace

template <class T>
void cuda_naive(Stream& stream, RuleArguments const& a) {
  auto const module = compile<T>(stream.device(), a.integrand, ladder_file);
  DeviceSamples<T> const samples(stream, a);
  std::int64_t const blocks = (samples->count() + largest_block - 1) / largest_block;
  unsigned const grid = grid_of(blocks, a.integrals);
  Buffer<Sums> sums(stream, MemorySpace::device, a.integrals);
  zero_async(sums.span(), stream);
  module->launch(stream, "naive", {grid, largest_block, 0}, *samples, a.parameters,
                 static_cast<int>(blocks), sums.data());
  finish(stream, *module, *samples, a, sums.data(), 1);
}

template <class T>
void cuda_grid_stride(Stream& stream, RuleArguments const& a) {
  run_ladder<T>(stream, "grid_stride", a, 1);
}

template <class T>
void cuda_unrolled(Stream& stream, RuleArguments const& a) {
  run_ladder<T>(stream, "unrolled", a, 1);
}

template <class T>
void cuda_warp(Stream& stream, RuleArguments const& a) {
  run_ladder<T>(stream, "warp", a, warp_threads);
}

template <class T>
void cuda_shared(Stream& stream, RuleArguments const& a) {
  run_ladder<T>(stream, "shared", a, 0);
}

template <class T>
void cuda_compensated(Stream& stream, RuleArguments const& a) {
  auto const module = gridstride::compile(stream.device(), compensated_source<T>(a.integrand));
  run<T>(stream, *module, "compensated", a, 0);
}

template <class T>
std::optional<double> cuda_non_finite_sample(Stream& stream, RuleArguments const& a) {
  auto const module = compile<T>(stream.device(), a.integrand, "kernels/riemann/locate.cuh");
  DeviceSamples<T> const samples(stream, a);
  std::vector<double> const row(a.parameters, a.parameters + a.integrand.parameters);
  Buffer<double> parameters(stream, MemorySpace::device, row.size());
  copy_async<double>(parameters.span(), row, stream);

  std::vector<unsigned long long> first = {~0ull};
  Buffer<unsigned long long> found(stream, MemorySpace::device, 1);
  copy_async<unsigned long long>(found.span(), first, stream);
  Teams const teams = teams_for(stream, *module, "locate", *samples, 1);
  module->launch(
      stream, "locate",
      {static_cast<unsigned>(teams.blocks), static_cast<unsigned>(teams.block_threads), 0},
      *samples, static_cast<double const*>(parameters.data()), found.data());
  copy_async<unsigned long long>(first, found.span(), stream);
  stream.synchronize();
  if (first[0] == ~0ull) return std::nullopt;
  auto const number = static_cast<std::int64_t>(first[0]);
  if (number >= samples->count()) return samples->upper;
  auto const node = static_cast<std::size_t>(number % samples->nodes);
  return samples->at(static_cast<double>(number / samples->nodes), a.pattern.offsets[node]);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                   \
  template void cuda_naive<T>(Stream&, RuleArguments const&);       \
  template void cuda_grid_stride<T>(Stream&, RuleArguments const&); \
  template void cuda_unrolled<T>(Stream&, RuleArguments const&);    \
  template void cuda_warp<T>(Stream&, RuleArguments const&);        \
  template void cuda_shared<T>(Stream&, RuleArguments const&);      \
  template void cuda_compensated<T>(Stream&, RuleArguments const&); \
  template std::optional<double> cuda_non_finite_sample<T>(Stream&, RuleArguments const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature
