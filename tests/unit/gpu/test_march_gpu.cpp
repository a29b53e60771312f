#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <span>

#include "model/entry.hpp"
#include "support/heat_cases.hpp"
#include "support/march_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// The states of a step, each with an array for every component.
template <class T>
class States {
 public:
  States(Stream& stream, int states, std::size_t components, Grid const& grid) : stream_(stream) {
    for (int state = 0; state < states; ++state)
      for (std::size_t c = 0; c < components; ++c)
        buffers_.emplace_back(stream, MemorySpace::device, static_cast<std::size_t>(grid.size()));
    components_ = components;
  }
  std::vector<T*> operator[](int state) {
    std::vector<T*> arrays;
    for (std::size_t c = 0; c < components_; ++c) arrays.push_back(at(state, c).data());
    return arrays;
  }
  /// Numbers at random; every fifth is one of `others`.
  void fill(int state, std::span<T const> others = {}) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> uniform(0.1, 0.9);
    for (std::size_t c = 0; c < components_; ++c) {
      std::vector<T> values(at(state, c).size());
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 5 == 0 && !others.empty() ? others[random() % others.size()]
                                                  : static_cast<T>(uniform(random));
      copy_async(at(state, c).span(), std::span<T const>(values), stream_);
      stream_.synchronize();
    }
  }
  void copy(int from, int to) {
    for (std::size_t c = 0; c < components_; ++c)
      copy_async(at(to, c).span(), std::as_const(at(from, c)).span(), stream_);
  }
  std::vector<T> values(int state) {
    std::vector<T> all;
    for (std::size_t c = 0; c < components_; ++c) {
      std::vector<T> part(at(state, c).size());
      copy_async(std::span(part), std::as_const(at(state, c)).span(), stream_);
      stream_.synchronize();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

 private:
  Buffer<T>& at(int state, std::size_t c) {
    return buffers_[static_cast<std::size_t>(state) * components_ + c];
  }
  Stream& stream_;
  std::vector<Buffer<T>> buffers_;
  std::size_t components_ = 0;
};

/// The sides of each component, without values.
template <class T>
using Sided = std::vector<system::Input<T>>;

/// So many steps, stage by stage with `points`.
template <class T>
std::vector<T> by_points(Stream& stream, test::MarchCase const& one, system::Marched const& what,
                         Sided<T> const& sides, int steps, evaluate::DeviceClock clock,
                         std::span<T const> others = {}) {
  auto const components = what.program->results.size();
  int const stages = static_cast<int>(what.stages.size());
  States<T> states(stream, stages + 1, components, what.grid);
  Buffer<evaluate::DeviceClock> device_clock(stream, MemorySpace::device, 1);
  states.fill(0, others);
  for (int step = 0; step < steps; ++step) {
    evaluate::set_clock(stream, device_clock.data(), clock);
    for (int s = 0; s < stages; ++s) {
      auto const& stage = what.stages[static_cast<std::size_t>(s)];
      system::Step<T> queued;
      queued.program = what.program;
      queued.grid = what.grid;
      queued.factor = stage.factor * one.dt;
      queued.in_weight = stage.in_weight;
      queued.clock = device_clock.data();
      queued.fraction = stage.fraction;
      for (auto const& addend : stage.addends) queued.addend_weights.push_back(addend.second);
      for (std::size_t c = 0; c < components; ++c) {
        queued.inputs.push_back(sides[c]);
        queued.inputs.back().values = states[s][c];
        system::Output<T> output = {.values = states[s + 1][c], .base = states[stage.base][c]};
        for (std::size_t i = 0; i < stage.addends.size(); ++i)
          output.addends[i] = states[stage.addends[i].first][c];
        queued.outputs.push_back(output);
      }
      system::advance(stream, queued, "points");
    }
    states.copy(stages, 0);
    ++clock.steps;
  }
  return states.values(0);
}

/// The same in two passes.
template <class T>
std::vector<T> by_march(Stream& stream, test::MarchCase const& one, system::Marched const& what,
                        Sided<T> const& sides, system::MarchShape const& shape,
                        evaluate::DeviceClock clock, std::span<T const> others = {}) {
  auto const components = what.program->results.size();
  States<T> states(stream, 2, components, what.grid);
  Buffer<evaluate::DeviceClock> device_clock(stream, MemorySpace::device, 1);
  states.fill(0, others);
  system::March<T> const march(stream.device(), what, std::array{shape});
  for (int pass = 0; pass < 2; ++pass) {
    evaluate::set_clock(stream, device_clock.data(), clock);
    system::PassArrays<T> arrays = {.in = sides, .out = states[1 - pass]};
    for (std::size_t c = 0; c < components; ++c) arrays.in[c].values = states[pass][c];
    march.queue(stream, arrays, one.dt, device_clock.data());
    clock.steps += march.steps();
  }
  return states.values(0);
}

/// Shapes for a grid: the one that it gets and, where it is not tiny, that of a large grid with lines
/// that are as well aligned.
std::vector<system::MarchShape> shapes_for(system::Marched const& what, int value_bytes) {
  std::vector<system::MarchShape> shapes = {system::march_shapes(what, value_bytes, 8).front()};
  if (what.grid.points[0] < 100) return shapes;
  auto large = what;
  large.grid.points = {what.grid.points[0] + 8192, 8192, 1};
  auto const of_large = system::march_shapes(large, value_bytes, 8);
  shapes.push_back(of_large.front());
  return shapes;
}

/// Of so many cases: each is compiled in several shapes.
template <class T>
void expect_bits_of_points(std::size_t cases) {
  Stream gpu(Device::open(Backend::cuda));
  evaluate::DeviceClock const clock{0.25, 0.01, 3};
  auto const all = test::march_cases();
  for (auto const& one : std::span(all).first(std::min(cases, all.size())))
    for (std::array<std::int64_t, 3> const points :
         {std::array<std::int64_t, 3>{131, 37, 1}, {1032, 250, 1}, {5, 3, 1}}) {
      Grid const grid{
          .dims = 2, .points = points, .origin = {-1.5, 0.25, 0}, .spacing = {0.4, 0.3, 1}};
      auto const program = test::program_of(one, grid);
      auto const what = test::marched_of(one, program, grid);
      Sided<T> const plain(program.results.size());
      for (auto const& shape : shapes_for(what, sizeof(T)))
        ASSERT_EQ(by_march<T>(gpu, one, what, plain, shape, clock),
                  by_points<T>(gpu, one, what, plain, 2 * shape.steps, clock))
            << one.name << ", " << shape.steps << " steps, " << shape.lane_points << " columns, "
            << points[0] << " x " << points[1];
    }
}

TEST(MarchGpu, HasTheBitsOfPointsInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points<float>(14);
}

TEST(MarchGpu, HasTheBitsOfPointsInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points<double>(7);
}

/// Lines shorter than a strip, a little longer, and of many strips; all lengths of passes.
template <class T>
void expect_bits_of_points_on_lines(std::vector<std::string> const& names) {
  Stream gpu(Device::open(Backend::cuda));
  evaluate::DeviceClock const clock{0.25, 0.01, 3};
  auto const cases = test::march_cases();
  for (auto const& name : names)
    for (std::int64_t const points : {7, 131, 4100}) {
      auto const& one = *std::ranges::find(cases, name, &test::MarchCase::name);
      Grid const grid{
          .dims = 1, .points = {points, 1, 1}, .origin = {-1.5, 0, 0}, .spacing = {0.4, 1, 1}};
      auto const program = test::program_of(one, grid);
      auto const what = test::marched_of(one, program, grid);
      Sided<T> const plain(program.results.size());
      for (auto const& shape : system::march_shapes(what, sizeof(T), 8))
        ASSERT_EQ(by_march<T>(gpu, one, what, plain, shape, clock),
                  by_points<T>(gpu, one, what, plain, 2 * shape.steps, clock))
            << name << ", " << shape.steps << " steps, " << points;
    }
}

TEST(MarchGpu, HasTheBitsOfPointsOnLinesInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points_on_lines<float>(
      {"Gray-Scott", "Cahn-Hilliard by rk4", "Schroedinger", "at points", "shallow water"});
}

TEST(MarchGpu, HasTheBitsOfPointsOnLinesInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points_on_lines<double>({"Burgers", "Swift-Hohenberg", "gas"});
}

template <class T>
void expect_bits_of_extremes() {
  Stream gpu(Device::open(Backend::cuda));
  evaluate::DeviceClock const clock{0.25, 0.01, 3};
  constexpr T large = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::denorm_min(),
              inf = std::numeric_limits<T>::infinity();
  std::array<T, 8> const others = {0, T(-0.0), least, T(1e-30), T(1e25), large, -inf, T(-0.25)};
  test::MarchCase const one = {
      "quotients and roots",
      {{"f", {"u*sqrt(v)/w + sqrt(u)/(w*w)"}}},
      {test::rate("u", "laplace(f) - u"), test::rate("v", "d_dx(f)"), test::rate("w", "0*u")},
      "euler",
      1e-3};
  Grid const grid{.dims = 2, .points = {131, 37, 1}, .spacing = {0.4, 0.3, 1}};
  auto const program = test::program_of(one, grid);
  auto const what = test::marched_of(one, program, grid);
  Sided<T> const plain(program.results.size());
  auto const bytes = [](std::vector<T> const& values) {
    auto const of_values = std::as_bytes(std::span(values));
    return std::vector<std::byte>(of_values.begin(), of_values.end());
  };
  using enum system::Parting;
  for (auto const parting : {none, operators, also_rows}) {
    system::MarchShape const shape = {.turns = 2, .parting = parting};
    EXPECT_EQ(bytes(by_march<T>(gpu, one, what, plain, shape, clock, others)),
              bytes(by_points<T>(gpu, one, what, plain, 2, clock, others)));
  }
}

/// Where quick arithmetic is no good.
TEST(MarchGpu, HasTheBitsOfPointsForExtremeValues) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_extremes<float>();
  expect_bits_of_extremes<double>();
}

