#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "support/copy_cases.hpp"
#include "support/plane_cases.hpp"
#include "support/rank_cases.hpp"
#include "unit/gpu/gpu.hpp"

/// Ranks that share one GPU, each a thread with a stream of its own.
namespace gridstride {
namespace {

using enum SideKind;

/// Long ones, and those that are shorter than what a block copies.
TEST(CopiedRowsGpu, ComeToTheirPlaces) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_copied_rows(stream, copy_rows);
  test::expect_copied_rows(stream, copy_own_rows);
}

TEST(RankStepsGpu, DiffusionHasTheBitsOfOneProcess) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {dirichlet, neumann}, {neumann, dirichlet}};
  for (int const count : {2, 3, 8})
    for (auto one : test::shared_sizes(kinds, count, 1)) {
      if (one.steps == 1 && one.trip_steps > 1) continue;
      one.dims = 1 + count % 3;
      test::expect_shared_diffusion_bits<double>(one, count, Backend::cuda, "register_queue");
      one.fused_steps = std::min(stencil::most_fused_steps(one.dims), 2);
      test::expect_shared_diffusion_bits<float>(one, count, Backend::cuda, "temporal");
    }
  for (auto const& sides : kinds)
    for (int const dims : {1, 2})
      test::expect_shared_diffusion_bits<float>({.dims = dims,
                                                 .planes = 61,
                                                 .trip_steps = 13,
                                                 .steps = 50,
                                                 .sides = sides,
                                                 .fused_steps = 8},
                                                3, Backend::cuda, "temporal");
}

/// Trips of one pass, made in two parts or more, of ranks with as few planes as can be and more, and
/// steps that are left over; with lines that fit a warp's strip, and that are cut into several.
TEST(RankStepsGpu, PartsHaveTheBitsOfOneProcess) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {dirichlet, neumann}, {neumann, dirichlet}};
  for (auto const& sides : kinds)
    for (int const count : {2, 3})
      for (int const fused : {2, 8})
        for (std::int64_t const line : {20, 23, 332})
          for (std::int64_t const more : {0, 1, 5, 40}) {
            test::SweepCase one{.dims = 2,
                                .planes = 2 * fused * count + more,
                                .trip_steps = fused,
                                .steps = 5 * fused + 1,
                                .sides = sides,
                                .fused_steps = fused,
                                .line_points = line};
            test::expect_shared_diffusion_bits<float>(one, count, Backend::cuda, "temporal");
            test::expect_shared_diffusion_bits<double>(one, count, Backend::cuda, "temporal");
            if (line != 20 || fused != 2) continue;
            one.dims = 3;
            test::expect_shared_diffusion_bits<float>(one, count, Backend::cuda, "temporal");
            test::expect_shared_diffusion_bits<double>(one, count, Backend::cuda, "temporal");
          }
}

TEST(RankStepsGpu, WavesMadeInPartsHaveTheBitsOfOneProcess) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {fixed, free}, {free, fixed}};
  for (auto const& sides : kinds)
    for (auto const& [order, fused] : {std::pair(2, 8), std::pair(4, 4), std::pair(8, 3)})
      for (int const count : {2, 3})
        for (std::int64_t const more : {0, 1, 80}) {
          test::SweepCase const one{.dims = 2,
                                    .planes = fused * order * count + more,
                                    .trip_steps = fused,
                                    .steps = 4 * fused + 2,
                                    .sides = sides,
                                    .order = order,
                                    .line_points = more == 1 ? 535 : 20};
          test::expect_shared_wave_bits<float>(one, count, Backend::cuda, {"temporal", 0});
          test::expect_shared_wave_bits<double>(one, count, Backend::cuda, {"temporal", 0});
        }
}

TEST(RankStepsGpu, WavesHaveTheBitsOfOneProcess) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {fixed, free}, {free, fixed}};
  for (int const order : {2, 8})
    for (auto one : test::shared_sizes(kinds, 3, order / 2)) {
      one.order = order;
      one.dims = order == 8 ? 1 : 3;  // the other axes are short
      test::expect_shared_wave_bits<float>(one, 3, Backend::cuda);
    }
  // Several steps in a pass make both arrays of the state.
  for (auto const& sides : kinds)
    for (int const order : {2, 4})
      test::expect_shared_wave_bits<double>(
          {.dims = 2, .planes = 61, .trip_steps = 13, .steps = 50, .sides = sides, .order = order},
          2, Backend::cuda, {"temporal", 0});
}

TEST(RankStepsGpu, AdvectionHasTheBitsOfOneProcess) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (int const count : {2, 3}) {
    test::expect_all_shared_advection_bits<float>(count, Backend::cuda);
    test::expect_all_shared_advection_bits<double>(count, Backend::cuda);
  }
  // Marches of the whole grid and of a rank's part begin at other rows.
  for (auto const scheme : test::advect_schemes)
    for (bool const is_field : {false, true})
      for (auto const kind : {periodic, outflow})
        for (int const dims : {2, 3}) {
          test::SweepCase const one{
              .dims = dims, .planes = 151, .trip_steps = 2, .steps = 5, .sides = {kind, kind}};
          test::expect_shared_advection_bits<float>(one, 2, scheme, is_field, Backend::cuda);
          test::expect_shared_advection_bits<double>(one, 2, scheme, is_field, Backend::cuda);
        }
}

TEST(RankStepsGpu, CoefficientsHaveTheBitsOfOneProcess) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_all_planes_bits<float>(Backend::cuda);
  test::expect_all_planes_bits<double>(Backend::cuda);
}

/// What is handed out and gathered goes by several parts of pinned memory, through the memory of the
/// first rank or, as between machines, through messages.
TEST(RankStepsGpu, LargeSlabsComeAndGo) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::SweepCase one{.dims = 2, .planes = 4003, .trip_steps = 3, .steps = 5};
  one.sides = {SideKind::dirichlet, SideKind::neumann};
  one.line_points = 2048;
  for (bool const apart : {false, true})
    test::expect_shared_diffusion_bits<double>(one, 3, Backend::cuda, "auto", apart);
}

}  // namespace
}  // namespace gridstride
