#include <gtest/gtest.h>

#include "support/slab_cases.hpp"
#include "support/sweep_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using enum SideKind;

TEST(SweepGpu, DiffusionHasTheBitsOfStepsInCore) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {dirichlet, neumann}, {neumann, dirichlet}};
  for (auto one : test::sweep_sizes(kinds, 1)) {
    if (one.steps == 1 && one.slab_planes > 1) continue;
    for (int const dims : {1, 2, 3}) {
      one.dims = dims;
      one.fused_steps = 1;
      test::expect_diffusion_bits<double>(one, Backend::cuda, "register_queue");
      one.fused_steps = std::min(stencil::most_fused_steps(dims), 2);
      test::expect_diffusion_bits<float>(one, Backend::cuda, "temporal");
    }
  }
  for (auto const& sides : kinds)
    for (int const dims : {1, 2}) {
      test::SweepCase one{.dims = dims,
                          .planes = 61,
                          .slab_planes = 7,
                          .trip_steps = 13,
                          .steps = 50,
                          .sides = sides,
                          .fused_steps = 8};
      test::expect_diffusion_bits<float>(one, Backend::cuda, "temporal");
    }
}

TEST(SweepGpu, WavesHaveTheBitsOfStepsInCore) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {fixed, free}, {free, fixed}};
  for (int const order : {2, 8})
    for (auto one : test::sweep_sizes(kinds, order / 2)) {
      if (one.steps == 1 && one.slab_planes > 1) continue;
      one.order = order;
      for (int const dims : {1, 2, 3}) {
        one.dims = dims;
        if (dims > 1 && order == 8) continue;  // the other axes are short
        test::expect_wave_bits<float>(one, Backend::cuda);
      }
    }
  // Several steps in a pass make both arrays of the state.
  for (auto const& sides : kinds)
    for (int const order : {2, 4})
      test::expect_wave_bits<double>({.dims = 2,
                                      .planes = 61,
                                      .slab_planes = 7,
                                      .trip_steps = 13,
                                      .steps = 50,
                                      .sides = sides,
                                      .order = order},
                                     Backend::cuda, {"temporal", 0});
}

TEST(SweepGpu, HeatInSlabsHasTheBitsOfARunInCore) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* precision : {"precision: float32\n", ""})
    for (auto const& [dims, sides] : {std::pair{1, "pp"},
                                      {1, "dn"},
                                      {2, "pppp"},
                                      {2, "ddnn"},
                                      {2, "dnpp"},
                                      {3, "pppppp"},
                                      {3, "nnddpp"},
                                      {3, "ppdnnd"}})
      for (auto const* kernels : {"", "kernels: {stencil: register_queue}\n"})
        test::expect_bits_in_slabs(precision +
                                       test::steady(dims, sides,
                                                    dims == 1   ? 1200
                                                    : dims == 2 ? 160
                                                                : 48,
                                                    23) +
                                       kernels,
                                   Backend::cuda);
}

TEST(SweepGpu, WavesInSlabsHaveTheBitsOfARunInCore) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::string const layer = ", absorbing: {thickness: 2, strength: 0.3}";
  for (auto const* precision : {"precision: float32\n", ""}) {
    for (int const order : {2, 8})
      test::expect_bits_in_slabs(precision + test::long_wave(1, "x: fixed", order), Backend::cuda);
    test::expect_bits_in_slabs(
        precision +
            test::long_wave(2, "x: absorbing, y: {lower: free, upper: absorbing}", 4, layer),
        Backend::cuda);
    test::expect_bits_in_slabs(precision + test::long_wave(3, "x: free, y: fixed, z: periodic", 2),
                               Backend::cuda);
  }
}

TEST(SweepGpu, RunsWithOutputsAndRestarts) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_runs_in_slabs(Backend::cuda);
}

/// Made by several threads and then pinned; kernels and copies take it like any other.
TEST(SweepGpu, LargePinnedMemoryServesKernelsAndCopies) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::size_t const size = (std::size_t{1} << 28) + 12345;
  Buffer<std::uint8_t> host(stream, MemorySpace::pinned, size);
  Buffer<std::uint8_t> device(stream, MemorySpace::device, size);
  EXPECT_TRUE(is_on_host(host.data(), stream));
  EXPECT_FALSE(is_on_host(device.data(), stream));
  EXPECT_EQ(host.span().front(), 0);
  EXPECT_EQ(host.span().back(), 0);
  zero_async(device.span(), stream);
  host.span().back() = 7;
  copy_async(device.span(), std::as_const(host).span(), stream);
  zero_async(host.span(), stream);
  copy_async(host.span(), std::as_const(device).span(), stream);
  stream.synchronize();
  EXPECT_EQ(host.span().back(), 7);
}

}  // namespace
}  // namespace gridstride