class MarchGpuSides : public testing::TestWithParam<test::SidesCase> {};

/// A case in a shape beside these sides. The second grid is narrower than a strip, and its chunks are
/// shorter than what all levels reach; the third has no more points than the sides need.
template <class T>
void expect_bits_of_points_at(test::SidesCase const& sides, std::string const& name,
                              system::MarchShape const& shape, int dims = 2) {
  Stream gpu(Device::open(Backend::cuda));
  evaluate::DeviceClock const clock{0.25, 0.01, 3};
  std::vector<Buffer<T>> faces;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0.1, 0.9);
  auto const face = [&](std::size_t points) {
    std::vector<T> values(points);
    for (T& value : values) value = static_cast<T>(uniform(random));
    auto& buffer = faces.emplace_back(gpu, MemorySpace::device, points);
    copy_async(buffer.span(), std::span<T const>(values), gpu);
    gpu.synchronize();
    return std::as_const(buffer).data();
  };
  auto const cases = test::march_cases();
  auto const& one = *std::ranges::find(cases, name, &test::MarchCase::name);
  for (std::array<std::int64_t, 3> const points :
       {std::array<std::int64_t, 3>{262, 137, 1}, {34, 5, 1}, {4, 4, 1}}) {
    Grid const grid{.dims = dims,
                    .points = {points[0], dims == 2 ? points[1] : 1, 1},
                    .origin = {-1.5, 0.25, 0},
                    .spacing = {0.4, 0.3, 1}};
    auto const program = test::program_of(one, grid);
    auto const inputs = test::sided_inputs<T>(sides, grid, program.results.size(), face);
    auto const what = test::marched_of(one, program, grid, system::side_rules<T>(inputs));
    ASSERT_EQ(by_march<T>(gpu, one, what, inputs, shape, clock),
              by_points<T>(gpu, one, what, inputs, 2 * shape.steps, clock))
        << name << ", " << points[0] << " x " << points[1];
  }
}

TEST_P(MarchGpuSides, SeveralStepsHaveTheBitsOfPoints) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const parting : {system::Parting::none, system::Parting::also_rows})
    expect_bits_of_points_at<float>(
        GetParam(), "Gray-Scott",
        {.steps = 2, .lane_points = 2, .vector_points = 2, .turns = 2, .parting = parting});
}

TEST_P(MarchGpuSides, StagesWithMixedDerivativesHaveTheBitsOfPoints) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points_at<double>(GetParam(), "mixed",
                                   {.lane_points = 2, .vector_points = 2, .turns = 2});
}

/// Near sides the whole program makes what parts make inside.
TEST_P(MarchGpuSides, PartsHaveTheBitsOfPoints) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points_at<float>(
      GetParam(), "Cahn-Hilliard",
      {.lane_points = 2, .vector_points = 2, .turns = 2, .parting = system::Parting::operators});
}

/// Each flux through a face is found once, also beside sides.
TEST_P(MarchGpuSides, FacesHaveTheBitsOfPoints) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points_at<float>(GetParam(), "shallow water",
                                  {.turns = 2, .parting = system::Parting::operators});
  expect_bits_of_points_at<float>(
      GetParam(), "shallow water",
      {.lane_points = 2, .vector_points = 2, .turns = 2, .parting = system::Parting::operators});
}

TEST_P(MarchGpuSides, LinesHaveTheBitsOfPoints) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_points_at<float>(
      GetParam(), "Gray-Scott", {.steps = 4, .lane_points = 2, .vector_points = 2, .turns = 1}, 1);
  expect_bits_of_points_at<double>(GetParam(), "Cahn-Hilliard",
                                   {.steps = 2, .lane_points = 2, .vector_points = 2, .turns = 1},
                                   1);
}

INSTANTIATE_TEST_SUITE_P(All, MarchGpuSides, testing::ValuesIn(test::sides_cases()),
                         [](auto const& tested) {
                           std::string name = tested.param.name;
                           std::erase_if(name, [](char c) { return c == ' ' || c == ','; });
                           return name;
                         });

/// The columns from `first` on of all rows, as a part that begins so many values after a multiple of 16
/// bytes: with the bits of the whole, but for what comes of the part's ends.
void expect_bits_of_whole(std::int64_t first, std::int64_t columns, std::size_t shift) {
  Stream gpu(Device::open(Backend::cuda));
  Grid const grid{
      .dims = 2, .points = {264, 61, 1}, .origin = {-1.5, 0.25, 0}, .spacing = {0.4, 0.3, 1}};
  auto const cases = test::march_cases();
  auto const& one = *std::ranges::find(cases, "Gray-Scott", &test::MarchCase::name);
  auto const program = test::program_of(one, grid);
  auto const what = test::marched_of(one, program, grid);
  system::MarchShape const shape = {.steps = 2, .lane_points = 4, .vector_points = 4, .turns = 2};
  system::March<float> const march(gpu.device(), what, std::array{shape});
  auto const components = program.results.size();
  Sided<float> inputs(components);
  States<float> whole(gpu, 2, components, grid);
  whole.fill(0);
  for (std::size_t c = 0; c < components; ++c) inputs[c].values = whole[0][c];
  march.queue(gpu, {inputs, whole[1]}, one.dt, nullptr);

  // A row more, for what comes before.
  Grid part = grid;
  part.points = {columns, grid.points[1] + 1, 1};
  States<float> parts(gpu, 2, components, part);
  part.points[1] = grid.points[1];
  auto arrays = parts[1];
  for (std::size_t c = 0; c < components; ++c) {
    for (std::int64_t row = 0; row < grid.points[1]; ++row)
      copy_async(std::span(parts[0][c] + shift + row * columns, static_cast<std::size_t>(columns)),
                 std::span<float const>(whole[0][c] + row * grid.points[0] + first,
                                        static_cast<std::size_t>(columns)),
                 gpu);
    inputs[c].values = parts[0][c] + shift;
    arrays[c] += shift;
  }
  march.queue(gpu, {inputs, arrays}, one.dt, nullptr, {part, 0, {0, part.points[1]}, first});
  auto const expected = whole.values(1), found = parts.values(1);
  auto const size = static_cast<std::size_t>(grid.size());
  auto const size_of_part = static_cast<std::size_t>(columns * (grid.points[1] + 1));
  for (std::size_t c = 0; c < components; ++c)
    for (std::int64_t row = 0; row < grid.points[1]; ++row)
      for (std::int64_t x = shape.steps; x < columns - shape.steps; ++x)
        ASSERT_EQ(found[c * size_of_part + shift + static_cast<std::size_t>(row * columns + x)],
                  expected[c * size + static_cast<std::size_t>(row * grid.points[0] + first + x)])
            << "component " << c << ", column " << x << " of " << columns << ", row " << row;
}

TEST(MarchGpu, PartsOfLinesHaveTheBitsOfTheWhole) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_bits_of_whole(64, 132, 0);
  expect_bits_of_whole(37, 151, 0);
  expect_bits_of_whole(64, 132, 3);
  expect_bits_of_whole(1, 130, 1);
}

/// What was compiled for walls is not given sides with values.
TEST(MarchGpu, SidesAreThoseThatItWasMadeFor) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream gpu(Device::open(Backend::cuda));
  Grid const grid{.dims = 2, .points = {64, 32, 1}};
  auto const one = test::march_cases().front();
  auto const program = test::program_of(one, grid);
  States<float> states(gpu, 2, 2, grid);
  auto const inputs_at = [&](SideKind kind) {
    auto inputs =
        test::sided_inputs<float>({"", {{{kind}, {kind}}}}, grid, 2,
                                  [&](std::size_t) -> float const* { return states[1][0]; });
    for (std::size_t c = 0; c < 2; ++c) inputs[c].values = states[0][c];
    return inputs;
  };
  auto const walls = inputs_at(SideKind::wall);
  auto const what = test::marched_of(one, program, grid, system::side_rules<float>(walls));
  system::March<float> const march(gpu.device(), what, system::march_shapes(what, 4, 1));
  EXPECT_NO_THROW(march.queue(gpu, {walls, states[1]}, 0.1, nullptr));
  EXPECT_THROW(march.queue(gpu, {inputs_at(SideKind::neumann), states[1]}, 0.1, nullptr),
               std::invalid_argument);
}

/// A single stage, as the row of the family's table takes it, and what it refuses.
TEST(MarchGpu, TakesAStageOfEuler) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream gpu(Device::open(Backend::cuda));
  Grid const grid{.dims = 2, .points = {77, 33, 1}};
  auto const one = test::march_cases().front();
  auto const program = test::program_of(one, grid);
  States<float> states(gpu, 3, 2, grid);
  states.fill(0);
  system::Step<float> step;
  step.program = &program;
  step.grid = grid;
  step.factor = 0.125;
  for (std::size_t c = 0; c < 2; ++c) {
    step.inputs.push_back({.values = states[0][c]});
    step.outputs.push_back({.values = states[1][c], .base = states[0][c]});
  }
  system::advance(gpu, step, "points");
  for (std::size_t c = 0; c < 2; ++c) step.outputs[c].values = states[2][c];
  system::advance(gpu, step, "march");
  EXPECT_EQ(states.values(1), states.values(2));
  step.outputs[1].base = states[1][1];
  EXPECT_THROW(system::advance(gpu, step, "march"), std::invalid_argument);
}

/// Both fields of a run that stops at three moments between which lies no multiple of a pass.
std::vector<std::byte> run_with(std::string const& row, std::string const& scheme,
                                std::string const& second = "sin(2*pi*y)^2/4",
                                std::string const& sides = "{x: periodic, y: periodic}") {
  auto const config = test::config_of(
      "simulation: pde\n"
      "precision: float32\n"
      "grid: {points: [130, 67]}\n"
      "boundary: " +
      sides +
      "\nlet: {r: u*v^2}\n"
      "equations:\n"
      "  u: 2e-5*laplace(u) - r + 0.04*(1 - u) + 0.01*sin(t)\n"
      "  v: 1e-5*laplace(v) + r - 0.1*v\n"
      "initial: {u: \"1 - sin(2*pi*x)^2/2\", v: \"" +
      second + "\"}\nkernels: {system: " + row + "}\ntime: {scheme: " + scheme +
      ", step: 0.01, end: 7.5}\n");
  Stream stream(Device::open(Backend::cuda));
  auto const simulation = entry_of(config).make(config, stream, {});
  for (double const until : {0.05, 1.37, 7.5})
    simulation->advance(std::numeric_limits<std::int64_t>::max(), until);
  std::vector<std::byte> bytes;
  for (Field const& field : simulation->fields()) {
    auto const host = test::to_host(field, stream);
    bytes.insert(bytes.end(), host.memory.begin(), host.memory.end());
  }
  return bytes;
}

TEST(MarchGpu, SidesThatChangeAreRefusedByName) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const config = test::config_of(
      "simulation: pde\n"
      "grid: {points: [130, 67]}\n"
      "boundary: {x: periodic, y: {dirichlet: sin(t)}}\n"
      "equations: {u: laplace(u)}\n"
      "initial: {u: 0}\n"
      "kernels: {system: march}\n"
      "time: {scheme: rk4, end: 1}\n");
  auto const problems = variant_problems(entry_of(config), config, {}, Device::open(Backend::cuda));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].text().find("'march' takes sides whose values do not follow the time"),
            std::string::npos);
}

TEST(MarchGpu, RunsHaveTheBitsOfPoints) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const scheme : {"euler", "ssprk2", "ssprk3", "rk4"})
    EXPECT_EQ(run_with("march", scheme), run_with("points", scheme)) << scheme;
  EXPECT_EQ(run_with("auto", "rk4"), run_with("points", "rk4"));
}

/// First values that are made of other fields are no step, and left to `points`.
TEST(MarchGpu, FirstValuesOfOtherFields) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  EXPECT_EQ(run_with("march", "euler", "u^2/4"), run_with("points", "euler", "u^2/4"));
}

TEST(MarchGpu, RunsWithSidesHaveTheBitsOfPoints) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const sides :
       {"{u: {x: {dirichlet: (x + y)/2}, y: outflow}, v: {x: {robin: [2, y/10]}, y: wall}}",
        "{u: {x: antiperiodic, y: {neumann: x}}, v: {x: periodic, y: {lower: {dirichlet: 0.1}, "
        "upper: {neumann: 0}}}}"})
    EXPECT_EQ(run_with("auto", "ssprk2", "0.05", sides),
              run_with("points", "ssprk2", "0.05", sides))
        << sides;
}

}  // namespace
}  // namespace gridstride
