#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/system/system.hpp"
#include "support/system_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// `points` are near the reference, and `interpreter` has their bits. One test for both, since what
/// takes time is compiling.
template <class T>
void expect_near_reference(double tolerance) {
  Stream host(Device::open(Backend::cpu)), gpu(Device::open(Backend::cuda));
  for (auto const& one : test::system_cases()) {
    auto const expected = test::run_system<T>(host, one, "reference");
    auto const found = test::run_system<T>(gpu, one, "points");
    double scale = 1;
    for (T const value : expected) scale = std::max(scale, std::abs(double{value}));
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], tolerance * scale) << one.text() << " at " << i;
    ASSERT_EQ(test::run_system<T>(gpu, one, "interpreter"), found) << one.text();
  }
}

// Some fifty roundings of terms that are a few times as large as their sum.
TEST(SystemGpu, VariantsAgreeInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_near_reference<float>(1e-5);
}
TEST(SystemGpu, VariantsAgreeInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_near_reference<double>(1e-14);
}

/// The state of both components on the device, the sides' values beside it.
template <class T>
struct State {
  std::vector<Buffer<T>> kept;
  std::vector<system::Input<T>> inputs;
  std::vector<T*> arrays;

  State(Stream& stream, test::SystemCase const& one) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    auto const filled = [&](std::int64_t size) {
      std::vector<T> values(static_cast<std::size_t>(size));
      for (T& value : values) value = static_cast<T>(uniform(random));
      kept.emplace_back(stream, MemorySpace::device, values.size());
      copy_async(kept.back().span(), std::span<T const>(values), stream);
      stream.synchronize();
      return kept.back().data();
    };
    for (int c = 0; c < 2; ++c) {
      system::Input<T> input;
      arrays.push_back(filled(one.grid.size()));
      input.values = arrays.back();
      for (int axis = 0; axis < one.grid.dims; ++axis)
        for (int side = 0; side < 2; ++side)
          input.sides[axis][side] = system::side_of<T>(
              one.kinds[static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)],
              one.grid.spacing[static_cast<std::size_t>(axis)], filled(one.grid.face_size(axis)));
      inputs.push_back(input);
    }
  }
};

template <class T>
std::vector<T> values_of(Stream& stream, std::vector<T*> const& arrays, std::int64_t size) {
  std::vector<T> values(arrays.size() * static_cast<std::size_t>(size));
  for (std::size_t c = 0; c < arrays.size(); ++c)
    copy_async(std::span(values).subspan(c * static_cast<std::size_t>(size),
                                         static_cast<std::size_t>(size)),
               std::span<T const>(arrays[c], static_cast<std::size_t>(size)), stream);
  stream.synchronize();
  return values;
}

TEST(SystemGpu, VectorsAndSides) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream gpu(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  std::vector<double> a = {1, 2, 3}, b = {4, 5, 6};
  auto const together = [&](Stream& stream) {
    Buffer<double> x(stream, MemorySpace::device, 3), y(stream, MemorySpace::device, 3),
        both(stream, MemorySpace::device, 6);
    copy_async(x.span(), std::span<double const>(a), stream);
    copy_async(y.span(), std::span<double const>(b), stream);
    std::array<double const*, 2> const arrays = {x.data(), y.data()};
    system::interleave<double>(stream, arrays, both.span());
    std::array<double*, 2> const turned = {y.data(), x.data()};
    system::separate<double>(stream, std::as_const(both).span(), turned);
    std::vector<double> found(9);
    copy_async(std::span(found).first(6), std::as_const(both).span(), stream);
    copy_async(std::span(found).subspan(6), std::as_const(x).span(), stream);
    stream.synchronize();
    return found;
  };
  EXPECT_EQ(together(gpu), (std::vector<double>{1, 4, 2, 5, 3, 6, 4, 5, 6}));
  EXPECT_EQ(together(host), together(gpu));
  for (auto const& one : test::system_cases()) {
    auto const imposed = [&](Stream& stream) {
      State<double> state(stream, one);
      system::impose_sides(stream, one.grid, state.inputs[0].sides, state.arrays[0]);
      return values_of<double>(stream, {state.arrays[0]}, one.grid.size());
    };
    EXPECT_EQ(imposed(gpu), imposed(host)) << one.text();
  }
}

}  // namespace
}  // namespace gridstride
