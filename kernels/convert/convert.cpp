#include "kernels/convert/convert.hpp"

#include "kernels/convert/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::convert {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "every element in turn, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "pieces shared among threads; a loop for each stored type that the compiler vectorises"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_naive<T>), "one thread per element"},
      {"vectorized", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_vectorized<T>),
       "16 bytes of stored numbers per thread and load"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "vectorized";
}

namespace {

constexpr std::string_view function = "convert::convert";

void require_elements(Stored const& stored, std::size_t target_size) {
  auto const refuse = [](std::string_view fault) {
    throw std::invalid_argument(fmt::format("{}: {}", function, fault));
  };
  auto const size = static_cast<std::int64_t>(target_size);
  if (stored.bytes.size() % static_cast<std::size_t>(stored.type.bytes) != 0)
    refuse(fmt::format("{} bytes are no whole number of {}", stored.bytes.size(),
                       name_of(stored.type)));
  std::int64_t there = size;
  if (stored.order) {
    auto const& [shape, tile, reversed] = *stored.order;
    if (shape[0] * shape[1] * shape[2] != size)
      refuse(fmt::format("an array of {} x {} x {} has not {} elements", shape[0], shape[1],
                         shape[2], size));
    for (std::int64_t const extent : tile)
      if (extent < 1) refuse("a tile has no elements");
    there = stored.order->tiles() * stored.order->tile_size();
  }
  if (stored.first < 0 || stored.first > there || stored.count() > there - stored.first)
    refuse(fmt::format("elements {} to {} of {} are given", stored.first,
                       stored.first + stored.count(), there));
}

/// Whether stored elements lie where their values go, and are as long.
template <class T>
bool is_in_place(Stored const& stored, std::span<T> target) {
  return !stored.order && stored.type.bytes == sizeof(T) &&
         static_cast<void const*>(stored.bytes.data()) == target.data() + stored.first;
}

}  // namespace

template <class T>
void convert(Stream& stream, Stored const& stored, std::span<T> target,
             std::span<std::int64_t> first_non_finite, std::string_view variant) {
  require_elements(stored, target.size());
  require_size(function, named("first_non_finite", first_non_finite), 1);
  if (!is_in_place(stored, target))
    require_disjoint(function, named("stored", stored.bytes), named("target", target));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("convert", variants<T>(), stream.device(), variant);
  Arguments<T> a;
  a.stored = stored.bytes.data();
  a.count = stored.count();
  a.type = stored.type;
  a.squares = stored.squares;
  a.linear = !stored.order;
  a.first = stored.first;
  a.order = stored.order.value_or(StoredOrder{});
  a.target = a.linear ? target.data() + stored.first : target.data();
  a.origin = a.linear ? stored.first : 0;
  a.first_non_finite = first_non_finite.data();
  if (a.count > 0) row.run(stream, a);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                      \
  template std::span<Variant<Function<T>> const> variants<T>();                        \
  template void convert(Stream&, Stored const&, std::span<T>, std::span<std::int64_t>, \
                        std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::convert
