#include "kernels/scan/running.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "kernels/scan/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::scan {

namespace {

template <class T>
std::int64_t group_of([[maybe_unused]] Device const& device) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (device.backend() == Backend::cuda) return cuda_carried_multiple<T>(device);
#endif
  return host_carried_multiple<T>();
}

template <class T>
void scan_with_carry(Stream& stream, Arguments<T> const& arguments) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_decoupled_lookback(stream, arguments);
#endif
  host_threads(stream, arguments);
}

template <class T>
void find_increments([[maybe_unused]] Stream& stream, Increments<T> const& increments) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_increments(stream, increments);
#endif
  host_increments(increments);
}

/// Whether the order of the sums is that of an array of the best alignment: on a GPU it depends on
/// how elements are loaded.
bool in_usual_order(Stream const& stream, void const* p) {
  return stream.backend() == Backend::cpu || reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
}

}  // namespace

template <class T>
RunningScan<T>::RunningScan(Stream const& stream, Running what, double spacing)
    : what_(what),
      spacing_(static_cast<T>(spacing)),
      group_(group_of<T>(stream.device())),
      carry_(stream, MemorySpace::device, 2),
      last_(stream, MemorySpace::device, what == Running::integral ? 1 : 0),
      group_input_(stream, MemorySpace::device, static_cast<std::size_t>(group_)),
      group_output_(stream, MemorySpace::device, static_cast<std::size_t>(group_)) {
  if (std::is_integral_v<T> && what == Running::integral)
    throw std::invalid_argument("running scan: integrals are of floating-point numbers");
}

template <class T>
std::size_t RunningScan<T>::bytes(Device const& device) {
  return (2 * static_cast<std::size_t>(group_of<T>(device)) + 3) * sizeof(T);
}

template <class T>
void RunningScan<T>::scan(Stream& stream, T const* input, T* output, std::int64_t size,
                          bool advances) {
  Arguments<T> arguments;
  arguments.operation = what_ == Running::maximum ? Operation::maximum : Operation::sum;
  arguments.input = input;
  arguments.output = output;
  arguments.size = size;
  arguments.carry = {carries_ ? carry_.data() + slot_ : nullptr, carry_.data() + (1 - slot_)};
  scan_with_carry(stream, arguments);
  if (!advances) return;
  carries_ = true;
  slot_ = 1 - slot_;
}

/// Elements that end no later than the group under way, by way of a copy.
template <class T>
void RunningScan<T>::through_group(Stream& stream, std::span<T const> input, std::span<T> output) {
  auto const place = static_cast<std::size_t>(kept_);
  copy_async(group_input_.span().subspan(place, input.size()), input, stream);
  kept_ += std::ssize(input);
  bool const ends = kept_ == group_;
  scan(stream, group_input_.data(), group_output_.data(), kept_, ends);
  copy_async(output, group_output_.span().subspan(place, input.size()), stream);
  if (ends) kept_ = 0;
}

/// The increments go where the integral goes.
template <class T>
void RunningScan<T>::add_increments(Stream& stream, std::span<T const> input, std::span<T> output) {
  if constexpr (std::is_floating_point_v<T>) {
    require_disjoint("running scan", named("input", input), named("output", output));
    find_increments<T>(stream, {input.data(), output.data(), std::ssize(input),
                                begun_ ? last_.data() : nullptr, spacing_});
    copy_async(last_.span(), input.last(1), stream);
    begun_ = true;
  }
}

template <class T>
void RunningScan<T>::add(Stream& stream, std::span<T const> input, std::span<T> output) {
  require_same_size("running scan", named("input", input), named("output", output));
  require_disjoint_or_same("running scan", named("input", input), named("output", output));
  if (input.empty()) return;
  if (what_ == Running::integral) {
    add_increments(stream, input, output);
    input = output;
  }
  while (!input.empty()) {
    std::int64_t count = std::min(group_ - kept_, std::ssize(input));
    bool const as_it_lies = kept_ == 0 && count == group_ && in_usual_order(stream, input.data()) &&
                            in_usual_order(stream, output.data());
    if (as_it_lies) count = std::ssize(input) / group_ * group_;
    auto const size = static_cast<std::size_t>(count);
    if (as_it_lies)
      scan(stream, input.data(), output.data(), count, true);
    else
      through_group(stream, input.first(size), output.first(size));
    input = input.subspan(size);
    output = output.subspan(size);
  }
}

template class RunningScan<std::int32_t>;
template class RunningScan<std::int64_t>;
template class RunningScan<float>;
template class RunningScan<double>;

}  // namespace gridstride::scan
