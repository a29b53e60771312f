#include "model/scheme.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gridstride {

// rk4 needs no array of slopes: with y2, y3, y4 its stage values,
// u' = u + ((y2 − u) + 2·(y3 − u) + (y4 − u))/3 + dt/6·L(y4).
//
// The values of ssp_rk3 at the sides are what the method itself would give for u_t = g', up to dt³
// (as those of ssp_rk2): g + dt·g' and g + dt/2·g' + dt²/4·g''. With g at the stages' own times in their place, the order
// would fall to two (Carpenter and others, SIAM J. Sci. Comput. 16 (1995)).
std::span<Scheme const> schemes() {
  static std::vector<Scheme> const table = {
      {"euler", 2, true, 2, {{}}},
      {"midpoint", 2, true, 2, {{.time = 0.5}}},
      {"ssp_rk2",
       2,
       false,
       2,
       {{.out = 1, .sides = {-2, 4, -1}},
        {.in = 1, .out = 0, .factor = 0.5, .in_weight = 0.5, .time = 1}}},
      {"ssp_rk3",
       3,
       false,
       2.5127453266183286,
       {{.out = 1, .sides = {-2, 4, -1}},
        {.in = 1, .out = 2, .factor = 0.25, .in_weight = 0.25, .time = 1, .sides = {0.5, 0, 0.5}},
        {.in = 2, .out = 0, .factor = 2.0 / 3, .in_weight = 2.0 / 3, .time = 0.5}}},
      {"rk4",
       4,
       false,
       2.785293563405282,
       {{.out = 1, .factor = 0.5, .sides = {0, 1, 0}},
        {.in = 1, .out = 2, .factor = 0.5, .time = 0.5, .sides = {0, 1, 0}},
        {.in = 2, .out = 3, .time = 0.5},
        {.in = 3,
         .out = 0,
         .factor = 1.0 / 6,
         .in_weight = 1.0 / 3,
         .terms = {{1, 1.0 / 3}, {2, 2.0 / 3}},
         .time = 1}}},
  };
  return table;
}

Scheme const& find_scheme(std::string_view name) {
  auto const found = std::ranges::find(schemes(), name, &Scheme::name);
  if (found == schemes().end())
    throw std::invalid_argument("there is no scheme '" + std::string(name) + "'");
  return *found;
}

bool Scheme::mixes_sides() const {
  return std::ranges::any_of(stages, [](Stage const& stage) {
    return !stage.sides_at_time &&
           std::ranges::count(stage.sides, 0.0) < std::ssize(stage.sides) - 1;
  });
}

}  // namespace gridstride
