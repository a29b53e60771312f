#include <gtest/gtest.h>

#include <complex>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "support/fft_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using namespace test;

template <class T>
class FftGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};
using FftGpuTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(FftGpu, FftGpuTypes);

fft::Shape line(std::int64_t n, Kind kind) {
  return fft::dense({n, 1, 1}, {kind, Kind::none, Kind::none});
}

TYPED_TEST(FftGpu, StagesTakeAllLengthsAndKinds) {
  Stream stream(Device::open(Backend::cuda));
  check_lines<TypeParam>(stream, {1, 2, 3, 4, 5, 6, 7, 8, 11, 17, 32, 33, 35, 97, 100, 256, 509},
                         "stages");
  check_halves<TypeParam>(stream, {1, 2, 3, 5, 8, 12}, "stages");
  check_mixtures<TypeParam>(stream, "stages");
  check_solves<TypeParam>(stream, {7, 6, 5}, "stages");
}

/// Each length and kind is a kernel to compile. Complex transforms of these lines, or of what they
/// are continued to, are direct and by both convolutions.
TYPED_TEST(FftGpu, BlocksTakeLines) {
  Stream stream(Device::open(Backend::cuda));
  check_lines<TypeParam>(stream, {11, 12, 21, 22}, "blocks");
}
/// Against extended precision: no digits are lost with the root of the length.
TYPED_TEST(FftGpu, SinesAndCosinesOfManyPoints) {
  Stream stream(Device::open(Backend::cuda));
  for (Kind const kind : {Kind::dirichlet_dirichlet, Kind::neumann_neumann}) {
    auto const shape = line(kind == Kind::dirichlet_dirichlet ? 2047 : 2049, kind);
    auto const x = noise<TypeParam>(shape.size(), 5);
    EXPECT_LE(distance(transformed<TypeParam>(stream, shape, Direction::forward, x, "blocks"),
                       by_definition<TypeParam>(shape, Direction::forward, x)),
              allowed_error<TypeParam>(static_cast<double>(shape.size())));
  }
}
TYPED_TEST(FftGpu, BlocksTakeHalves) {
  Stream stream(Device::open(Backend::cuda));
  check_halves<TypeParam>(stream, {4, 5}, "blocks");
}
TYPED_TEST(FftGpu, BlocksTakeMixturesWithGaps) {
  Stream stream(Device::open(Backend::cuda));
  check_mixtures<TypeParam>(stream, "blocks");
}
TYPED_TEST(FftGpu, BlocksSolve) {
  Stream stream(Device::open(Backend::cuda));
  check_solves<TypeParam>(stream, {7, 6, 5}, "blocks");
}

TYPED_TEST(FftGpu, SmallQuotientsAreAsGood) {
  Stream stream(Device::open(Backend::cuda));
  for (std::string_view const name : {"stages", "blocks"})
    check_small_quotients<TypeParam>(stream, {7, 11, 21, 22, 25, 31}, name);
}

TYPED_TEST(FftGpu, BitsDoNotDependOnTheBatch) {
  Stream stream(Device::open(Backend::cuda));
  for (std::string_view const name : {"stages", "blocks"}) {
    check_batch<TypeParam>(stream, 13, name);
    check_batch<TypeParam>(stream, 30, name);
  }
}

/// Against the host, which is tested against the definition.
template <class T>
void check_complex(Stream& stream, fft::Shape const& shape, std::string_view variant) {
  using C = std::complex<T>;
  Stream host(Device::open(Backend::cpu));
  auto const x = noise<C>(shape.size(), 23);
  for (auto const direction : {Direction::forward, Direction::inverse}) {
    auto const found = transformed<T>(stream, shape, direction, x, variant);
    EXPECT_LE(distance(found, transformed<T>(host, shape, direction, x, "threads")),
              2 * allowed_error<T>(static_cast<double>(shape.size())))
        << variant << ' ' << shape.points[0];
    EXPECT_EQ(transformed<T>(stream, shape, direction, x, variant), found) << "again";
    EXPECT_EQ(transformed_in_place(stream, shape, direction, x, variant), found) << "in place";
  }
}

/// Among them primes, by Bluestein's convolution and by Rader's.
TYPED_TEST(FftGpu, LinesThatFillABlock) {
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {1000, 4096, 1021, 3511, 8191})
    check_complex<TypeParam>(stream, fft::dense({n, 7, 1}, {Kind::complex, Kind::none, Kind::none}),
                             "blocks");
  check_complex<TypeParam>(
      stream, fft::dense({37, 4096, 1}, {Kind::none, Kind::complex, Kind::none}), "blocks");
}

/// Two axes of a matrix, and three; others by stages.
TYPED_TEST(FftGpu, LinesThatNoBlockHolds) {
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {1 << 16, 120000, 1 << 20, 8209, 65537})
    check_complex<TypeParam>(stream, line(n, Kind::complex), "blocks");
  check_complex<TypeParam>(
      stream, fft::dense({1 << 15, 3, 2}, {Kind::complex, Kind::none, Kind::complex}), "blocks");
}

