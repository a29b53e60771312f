// The host's side of the integrals to a tolerance on a GPU: breadth_first.cuh, on_chip.cuh and
// tanh_sinh.cuh hold the kernels.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/buffer.hpp"
#include "kernels/adaptive/intervals.hpp"
#include "kernels/adaptive/rows.hpp"
#include "kernels/scan/scan.hpp"

namespace gridstride::quadrature {
namespace {

/// Threads for the totals of an integral: a warp while there are many integrals, more when they
/// would leave multiprocessors idle.
unsigned threads_per_integral(Stream const& stream, std::int64_t integrals) {
  return integrals > 4L * stream.device().processors() ? 32 : 256;
}

IntegralResult* results_of(SweepArguments const& arguments, std::int64_t first) {
  return reinterpret_cast<IntegralResult*>(arguments.results + first);
}

double const* rows_of(SweepArguments const& arguments, std::int64_t first) {
  return arguments.parameters + first * arguments.integrand.parameters;
}

/// Device memory for at least `size` values; what was in it is gone when it has to grow.
template <class T>
void reserve(Buffer<T>& buffer, std::int64_t size, Stream& stream) {
  auto const needed = static_cast<std::size_t>(size);
  if (buffer.size() < needed)
    buffer = Buffer<T>(stream, MemorySpace::device, std::max(needed, 2 * buffer.size()));
}

constexpr unsigned threads_of_lists = 128;

/// A kernel with a thread for each of `work` items.
template <class... Values>
void queue(Stream& stream, RuntimeModule const& module, char const* kernel, std::int64_t work,
           Values const&... values) {
  auto const blocks = static_cast<unsigned>((work + threads_of_lists - 1) / threads_of_lists);
  module.launch(stream, kernel, {blocks, threads_of_lists, 0}, values...);
}

/// The last element of an array on the device, once the stream has come to it.
template <class T>
T last_of(std::span<T const> values, Stream& stream) {
  T value{};
  copy_async(std::span(&value, 1), values.last(1), stream);
  stream.synchronize();
  return value;
}

/// Integrals that are refined together, generation by generation.
class Refinement {
 public:
  /// Of the integrals in `arguments` those that `selection`, in device memory, names; all where it
  /// is null.
  Refinement(Stream& stream, RuntimeModule const& module, SweepArguments const& arguments,
             GaussKronrodOptions const& options, int const* selection)
      : stream_(stream),
        module_(module),
        arguments_(arguments),
        options_(options),
        selection_(selection) {}

  /// Integrals `first` … `first + count − 1`. When their list becomes too long, which it does not
  /// for a single one, each half of them is refined alone.
  void run(std::int64_t first, std::int64_t count) {
    if (refine(first, count)) return;
    run(first, count / 2);
    run(first + count / 2, count - count / 2);
  }

 private:
  /// Whether so many intervals take more than their part of the device's memory. Not what is free
  /// counts, so that the same input is always cut in the same way.
  bool too_many(std::int64_t leaves, std::int64_t integrals) const {
    constexpr std::size_t bytes = 2 * (sizeof(Leaf) + sizeof(std::int64_t)) + sizeof(int);
    return integrals > 1 &&
           static_cast<std::size_t>(leaves) > stream_.device().total_memory() / 16 / bytes;
  }

  bool refine(std::int64_t first, std::int64_t count) {
    Size size{count * options_.initial_intervals, count * options_.initial_intervals};
    if (too_many(size.leaves, count)) return false;
    begin(count, size.leaves);
    // A selection names integrals by their numbers in `arguments`.
    int const* const selection = selection_ == nullptr ? nullptr : selection_ + first;
    std::int64_t const base = selection_ == nullptr ? first : 0;
    while (true) {
      queue(stream_, module_, "evaluate_intervals", size.fresh, leaves_.data(), fresh_.data(),
            static_cast<int>(size.fresh), rows_of(arguments_, base), selection);
      Size const next = decide(count, size.leaves, results_of(arguments_, base), selection);
      if (next.leaves == 0) return true;
      if (too_many(next.leaves, count)) return false;
      expand(count, size.leaves, next);
      size = next;
    }
  }

