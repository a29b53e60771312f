#include "simulations/integration_positions.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace gridstride::integration {

namespace {

using expression::Expression;
using expression::first_array;

/// An array moved by a point: i has what i + `by` has, or the end beyond it.
int append_moved(transform::Chain& chain, int from, int by) {
  std::vector<double> const taps = by > 0 ? std::vector<double>{1, 0} : std::vector<double>{0, 1};
  convolve::Taps moved{taps, by > 0 ? 1 : 0};
  return chain.append({"",
                       {from},
                       transform::ByFilter{0, moved, convolve::Boundary::nearest, 0},
                       chain.link(from).grid});
}

/// What an interior point has of the formulas of the header; x counts the points.
std::string parts_text(std::int64_t n, reduce::Rule rule) {
  if (rule == reduce::Rule::trapezoid || n == 2) return "0.5*(p2 - p0)*f1";
  std::string const h = "(p1 - p0)", k = "(p2 - p1)", both = "(p2 - p0)";
  std::string const parabola = fmt::format(
      "{2}/6*(f0*(2 - {1}/{0}) + f1*({2}/{0})*({2}/{1}) + f2*(2 - {0}/{1}))", h, k, both);
  std::string const last = fmt::format(
      "{1}/6*(f2*(2*{1} + 3*{0})/{2} + f1*({1} + 3*{0})/{0} - f0*({1}/{0})*({1}/{2}))", h, k, both);
  if (n % 2 == 1) return fmt::format("if(mod(x, 2) == 1, {}, 0)", parabola);
  return fmt::format("if(x == {0}, {1}, if(mod(x, 2) == 1, if(x < {0}, {2}, 0), 0))", n - 2, last,
                     parabola);
}

}  // namespace

Positions append_positions(transform::Chain& chain, int samples, config::FieldSource const& source,
                           reduce::Rule rule) {
  Grid const grid = chain.grid();
  int const file = chain.append({"positions", {}, transform::FromFile{&source}, grid});
  Grid shorter = grid;
  --shorter.points[0];
  int const distances = chain.append({"", {file}, transform::ByDifference{0, 1}, shorter});
  expression::Variable const variables[] = {{"x", 0},
                                            {"p0", first_array},
                                            {"p1", first_array + 1},
                                            {"p2", first_array + 2},
                                            {"f0", first_array + 3},
                                            {"f1", first_array + 4},
                                            {"f2", first_array + 5}};
  std::vector<int> const arrays = {
      append_moved(chain, file, -1),    file,    append_moved(chain, file, 1),
      append_moved(chain, samples, -1), samples, append_moved(chain, samples, 1)};
  auto const parts = Expression::parse(parts_text(grid.points[0], rule), {}, variables);
  return {file, distances, chain.append({"", arrays, transform::ByFormula{parts}, grid})};
}

}  // namespace gridstride::integration