/// Of which a block holds too few: two axes of a matrix each, by slabs of columns, the last of which
/// is not full.
TYPED_TEST(FftGpu, ColumnsInTwoSteps) {
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {8192, 10000})
    check_complex<TypeParam>(
        stream, fft::dense({75, n, 2}, {Kind::none, Kind::complex, Kind::none}), "blocks");
}

/// Two axes in one kernel, by slabs of planes, the last of which is not full, where numbers are of
/// float32. A plane's bits are those of a plane alone.
TYPED_TEST(FftGpu, PlanesInOneKernel) {
  Stream stream(Device::open(Backend::cuda));
  using C = std::complex<TypeParam>;
  std::int64_t const size = 128 * 120, planes = 431;  // more than 48 MiB
  auto const values = noise<C>(size * planes, 31);
  auto const kinds = std::array{Kind::complex, Kind::complex, Kind::none};
  for (auto const direction : {Direction::forward, Direction::inverse}) {
    auto const many = fft::dense({128, 120, planes}, kinds);
    auto const all = transformed<TypeParam>(stream, many, direction, values, "blocks");
    EXPECT_EQ(transformed_in_place(stream, many, direction, values, "blocks"), all);
    for (std::int64_t const plane : {std::int64_t{0}, std::int64_t{70}, planes - 1}) {
      auto const part = [&](std::vector<C> const& from) {
        return std::vector<C>(from.begin() + plane * size, from.begin() + (plane + 1) * size);
      };
      EXPECT_EQ(transformed<TypeParam>(stream, fft::dense({128, 120, 1}, kinds), direction,
                                       part(values), "blocks"),
                part(all))
          << plane;
    }
  }
}

TYPED_TEST(FftGpu, ThreadsShareTheCuFftOfAShape) {
  using T = TypeParam;
  constexpr int threads = 8, times = 200;
  Device const device = Device::open(Backend::cuda);
  auto const shape = fft::dense({64, 64, 1}, {Kind::complex, Kind::complex, Kind::none});
  auto const made = [&](int thread) {
    Stream stream(device);
    auto const in =
        on_device(stream, noise<std::complex<T>>(shape.size(), static_cast<unsigned>(thread)));
    auto out = on_device(stream, std::vector<std::complex<T>>(in.size()));
    for (int i = 0; i < times; ++i)
      fft::transform<T>(stream, shape, Direction::forward, in.span(), out.span(), "cufft");
    return on_host(stream, out);
  };
  std::vector<std::vector<std::complex<T>>> alone, together(threads);
  try {
    for (int thread = 0; thread < threads; ++thread) alone.push_back(made(thread));
  } catch (Error const& missing) {
    GTEST_SKIP() << missing.what();
  }
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back(
        [&, thread] { together[static_cast<std::size_t>(thread)] = made(thread); });
  for (auto& one : running) one.join();
  EXPECT_EQ(together, alone);
}

TYPED_TEST(FftGpu, CuFftAgreesWhereItTakesTheShape) {
  Stream stream(Device::open(Backend::cuda));
  using T = TypeParam;
  auto const cube = fft::dense({12, 10, 9}, {Kind::complex, Kind::complex, Kind::complex});
  auto const lines = fft::dense({100, 7, 1}, {Kind::complex, Kind::none, Kind::none});
  try {
    check_complex<T>(stream, cube, "cufft");
    check_complex<T>(stream, lines, "cufft");
  } catch (Error const& missing) {
    GTEST_SKIP() << missing.what();
  }
  EXPECT_THROW(
      transformed<T>(stream, line(8, Kind::periodic), Direction::forward, noise<T>(8, 1), "cufft"),
      std::invalid_argument);
  auto const shape = fft::dense({12, 10, 8}, {Kind::periodic, Kind::periodic, Kind::periodic});
  auto const f = noise<T>(shape.size(), 3);
  std::array<Buffer<T>, 3> lambda;
  fft::Eigenvalues<T> eigenvalues{.constant = T{1}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<T> values;
    for (double const angle : fft::angles(Kind::periodic, shape.points[axis]))
      values.push_back(static_cast<T>(4 * std::pow(std::sin(angle / 2), 2)));
    lambda[axis] = on_device(stream, values);
    eigenvalues.axes[axis] = lambda[axis].span();
  }
  auto const solved = [&](std::string_view variant) {
    auto const in = on_device(stream, f);
    auto out = on_device(stream, f);
    fft::solve<T>(stream, shape, eigenvalues, in.span(), out.span(), variant);
    return on_host(stream, out);
  };
  EXPECT_LE(distance(solved("cufft"), solved("blocks")), 4 * allowed_error<T>(960));
}

}  // namespace
}  // namespace gridstride
