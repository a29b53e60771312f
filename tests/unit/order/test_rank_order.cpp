#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/elementwise/elementwise.hpp"
#include "model/rank_steps.hpp"
#include "support/pencil_cases.hpp"
#include "support/thread_ranks.hpp"
#include "unit/order/queues.hpp"

/// Whether streams of ranks wait for all that they need: their work comes at any times.
namespace gridstride {

template <class T>
void elementwise::scale(Stream& stream, T a, std::span<T> x, std::string_view) {
  test::queue_work(stream.native(), [=] {
    for (T& value : x) value *= a;
  });
}
template void elementwise::scale(Stream&, float, std::span<float>, std::string_view);
template void elementwise::scale(Stream&, double, std::span<double>, std::string_view);

namespace {

/// Whole numbers, so that sums are exact. Beyond an end that is no cut there is 1.
double next_of(double lower, double center, double upper) {
  return std::fmod(lower + 2 * center + 5 * upper, 997);
}

void make_pass(Window<double> const& window, std::size_t arrays) {
  std::int64_t const planes = window.grid.points[0];
  constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t a = 0; a < arrays; ++a) {
    std::vector<double> now(window.in[a], window.in[a] + planes), next(now.size());
    for (int step = 0; step < window.steps; ++step) {
      for (std::size_t i = 0; i < now.size(); ++i)
        next[i] = next_of(i > 0 ? now[i - 1] : (window.cut[0] ? nowhere : 1), now[i],
                          i + 1 < now.size() ? now[i + 1] : (window.cut[1] ? nowhere : 1));
      std::swap(now, next);
    }
    for (std::int64_t i = window.made[0]; i < window.made[1]; ++i) {
      window.out[a][i] = now[static_cast<std::size_t>(i)];
      if (i % 5 == 0) std::this_thread::yield();
    }
  }
}

/// What lies around a periodic axis has a sign; without one there is 1.
std::vector<double> after_step(std::vector<double> const& before, int around) {
  std::vector<double> after(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    double const below = i > 0 ? before[i - 1] : (around != 0 ? around * before.back() : 1);
    double const above =
        i + 1 < before.size() ? before[i + 1] : (around != 0 ? around * before.front() : 1);
    after[i] = next_of(below, before[i], above);
  }
  return after;
}

struct OrderCase {
  std::vector<int> machines;  // of each rank
  int around = 0;             ///< sign of what lies around the axis; 0: it is not periodic
  std::int64_t planes = 0;
  std::size_t arrays = 1;
  std::int64_t trip_steps = 2;  ///< two are a pass, made in parts
};

template <class T>
void expect_transport(RankSteps<T>& steps, std::string const& transport) {
  for (auto const& [name, text] : steps.texts())
    if (name == "transport") {
      EXPECT_TRUE(text.starts_with(transport)) << text;
    }
}

void expect_order(OrderCase const& one, Ranks& ranks, std::string const& transport) {
  Stream const stream(Device::open(Backend::cuda));
  SweepShape shape{.grid = {.dims = 1, .points = {one.planes, 1, 1}}, .periodic = one.around != 0};
  shape.fused_steps = 2;
  shape.arrays = shape.made = static_cast<int>(one.arrays);
  if (one.around < 0) shape.turned = ~0U;
  shape.parts = 5;
  auto const plan = plan_ranks(shape, ranks.count(), Backend::cuda, one.trip_steps);
  ASSERT_EQ(plan.parts > 1, one.trip_steps == 2);
  RankSteps<double> steps(
      stream, plan, [](std::int64_t left) { return left > 1 ? 2 : 1; }, ranks);
  expect_transport(steps, transport);
  std::size_t const size = ranks.is_first() ? static_cast<std::size_t>(one.planes) : 0;
  std::vector<std::vector<double>> values(one.arrays, std::vector<double>(size)), expected;
  std::vector<double*> arrays;
  for (auto& array : values) {
    for (std::size_t i = 0; i < size; ++i) array[i] = static_cast<double>((i * i + 3) % 101);
    arrays.push_back(array.data());
  }
  expected = values;
  auto const pass = [&](Stream& queue, Window<double> const& window) {
    test::queue_work(queue.native(), [=, count = one.arrays] { make_pass(window, count); });
  };
  std::vector<std::vector<double>> whole(one.arrays);  // what each rank is to look at
  for (std::size_t a = 0; a < one.arrays; ++a)
    for (std::int64_t i = 0; i < one.planes; ++i)
      whole[a].push_back(static_cast<double>((i * i + 3) % 101));
  LooksAt looks = LooksAt::own;
  auto const looked_at = [&](Stream& queue, Window<double> const& window) {
    queue.synchronize();
    bool const own = looks == LooksAt::own;
    std::int64_t const begin = own ? window.made[0] : 0;
    std::int64_t const end = own ? window.made[1] : window.grid.points[0];
    for (std::size_t a = 0; a < one.arrays; ++a)
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t const plane = window.first + i;
        bool const lies_around = plane < 0 || plane >= one.planes;
        ASSERT_EQ(window.in[a][i],
                  (lies_around ? one.around : 1) *
                      whole[a][static_cast<std::size_t>((plane + one.planes) % one.planes)]);
      }
  };
  for (std::int64_t const some : {12, 5, 8, 4, 3, 6}) {
    steps.run(arrays, some, pass);
    for (auto* all : {&expected, &whole})
      for (auto& array : *all)
        for (std::int64_t step = 0; step < some; ++step)
          if (!array.empty()) array = after_step(array, one.around);
    looks = some % 2 == 1 ? LooksAt::own : LooksAt::beside;
    if (some < 8) steps.look(arrays, looks, looked_at);
    if (some % 2 == 1) continue;
    steps.settle();
    EXPECT_EQ(values, expected) << ranks.count() << " ranks, " << one.planes << " planes";
  }
}