  /// A list of intervals, and how many of them are new.
  struct Size {
    std::int64_t leaves, fresh;
  };

  void begin(std::int64_t count, std::int64_t leaves) {
    reserve(leaves_, leaves, stream_);
    reserve(fresh_, leaves, stream_);
    reserve(starts_, count + 1, stream_);
    reserve(next_starts_, count + 1, stream_);
    queue(stream_, module_, "begin_intervals", std::max(leaves, count + 1), leaves_.data(),
          fresh_.data(), starts_.data(), static_cast<int>(count), arguments_.interval.lower,
          arguments_.interval.upper, options_.initial_intervals);
  }

  /// Decides about all intervals, and waits to learn how many there will be.
  Size decide(std::int64_t count, std::int64_t leaves, IntegralResult* results,
              int const* selection) {
    reserve(moves_, leaves, stream_);
    reserve(ends_, leaves, stream_);
    unsigned const threads = threads_per_integral(stream_, count);
    module_.launch(stream_, "decide_intervals",
                   {static_cast<unsigned>(count), threads, threads * sizeof(LeafTotals)},
                   leaves_.data(), starts_.data(), moves_.data(), options_.tolerance,
                   options_.max_intervals, options_.initial_intervals, results, selection);
    auto const size = static_cast<std::size_t>(leaves);
    std::span<std::int64_t const> const moves = moves_.span().first(size);
    auto const ends = ends_.span().first(size);
    scan::inclusive_sum<std::int64_t>(stream_, moves, ends);
    std::int64_t const total = last_of<std::int64_t>(ends, stream_);
    return {total & 0xffffffff, 2 * (total >> 32)};
  }

  void expand(std::int64_t count, std::int64_t leaves, Size const& next) {
    reserve(next_leaves_, next.leaves, stream_);
    reserve(fresh_, next.fresh, stream_);
    queue(stream_, module_, "expand_intervals", std::max(leaves, count + 1), leaves_.data(),
          starts_.data(), moves_.data(), ends_.data(), static_cast<int>(leaves),
          static_cast<int>(count), next_leaves_.data(), next_starts_.data(), fresh_.data());
    leaves_.swap(next_leaves_);
    starts_.swap(next_starts_);
  }

