#include "support/extremes_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Without an array, several terms at a time, and bit for bit.
TEST(ExtremesGpu, AreThoseOfTheValues) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_extremes_of_all_grids<float>(stream);
  test::expect_extremes_of_all_grids<double>(stream);
}

TEST(ExtremesGpu, OfSeveralLooksAreJoined) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (char const* variant : {"points", "interpreter"}) {
    test::expect_joined_extremes<float>(stream, variant);
    test::expect_joined_extremes<double>(stream, variant);
  }
}

/// Of terms that share products, which are fused in a term where no other one uses them.
template <class T>
void expect_bits_of_the_interpreter(Stream& stream) {
  Grid const grid{.dims = 2, .points = {67, 41, 1}, .spacing = {0.5, 0.25, 1}};
  auto const size = static_cast<std::size_t>(grid.size());
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Buffer<T> u(stream, MemorySpace::device, size), v(stream, MemorySpace::device, size),
      scratch(stream, MemorySpace::device, size);
  for (Buffer<T>* array : {&u, &v}) {
    std::vector<T> values(size);
    for (T& value : values) value = static_cast<T>(uniform(random));
    copy_async(array->span(), std::span<T const>(values), stream);
    stream.synchronize();
  }
  equations::Terms terms;
  auto const x = terms.coordinate(0), product = terms.multiply(terms.unknown(0), terms.unknown(1));
  std::vector<equations::Term> of = {terms.add(product, x), product, terms.subtract(x, product)};
  for (int n = 1; n < 12; ++n)
    of.push_back(terms.add(terms.multiply(terms.unknown(0), terms.number(0.1 * n)), of[n % 3]));
  system::ExtremesFinder<T> finder(stream, grid, terms, of);
  system::Step<T> step;
  step.inputs = {{.values = u.data()}, {.values = v.data()}};
  auto const compiled = finder.find(step, scratch.span(), "points");
  auto const interpreted = finder.find(step, scratch.span(), "interpreter");
  ASSERT_EQ(compiled.size(), of.size());
  for (std::size_t i = 0; i < of.size(); ++i) {
    EXPECT_EQ(interpreted[i].least, compiled[i].least) << i;
    EXPECT_EQ(interpreted[i].greatest, compiled[i].greatest) << i;
  }
}

TEST(ExtremesGpu, HaveTheBitsOfTheInterpreter) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  expect_bits_of_the_interpreter<float>(stream);
  expect_bits_of_the_interpreter<double>(stream);
}

TEST(ExtremesGpu, OfPlanesArePartsOfTheWhole) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (char const* variant : {"points", "interpreter"})
    for (std::int64_t const at : {-1, 0, 62, 63, 179}) {
      test::expect_extremes_of_planes<float>(stream, variant, at);
      test::expect_extremes_of_planes<double>(stream, variant, at);
      for (int const dims : {2, 3}) {
        test::expect_extremes_of_bricks<float>(stream, variant, at, dims);
        test::expect_extremes_of_bricks<double>(stream, variant, at, dims);
      }
    }
}

}  // namespace
}  // namespace gridstride