/// Steps of two stages, with an exchange for each.
void expect_stages(OrderCase const& one, Ranks& ranks, std::string const& transport) {
  Stream const stream(Device::open(Backend::cuda));
  SweepShape shape{.grid = {.dims = 1, .points = {one.planes, 1, 1}}, .periodic = one.around != 0};
  shape.reach = shape.stages = 2;
  auto const plan = plan_ranks(shape, ranks.count(), Backend::cuda, 1);
  ASSERT_TRUE(plan.by_stages);
  RankSteps<double> steps(
      stream, plan, [](std::int64_t) { return 1; }, ranks);
  expect_transport(steps, transport);
  std::vector<double> values(ranks.is_first() ? static_cast<std::size_t>(one.planes) : 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>((i * i + 3) % 101);
  auto expected = values;
  std::vector<double> between(static_cast<std::size_t>(one.planes + 2),
                              std::numeric_limits<double>::quiet_NaN());
  double multiple = 1;  // what a stage looks at, by its number
  auto const pass = [&](Stream& stream_of_pass, Window<double> const& window) {
    std::int64_t const last = window.grid.points[0] - 1;
    double const* in = window.in[0];
    for (double* const out : {between.data(), window.out[0]}) {
      double const now = out == window.out[0] ? 3 : 1;
      test::queue_work(stream_of_pass.native(), [&multiple, now] { multiple = now; });
      auto const make = [=, &multiple](Planes const& made) {
        for (std::int64_t i = made.lower; i < made.upper; ++i) {
          out[i] = multiple * next_of(i > 0 ? in[i - 1] : 1, in[i], i < last ? in[i + 1] : 1);
          if (i % 5 == 0) std::this_thread::yield();
        }
      };
      window.stage(
          [&](Stream& queue, Planes const& made) {
            test::queue_work(queue.native(), [=] { make(made); });
          },
          out);
      in = out;
    }
  };
  double* const arrays[] = {values.data()};
  for (std::int64_t const some : {1, 5}) {
    steps.run(arrays, some, pass);
    for (std::int64_t stage = 0; stage < 2 * some && ranks.is_first(); ++stage) {
      expected = after_step(expected, one.around);
      if (stage % 2 == 1)
        for (double& value : expected) value *= 3;
    }
    if (some == 1) continue;
    steps.settle();
    EXPECT_EQ(values, expected) << ranks.count() << " ranks, " << one.planes << " planes";
  }
}

/// A wish as the environment has it, and what comes of it for ranks of these machines.
struct OrderWay {
  char const* wanted;
  std::string transport;
  std::vector<std::vector<int>> machines = {{0, 0}, {0, 0, 0}};
  std::vector<unsigned> pauses = {30, 300};
};

void expect_all_orders(OrderWay const& way) {
  setenv("GRIDSTRIDE_TRANSPORT", way.wanted, 1);
  unsigned seed = 0;
  for (unsigned const pause : way.pauses)
    for (auto const& machines : way.machines)
      for (int const around : {0, 1, -1})
        for (std::int64_t const more : {0, 1})
          for (std::int64_t const trip_steps : {2, 3}) {
            test::set_pauses(++seed, pause);
            std::int64_t const planes = std::ssize(machines) * (more == 0 ? 4 : 37) + more;
            OrderCase const one{machines, around, planes, 1 + seed % 2, trip_steps};
            EXPECT_TRUE(test::on_machines(machines, [&](Ranks& all) {
              expect_order(one, all, way.transport);
              if (trip_steps == 2 && around >= 0) expect_stages(one, all, way.transport);
            }));
          }
  unsetenv("GRIDSTRIDE_TRANSPORT");
}

/// Halos along one axis and then along the others.
void expect_pencil_orders(char const* transport, int ranks_of_machine = 8) {
  setenv("GRIDSTRIDE_TRANSPORT", transport, 1);
  unsigned seed = 0;
  for (unsigned const pause : {30, 300})
    for (auto const& parts : {std::array{2, 2, 1}, {3, 1, 1}, {2, 3, 1}, {2, 2, 2}})
      for (bool const around : {false, true}) {
        auto const machines = test::machines_of(parts[0] * parts[1] * parts[2], ranks_of_machine);
        test::set_pauses(++seed, pause);
        auto const shape =
            parts[2] > 1 ? test::brick_shape(around, !around, seed % 4 < 2, 1)
                         : test::pencil_shape(static_cast<int>(2 + seed % 2), around, !around, 1);
        test::expect_pencil_bits(shape, parts, 1 + seed % 3, machines, Backend::cuda,
                                 [](Stream& stream, std::function<void()> work) {
                                   test::queue_work(stream.native(), std::move(work));
                                 });
      }
  unsetenv("GRIDSTRIDE_TRANSPORT");
}

/// What ends within a machine and what ends between two, at one rank or several, in rings of even and
/// odd length.
std::vector<std::vector<int>> const several = {{0, 0, 1}, {0, 1, 1, 0}, {0, 0, 0, 1, 2}};

TEST(RankOrder, OfEventsBetweenGpusOfPencils) { expect_pencil_orders("p2p"); }

TEST(RankOrder, OfMessagesThroughTheHostOfPencils) { expect_pencil_orders("staged"); }

TEST(RankOrder, OfPencilsOnSeveralMachines) {
  expect_pencil_orders("auto", 2);
  test::set_nccl(false);
  expect_pencil_orders("auto", 3);
  test::set_nccl(true);
}

TEST(RankOrder, OfEventsBetweenGpus) { expect_all_orders({"p2p", "p2p"}); }

TEST(RankOrder, OfMessagesThroughTheHost) { expect_all_orders({"staged", "staged"}); }

TEST(RankOrder, OfGroups) { expect_all_orders({"nccl", "nccl"}); }

TEST(RankOrder, OfEventsWithinMachinesAndGroupsBetween) {
  expect_all_orders({"auto", "p2p within machines, nccl between them, beside", several, {100}});
}

TEST(RankOrder, OfEventsWithinMachinesAndMessagesBetween) {
  test::set_nccl(false);
  expect_all_orders({"auto",
                     "p2p within machines, staged between them (libnccl.so.2 is missing)",
                     several,
                     {100}});
  test::set_nccl(true);
}

}  // namespace
}  // namespace gridstride