  Stream& stream_;
  RuntimeModule const& module_;
  SweepArguments const& arguments_;
  GaussKronrodOptions const& options_;
  int const* selection_;
  Buffer<Leaf> leaves_, next_leaves_;
  Buffer<int> starts_, next_starts_;  ///< where each integral begins, and the end
  Buffer<int> fresh_;                 ///< places of the new intervals
  Buffer<std::int64_t> moves_, ends_;
};

template <class T>
std::shared_ptr<RuntimeModule const> kernels_of(Stream const& stream,
                                                SweepArguments const& arguments,
                                                GaussKronrodOptions const& options,
                                                std::string_view file) {
  std::array<std::string, 1> const definitions = {fmt::format("KRONROD_POINTS {}", options.points)};
  return compile<T>(stream.device(), arguments.integrand, file, definitions);
}

/// Calls `body` with pieces of the sweep, each small enough for a launch and a first list.
template <class Body>
void in_pieces(SweepArguments const& arguments, Body const& body) {
  constexpr std::size_t most = std::size_t{1} << 20;
  for (std::size_t first = 0; first < arguments.integrals; first += most) {
    SweepArguments piece = arguments;
    piece.parameters += first * static_cast<std::size_t>(arguments.integrand.parameters);
    piece.results += first;
    piece.integrals = std::min(most, arguments.integrals - first);
    body(piece);
  }
}

/// Breadth first, those integrals that have no result yet.
template <class T>
void finish(Stream& stream, SweepArguments const& arguments, GaussKronrodOptions const& options) {
  auto const module =
      kernels_of<T>(stream, arguments, options, "kernels/adaptive/breadth_first.cuh");
  auto const count = static_cast<int>(arguments.integrals);
  Buffer<std::int64_t> marks(stream, MemorySpace::device, arguments.integrals),
      ends(stream, MemorySpace::device, arguments.integrals);
  Buffer<int> selection(stream, MemorySpace::device, arguments.integrals);
  queue(stream, *module, "mark_unfinished", count, results_of(arguments, 0), count, marks.data());
  scan::inclusive_sum<std::int64_t>(stream, marks.span(), ends.span());
  queue(stream, *module, "select_unfinished", count, results_of(arguments, 0), count, ends.data(),
        selection.data());
  auto const unfinished = last_of<std::int64_t>(ends.span(), stream);
  Refinement(stream, *module, arguments, options, selection.data()).run(0, unfinished);
}

}  // namespace

template <class T>
void cuda_breadth_first(Stream& stream, SweepArguments const& arguments,
                        GaussKronrodOptions const& options) {
  auto const module =
      kernels_of<T>(stream, arguments, options, "kernels/adaptive/breadth_first.cuh");
  in_pieces(arguments, [&](SweepArguments const& piece) {
    Refinement(stream, *module, piece, options, nullptr)
        .run(0, static_cast<std::int64_t>(piece.integrals));
  });
}

template <class T>
void cuda_on_chip(Stream& stream, SweepArguments const& arguments,
                  GaussKronrodOptions const& options) {
  if (options.initial_intervals > OnChip::capacity)
    throw std::invalid_argument(
        fmt::format("gauss_kronrod: on_chip begins with up to {} intervals, not {} (breadth_first "
                    "does)",
                    OnChip::capacity, options.initial_intervals));
  auto const module = kernels_of<T>(stream, arguments, options, "kernels/adaptive/on_chip.cuh");
  Buffer<unsigned> unfinished(stream, MemorySpace::device, 1);
  in_pieces(arguments, [&](SweepArguments const& piece) {
    zero_async(unfinished.span(), stream);
    // For the samples and, at another time, for the totals.
    std::size_t const shared_bytes =
        std::max(OnChip::lanes * sizeof(LeafTotals),
                 OnChip::together * static_cast<std::size_t>(options.points + 2) * sizeof(T));
    module->launch(stream, "integrate_on_chip",
                   {static_cast<unsigned>(piece.integrals), OnChip::lanes, shared_bytes},
                   piece.parameters, piece.interval.lower, piece.interval.upper, options.tolerance,
                   options.max_intervals, options.initial_intervals, results_of(piece, 0),
                   unfinished.data());
    if (last_of<unsigned>(unfinished.span(), stream) > 0) finish<T>(stream, piece, options);
  });
}

template <class T>
void cuda_tanh_sinh(Stream& stream, SweepArguments const& arguments,
                    TanhSinhOptions const& options) {
  auto const module =
      compile<T>(stream.device(), arguments.integrand, "kernels/adaptive/tanh_sinh.cuh");
  DoubleExponential const map = substitution_of(arguments.interval);
  in_pieces(arguments, [&](SweepArguments const& piece) {
    auto const integrals = static_cast<unsigned>(piece.integrals);
    unsigned const threads = threads_per_integral(stream, integrals);
    module->launch(stream, "integrate_tanh_sinh",
                   {integrals, threads, threads * sizeof(DoubleExponentialSums)}, map,
                   piece.parameters, options.tolerance, options.max_level, results_of(piece, 0));
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                  \
  template void cuda_breadth_first<T>(Stream&, SweepArguments const&, GaussKronrodOptions const&); \
  template void cuda_on_chip<T>(Stream&, SweepArguments const&, GaussKronrodOptions const&);       \
  template void cuda_tanh_sinh<T>(Stream&, SweepArguments const&, TanhSinhOptions const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature
