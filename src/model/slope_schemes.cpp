#include <algorithm>
#include <stdexcept>
#include <string>

#include "model/scheme.hpp"

namespace gridstride {

namespace {

/// A stage at its own time, also on sides. The weights of rk4 and rk45 make up for what a stage's
/// own value there is off.
SlopeStage stage(double time, int slope, std::vector<double> weights) {
  return {{.time = time, .sides_at_time = true}, slope, std::move(weights)};
}

/// One whose value on sides is mixed, as in the scheme without slopes.
SlopeStage mixed(double time, int slope, std::array<double, 3> sides, std::vector<double> weights) {
  return {{.time = time, .sides = sides}, slope, std::move(weights)};
}

SlopeScheme made_of(std::string_view name, SlopeScheme scheme) {
  int slopes = 0;
  for (SlopeStage const& one : scheme.stages) {
    slopes = std::max(slopes, one.slope + 1);
    scheme.scheme.stages.push_back(one.moment);
  }
  scheme.scheme.name = name;
  scheme.scheme.buffers = 2 + slopes;
  scheme.scheme.alternates = false;
  return scheme;
}

}  // namespace

SlopeScheme const& find_slope_scheme(std::string_view name) {
  constexpr double third = 1.0 / 3, sixth = 1.0 / 6;
  static SlopeScheme const table[] = {
      made_of("euler", {.scheme = {},
                        .stages = {stage(0, 0, {}), stage(1, 1, {1})},
                        .weights = {},
                        .error = {-0.5, 0.5},
                        .error_order = 2,
                        .degree = 1}),
      made_of("ssp_rk2", {.scheme = {},
                          .stages = {stage(0, 0, {}), mixed(1, 1, {-2, 4, -1}, {1})},
                          .weights = {0.5, 0.5},
                          .error = {-0.5, 0.5},
                          .error_order = 2,
                          .degree = 2}),
      made_of("ssp_rk3", {.scheme = {},
                          .stages = {stage(0, 0, {}), mixed(1, 1, {-2, 4, -1}, {1}),
                                     mixed(0.5, 2, {0.5, 0, 0.5}, {0.25, 0.25})},
                          .weights = {sixth, sixth, 2 * third},
                          .error = {-third, -third, 2 * third},
                          .error_order = 3,
                          .degree = 3}),
      made_of("rk4", {.scheme = {},
                      .stages = {stage(0, 0, {}), stage(0.5, 1, {0.5}), stage(0.5, 2, {0, 0.5}),
                                 stage(1, 3, {0, 0, 1}),
                                 stage(0.75, 4, {5.0 / 32, 7.0 / 32, 13.0 / 32, -1.0 / 32})},
                      .weights = {sixth, third, third, sixth},
                      .error = {2 * third, -2, -2, -2, 16 * third},
                      .error_order = 4,
                      .degree = 4}),
      // The second slope is needed no more when the last one comes.
      made_of(
          "rk45",
          {.scheme = {},
           .stages =
               {stage(0, 0, {}), stage(0.2, 1, {0.2}), stage(0.3, 2, {3.0 / 40, 9.0 / 40}),
                stage(0.8, 3, {44.0 / 45, -56.0 / 15, 32.0 / 9}),
                stage(8.0 / 9, 4, {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729}),
                stage(
                    1, 5,
                    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656}),
                stage(1, 1, {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84})},
           .weights = {},
           .error = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525,
                     -1.0 / 40},
           .error_order = 5,
           .degree = 6}),
      made_of("leapfrog", {.scheme = {},
                           .stages = {stage(0, 0, {}), stage(1, 0, {})},
                           .weights = {},
                           .error = {},
                           .error_order = 0,
                           .degree = 1}),
  };
  auto const found =
      std::ranges::find(table, name, [](SlopeScheme const& one) { return one.scheme.name; });
  if (found == std::end(table))
    throw std::invalid_argument("there is no scheme with an error '" + std::string(name) + "'");
  return *found;
}

}  // namespace gridstride
