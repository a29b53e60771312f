// What sides add to a linearisation that knows of none. Where ∂u/∂n = g − a·u, a point j beyond the
// side has −2jh·a·u(0) in it, beside what a mirror would show. For diffusion over reach 1 that is a
// term of the matrix's diagonal at the side's own points, so that eigenvalues move by no more
// (Weyl); wider stencils have it in rows further inside too, whose size is taken off the real part.
#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "equations/rectangles.hpp"
#include "equations/stability.hpp"

namespace gridstride::equations {
namespace {

constexpr int ends = 2;

Range product(Range a, Range b) {
  double const all[] = {a.least * b.least, a.least * b.greatest, a.greatest * b.least,
                        a.greatest * b.greatest};
  return {*std::ranges::min_element(all), *std::ranges::max_element(all)};
}

Range times(double factor, Range range) { return product({factor, factor}, range); }

Range sum(Range a, Range b) { return {a.least + b.least, a.greatest + b.greatest}; }

double magnitude(Range range) { return std::max(std::abs(range.least), std::abs(range.greatest)); }

/// ∂rate/∂u at an offset.
struct Slope {
  std::array<std::int8_t, 3> offset;
  Range value;

  /// How far it reaches towards an end of an axis.
  int towards(int axis, int end) const {
    int const along = offset[static_cast<std::size_t>(axis)];
    return std::max(0, end == 0 ? -along : along);
  }
  /// Of a wave there, but for what it is along an axis.
  double phase(std::array<double, 3> const& wave, int axis) const {
    double sum = 0;
    for (std::size_t other = 0; other < 3; ++other)
      if (static_cast<int>(other) != axis) sum += offset[other] * wave[other];
    return sum;
  }
};

/// A row of the matrix, for a wave along a side.
struct Row {
  Range real = {0, 0}, imaginary = {0, 0};

