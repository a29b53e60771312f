#include <gtest/gtest.h>

#include "support/convert_cases.hpp"
#include "support/thin_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// A part of the array, so that values do not begin at a multiple of 16 bytes.
template <class T>
void compare(NumberType const& type, std::size_t size, std::int64_t first,
             std::optional<StoredOrder> order, std::size_t target_size) {
  Stream host(Device::open(Backend::cpu)), gpu(Device::open(Backend::cuda));
  auto const bytes = test::random_numbers(type, size);
  for (bool const squares : {false, true}) {
    convert::Stored const numbers{bytes, type, first, order, squares};
    auto const expected = test::converted<T>(host, numbers, target_size, "reference");
    for (auto const* variant : {"naive", "vectorized"})
      EXPECT_EQ(expected, test::converted<T>(gpu, numbers, target_size, variant))
          << variant << ", " << name_of(type) << (type.swapped ? " swapped, " : ", ") << size
          << " from " << first;
    if (type.bytes != sizeof(T) || order || first % 4 != 0) continue;
    for (auto const* variant : {"naive", "vectorized"})
      EXPECT_EQ(expected, test::converted_in_place<T>(gpu, numbers, target_size, variant))
          << variant << " in place, " << name_of(type) << ", " << size << " from " << first;
  }
}

TEST(ConvertGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (NumberType const& type : test::all_number_types())
    for (std::size_t const size : {0, 1, 15, 16, 17, 1023, 4096, 65537})
      for (std::int64_t const first : {0, 1, 4}) {
        compare<float>(type, size, first, {}, size + 8);
        compare<double>(type, size, first, {}, size + 8);
      }
}

TEST(ConvertGpu, VariantsEqualTheReferenceInOtherOrders) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  StoredOrder const tiled{{7, 31, 37}, {3, 8, 16}, false};
  StoredOrder const turned{{7, 31, 37}, {7, 31, 37}, true};
  for (StoredOrder const& order : {tiled, turned}) {
    auto const size = static_cast<std::size_t>(order.tiles() * order.tile_size());
    for (NumberType const& type : test::all_number_types()) {
      compare<float>(type, size, 0, order, 7 * 31 * 37);
      compare<double>(type, size - 101, 101, order, 7 * 31 * 37);
    }
  }
}

template <class F, class T>
void compare_thinned() {
  Stream host(Device::open(Backend::cpu)), gpu(Device::open(Backend::cuda));
  test::for_each_part([&](convert::Thinning const& thinning, std::int64_t first,
                          std::int64_t count) {
    auto const field = test::random_field<T>(thinning.size());
    auto const expected = test::thinned<F>(host, field, thinning, first, count, "reference");
    for (auto const* variant : {"naive", "vectorized"})
      for (std::size_t const behind : {0, 1})
        EXPECT_EQ(expected, test::thinned<F>(gpu, field, thinning, first, count, variant, behind))
            << variant << ", " << thinning.size() << " from " << first;
  });
}

TEST(ThinGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_thinned<float, float>();
  compare_thinned<double, double>();
  compare_thinned<float, double>();
}

}  // namespace
}  // namespace gridstride
