#include "kernels/convert/thin.hpp"

#include <algorithm>

#include "kernels/convert/convert.hpp"
#include "kernels/convert/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::convert {

template <class T, class F>
std::span<Variant<ThinFunction<T, F>> const> thin_variants() {
  static Variant<ThinFunction<T, F>> const rows[] = {
      {"reference", Backend::cpu, host_thin_reference<T, F>, "every value in turn, on one thread"},
      {"threads", Backend::cpu, host_thin_threads<T, F>, "lines in pieces shared among threads"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW((cuda_thin_naive<T, F>)),
       "one thread per value that stays"},
      {"vectorized", Backend::cuda, GRIDSTRIDE_CUDA_ROW((cuda_thin_vectorized<T, F>)),
       "16 bytes of what stays per thread and store, whose place is found once"},
  };
  return rows;
}

namespace {

constexpr std::string_view thin_name = "convert::thin";

void require_values(Thinning const& thinning, std::int64_t first, std::int64_t count) {
  auto const refuse = [](std::string_view fault) {
    throw std::invalid_argument(fmt::format("{}: {}", thin_name, fault));
  };
  auto const positive = [](std::int64_t n) { return n >= 1; };
  if (!std::ranges::all_of(thinning.points, positive) ||
      !std::ranges::all_of(thinning.every, positive) || thinning.components < 1)
    refuse("an axis has no points, or every 0th is wanted");
  std::int64_t const there = thinning.kept_size();
  if (first < 0 || first > there || count > there - first)
    refuse(fmt::format("values {} to {} of {} are wanted", first, first + count, there));
}

}  // namespace

template <class T, class F>
void thin(Stream& stream, std::span<T const> field, Thinning const& thinning, std::int64_t first,
          std::span<F> target, std::span<std::int64_t> first_beyond, std::string_view variant) {
  auto const count = static_cast<std::int64_t>(target.size());
  require_values(thinning, first, count);
  require_size(thin_name, named("field", field), static_cast<std::size_t>(thinning.size()));
  require_size(thin_name, named("first_beyond", first_beyond), 1);
  require_disjoint(thin_name, named("field", field), named("target", target));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("convert", thin_variants<T, F>(), stream.device(), variant);
  if (count > 0)
    row.run(stream, {field.data(), thinning, thinning.is_whole(), first, count, target.data(),
                     first_beyond.data()});
}

#define GRIDSTRIDE_INSTANTIATE(T, F)                                                           \
  template std::span<Variant<ThinFunction<T, F>> const> thin_variants<T, F>();                 \
  template void thin(Stream&, std::span<T const>, Thinning const&, std::int64_t, std::span<F>, \
                     std::span<std::int64_t>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float, float)
GRIDSTRIDE_INSTANTIATE(double, double)
GRIDSTRIDE_INSTANTIATE(double, float)

}  // namespace gridstride::convert