  double size() const { return std::hypot(magnitude(real), magnitude(imaginary)); }
};

Row sum(Row const& a, Row const& b) { return {sum(a.real, b.real), sum(a.imaginary, b.imaginary)}; }

/// What one side adds to the rates of points so far inside.
Row added_to_row(RobinSide const& side, std::span<Slope const> slopes, int inside,
                 std::array<double, 3> const& wave) {
  Row row;
  double sizes = 0;
  for (Slope const& slope : slopes) {
    double const beyond = std::max(0, slope.towards(side.axis, side.end) - inside);
    Range const one = times(-2 * beyond * side.spacing, product(side.a, slope.value));
    double const phase = slope.phase(wave, side.axis);
    row = sum(row, {times(std::cos(phase), one), times(std::sin(phase), one)});
    sizes += magnitude(one);
  }
  // Rounding is no turning, which some schemes do not take.
  if (magnitude(row.imaginary) <= 1e-12 * sizes) row.imaginary = {0, 0};
  return row;
}

/// Whether what sides add at their own points is looked at by itself.
enum class Edges { counted, apart };

/// What one side adds to its own points' rates, and to those of points further inside, which count
/// either way.
Range added_by(RobinSide const& side, std::span<Slope const> slopes,
               std::array<double, 3> const& wave, Edges edges) {
  int reach = 0;
  for (Slope const& slope : slopes) reach = std::max(reach, slope.towards(side.axis, side.end));
  Range all = {0, 0};
  for (int inside = edges == Edges::counted ? 0 : 1; inside < reach; ++inside) {
    Row const row = added_to_row(side, slopes, inside, wave);
    double const size = row.size();
    all = sum(all, inside == 0
                       ? Range{std::min(0.0, row.real.least), std::max(0.0, row.real.greatest)}
                       : Range{-size, size});
  }
  return all;
}

/// What differences along several axes add at a corner beyond the sum of its sides.
double added_by_corner(std::span<RobinSide const> corner, std::span<Slope const> slopes) {
  double all = 0;
  for (Slope const& slope : slopes) {
    double product = 1, sum = 0;
    for (RobinSide const& side : corner) {
      int const beyond = slope.towards(side.axis, side.end);
      double const one = beyond * (beyond + 1) * side.spacing * magnitude(side.a);
      product *= 1 + one;
      sum += one;
    }
    all += magnitude(slope.value) * (product - 1 - sum);
  }
  return all;
}

std::vector<RobinSide> sides_at(int corner, std::span<RobinSide const> sides) {
  std::vector<RobinSide> meeting;
  for (RobinSide const& side : sides)
    if (((corner >> side.axis) & 1) == side.end) meeting.push_back(side);
  return meeting;
}

constexpr int corners = ends * ends * ends;

/// What slopes of a component add at its sides, at the worst corner.
Range added_by_slopes(std::span<Slope const> slopes, std::span<RobinSide const> sides,
                      std::array<double, 3> const& wave, Edges edges) {
  Range all = {0, 0};
  for (int corner = 0; corner < corners; ++corner) {
    auto const meeting = sides_at(corner, sides);
    double const both = added_by_corner(meeting, slopes);
    Range here = {-both, both};
    for (RobinSide const& side : meeting) here = sum(here, added_by(side, slopes, wave, edges));
    all = {std::min(all.least, here.least), std::max(all.greatest, here.greatest)};
  }
  return all;
}

/// What a wave along sides has at their points alone: an eigenvalue has some share of it, so that what
/// turns there is damped there.
std::vector<std::complex<double>> added_at_edges(std::span<Slope const> slopes,
                                                 std::span<RobinSide const> sides,
                                                 std::array<double, 3> const& wave) {
  std::vector<std::complex<double>> points;
  auto const add = [&](Row const& row) {
    double const turning = magnitude(row.imaginary);
    points.emplace_back(std::min(0.0, row.real.least), turning);
    points.emplace_back(std::min(0.0, row.real.greatest), turning);
  };
  for (int corner = 0; corner < corners; ++corner) {
    Row all;
    for (RobinSide const& side : sides_at(corner, sides)) {
      Row const one = added_to_row(side, slopes, 0, wave);
      add(one);
      all = sum(all, one);
    }
    add(all);
  }
  auto const before = [](std::complex<double> a, std::complex<double> b) {
    return std::pair(a.real(), a.imag()) < std::pair(b.real(), b.imag());
  };
  std::ranges::sort(points, before);
  auto const [first, last] = std::ranges::unique(points);
  points.erase(first, last);
  return points;
}

/// The sides of a component that follow from another one, each once: what a file gives there and
/// what fields make of it add up.
std::vector<RobinSide> sides_of(std::span<RobinSide const> sides, std::size_t component,
                                std::size_t of) {
  std::vector<RobinSide> all;
  for (RobinSide const& side : sides) {
    if (side.component != component || side.of != of) continue;
    auto const known = std::ranges::find_if(
        all, [&](RobinSide const& one) { return one.axis == side.axis && one.end == side.end; });
    if (known == all.end())
      all.push_back(side);
    else
      known->a = sum(known->a, side.a);
  }
  return all;
}

/// ∂rate/∂u at the points 1, 2 and 3 off, for a speed of 1 point per s either way: of weno5 for any
/// weights of its three parabolas.
std::vector<Range> slopes_of(Convection convection) {
  if (convection == Convection::upwind) return {{0, 1}};
  if (convection == Convection::weno5) return {{-1, 3}, {-1.5, 1.0 / 6}, {0, 1.0 / 3}};
  return {};
}

}  // namespace

bool Linearisation::is_aslant(Entry const& entry, std::span<RobinSide const> sides) const {
  return std::ranges::any_of(sides, [&](RobinSide const& side) {
    auto const along = static_cast<std::size_t>(side.axis);
    return side.component == entry.column &&
           std::ranges::any_of(entry.pairs, [&](Pair const& pair) {
             auto const moved =
                 std::ranges::count_if(pair.offset, [](int one) { return one != 0; });
             return pair.offset[along] != 0 && moved > 1;
           });
  });
}

Linearisation::Added Linearisation::added_by_sides(Entry const& entry, std::size_t of,
                                                   std::span<Range const> values,
                                                   std::span<RobinSide const> sides,
                                                   std::array<double, 3> const* wave) const {
  auto const own = sides_of(sides, entry.column, of);
  if (own.empty()) return {};
  std::vector<Slope> slopes;
  for (Pair const& pair : entry.pairs) {
    Range const even = values[static_cast<std::size_t>(pair.even)];
    Range const odd = values[static_cast<std::size_t>(pair.odd)];
    Slope one = {pair.offset, sum(even, odd)};
    slopes.push_back(one);
    for (auto& along : one.offset) along = static_cast<std::int8_t>(-along);
    one.value = {even.least - odd.greatest, even.greatest - odd.least};
    slopes.push_back(one);
  }
  if (wave == nullptr) return {added_by_slopes(slopes, own, {}, Edges::counted), {}};
  return {added_by_slopes(slopes, own, *wave, Edges::apart), added_at_edges(slopes, own, *wave)};
}

void Linearisation::add_sides(Known const& known, std::vector<std::size_t> const& block,
                              Entry const& entry, std::array<double, 3> const* wave,
                              std::span<Disc> discs,
                              std::vector<std::complex<double>>& at_edges) const {
  std::size_t const size = block.size();
  auto const i = static_cast<std::size_t>(std::ranges::find(block, entry.row) - block.begin());
  for (std::size_t other = 0; other < size; ++other) {
    auto const [real, edges] =
        added_by_sides(entry, block[other], known.values, known.sides.slopes, wave);
    Disc& disc = discs[i * size + other];
    bool const is_own = block[other] == entry.column;
    if (is_own)
      disc.add_real(1, real);
    else
      disc.add_radius(std::max(-real.least, real.greatest));
    if (is_own && other == i) {
      at_edges.insert(at_edges.end(), edges.begin(), edges.end());
      continue;
    }
    double most = 0;
    for (std::complex<double> const& one : edges) most = std::max(most, std::abs(one));
    disc.add_radius(most);
  }
}

Linearisation::AtSides Linearisation::at_sides(std::span<Range const> values,
                                               std::span<RobinSide const> sides) const {
  std::size_t const n = components_;
  AtSides all = {{sides.begin(), sides.end()}, std::vector<Bound>(n * n)};
  for (SideSlope const& one : side_slopes_) {
    Range const slope = range_of(values, one.slope);
    double const h = spacing_[static_cast<std::size_t>(one.axis)];
    if (one.kind != SideKind::dirichlet) {
      all.slopes.push_back({one.component, one.axis, one.end, h, slope, one.of});
      continue;
    }
    for (Entry const& entry : of_rates_.entries) {
      if (entry.column != one.component) continue;
      double size = magnitude(range_of(values, entry.sum));
      for (Pair const& pair : entry.pairs)
        size +=
            4 * magnitude(range_of(values, pair.even)) + 4 * magnitude(range_of(values, pair.odd));
      all.others[entry.row * n + one.of].radius += 2 * magnitude(slope) * size;
    }
    double carried = 0;
    for (Range const points : slopes_of(convection_)) carried += magnitude(points);
    for (Carried const& other : carried_)
      if (other.component == one.component || other.with == one.component)
        all.others[other.component * n + one.of].radius +=
            4 * magnitude(slope) * carried * magnitude(range_of(values, other.speed));
  }
  for (FluxSlope const& one : flux_slopes_) {
    Range const here = range_of(values, one.here);
    double const inside = magnitude(range_of(values, one.inside));
    Bound& bound = all.others[one.rate * n + one.of];
    // What grows at the side grows by itself.
    if (one.rate == one.of)
      bound.exact.least = std::min(bound.exact.least, std::min(here.least, 0.0) - inside);
    else
      bound.radius += magnitude(here) + inside;
  }
  return all;
}

Range Linearisation::carried_by_sides(double speed, std::size_t component, std::size_t of,
                                      std::span<RobinSide const> sides) const {
  auto const own = sides_of(sides, component, of);
  if (own.empty()) return {0, 0};
  std::vector<Slope> slopes;
  auto const of_convection = slopes_of(convection_);
  for (RobinSide const& side : own) {
    for (std::size_t i = 0; i < of_convection.size(); ++i) {
      Slope one = {{}, product({speed, speed}, of_convection[i])};
      auto const points = static_cast<int>(i) + 1;
      one.offset[static_cast<std::size_t>(side.axis)] =
          static_cast<std::int8_t>(side.end == 0 ? -points : points);
      slopes.push_back(one);
    }
  }
  return added_by_slopes(slopes, own, {}, Edges::counted);
}

}  // namespace gridstride::equations
