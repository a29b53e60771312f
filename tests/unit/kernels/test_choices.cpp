#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "core/device.hpp"
#include "kernels/convolve/convolve.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/star/star.hpp"
#include "kernels/stencil/stencil.hpp"

/// What is chosen for GPUs that are not there.
namespace gridstride {
namespace {

constexpr std::array capabilities = {75, 80, 86, 89, 90, 100, 120};

/// What the device lacks of the row's needs; a row has to be there.
template <class Rows>
std::string lacking(Rows const& rows, Device const& device, std::string_view name) {
  auto const row = std::ranges::find_if(rows, [&](auto const& candidate) {
    return candidate.backend == Backend::cuda && candidate.name == name;
  });
  return row == rows.end() ? "a row" : missing(device.capabilities(), row->needs);
}

TEST(Capabilities, AreThoseOfTheArchitecture) {
  auto const kilobytes = [](int capability) {
    return capabilities_of(capability).shared_bytes >> 10;
  };
  EXPECT_EQ(kilobytes(75), 64u);
  EXPECT_EQ(kilobytes(80), 163u);
  EXPECT_EQ(kilobytes(86), 99u);
  EXPECT_EQ(kilobytes(89), 99u);
  EXPECT_EQ(kilobytes(90), 227u);
  EXPECT_EQ(kilobytes(100), 227u);
  EXPECT_EQ(kilobytes(120), 99u);
  for (int const capability : capabilities) {
    auto const has = capabilities_of(capability);
    EXPECT_EQ(has.async_copies, capability >= 80);
    EXPECT_EQ(has.clusters, capability >= 90);
    EXPECT_EQ(has.bulk_copies, capability >= 90);
    EXPECT_EQ(has.float64_products, capability >= 90);
    EXPECT_EQ(has.wgmma, capability == 90);
  }
}

TEST(Capabilities, TellWhatIsMissing) {
  Capabilities const needs{.shared_bytes = 100 << 10, .clusters = true};
  EXPECT_EQ(missing(capabilities_of(90), needs), "");
  EXPECT_EQ(missing(capabilities_of(120), needs),
            "100.0 KiB of shared memory for a block, of which it has 99.0 KiB");
  EXPECT_EQ(missing(capabilities_of(80), needs), "clusters of blocks (compute capability 9.0)");
}

template <class T>
void expect_products_that_run() {
  for (int const capability : capabilities) {
    auto const device = Device::imagined(capability, 80);
    for (std::int64_t const n : {1, 4, 64, 8192})
      for (std::int64_t const leading : {n, std::int64_t{1} << 30}) {
        matmul::Arguments<T> product{};
        product.m = product.n = product.k = n;
        product.lda = product.ldb = product.ldc = leading;
        auto const name = matmul::choose(device, product);
        EXPECT_EQ(lacking(matmul::variants<T>(), device, name), "") << capability << ' ' << name;
        EXPECT_TRUE(leading == n || name != "warp_tiled") << "its rows are too long";
      }
  }
}

TEST(Choices, ProductsRunOnTheirDevice) {
  expect_products_that_run<float>();
  expect_products_that_run<double>();
}

TEST(Choices, FiltersRunOnTheirDevice) {
  for (int const capability : capabilities) {
    auto const device = Device::imagined(capability, 80);
    for (int const axis : {0, 1})
      for (std::int64_t const n : {100, 5000, 100000})
        for (std::int64_t taps = 1; taps <= convolve::most_taps; taps += 1 + taps / 3)
          for (std::size_t const bytes : {4, 8}) {
            auto const name = convolve::choose(device, taps, {{n, 100, 1}, axis}, bytes);
            EXPECT_EQ(lacking(convolve::variants<double>(), device, name), "")
                << capability << ' ' << name << ' ' << taps;
          }
  }
}

/// Whether the rows of GPUs have functions, without which none can be bound.
bool has_gpu_rows() {
  return std::ranges::any_of(stencil::variants<float>(), [](auto const& row) {
    return row.backend == Backend::cuda && row.run != nullptr;
  });
}

TEST(Choices, RowsThatADeviceLacksAreRefused) {
  if (!has_gpu_rows()) GTEST_SKIP() << "this program was built without CUDA";
  auto const turing = Device::imagined(75, 40), blackwell = Device::imagined(120, 80);
  auto const refusal = [](auto const& rows, Device const& device, std::string_view name) {
    try {
      find_variant("family", rows, device, name);
    } catch (std::invalid_argument const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal(matmul::variants<float>(), turing, "warp_tiled").find("asynchronous copies"),
            std::string::npos);
  EXPECT_NE(refusal(matmul::variants<float>(), blackwell, "tf32").find("wgmma"), std::string::npos);
  EXPECT_NE(refusal(stencil::variants<float>(), turing, "resident").find("clusters"),
            std::string::npos);
  EXPECT_EQ(refusal(matmul::variants<double>(), blackwell, "dmma"), "");
  EXPECT_EQ(refusal(star::variants<double>(), turing, "temporal"), "");
}

TEST(Choices, StepsRunOnTheirDevice) {
  if (!has_gpu_rows()) GTEST_SKIP() << "this program was built without CUDA";
  for (int const capability : capabilities) {
    auto const device = Device::imagined(capability, 80);
    for (int const dims : {1, 2, 3})
      for (std::int64_t const n : {5, 64, 300, 1000}) {
        stencil::StepKind kind{{}, {}};
        kind.grid.dims = dims;
        kind.grid.points = {n, dims > 1 ? n : 1, dims > 2 ? n : 1};
        for (bool const source : {false, true}) {
          kind.source = source;
          auto const heat = stencil::choose<double>(device, kind, {});
          EXPECT_EQ(missing(device.capabilities(), heat.row->needs), "") << heat.row->name;
          EXPECT_EQ(missing(device.capabilities(), heat.single->needs), "");
          EXPECT_TRUE(capability >= 90 || heat.row->name != "resident");
          for (int const order : {2, 4, 6, 8}) {
            auto const wave = star::choose<double>(device, {kind.grid, order, false, !source}, {});
            EXPECT_EQ(missing(device.capabilities(), wave.row->needs), "") << wave.row->name;
          }
        }
      }
  }
}

}  // namespace
}  // namespace gridstride
