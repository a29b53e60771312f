#include "equations/stability.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "core/processors.hpp"
#include "core/thread_pool.hpp"
#include "equations/blocks.hpp"
#include "equations/eigenvalues.hpp"
#include "equations/stable_step.hpp"
#include "equations/upwind.hpp"

namespace gridstride::equations {
namespace {

using Complex = std::complex<double>;
using Offset = std::array<std::int8_t, 3>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of a matrix without negative entries: that of its blocks.
double spectral_radius(std::size_t size, std::vector<double> const& entries) {
  std::vector<char> acts(entries.size());
  std::ranges::transform(entries, acts.begin(), [](double one) { return one > 0; });
  double radius = 0;
  for (auto const& block : blocks_of(size, acts)) {
    std::vector<double> part;
    for (std::size_t const i : block)
      for (std::size_t const j : block) part.push_back(entries[i * size + j]);
    radius = std::max(radius, perron(block.size(), part).radius);
  }
  return radius;
}

/// An entry of the matrix at one θ: a center, and how far it may be from it, along both axes.
struct Disc {
  double real = 0, imaginary = 0;
  double real_radius = 0, imaginary_radius = 0;

  void add_real(double factor, Range range) { add(factor, range, real, real_radius); }
  void add_imaginary(double factor, Range range) {
    add(factor, range, imaginary, imaginary_radius);
  }
  void add_radius(double radius) {
    real_radius += radius;
    imaginary_radius += radius;
  }
  double radius() const { return std::hypot(real_radius, imaginary_radius); }
  double largest() const {
    return std::hypot(std::abs(real) + real_radius, std::abs(imaginary) + imaginary_radius);
  }

 private:
  static void add(double factor, Range range, double& center, double& radius) {
    center += factor * 0.5 * (range.least + range.greatest);
    radius += std::abs(factor) * 0.5 * (range.greatest - range.least);
  }
};

/// The real parts of the eigenvalues of a Hermitian matrix: the least and the greatest.
std::pair<double, double> extremes(Matrix const& hermitian) {
  if (hermitian.size == 2) {
    double const a = hermitian(0, 0).real(), d = hermitian(1, 1).real();
    double const root = std::hypot(0.5 * (a - d), std::abs(hermitian(0, 1)));
    return {0.5 * (a + d) - root, 0.5 * (a + d) + root};
  }
  double least = infinity, greatest = -infinity;
  for (Complex const& one : eigenvalues(hermitian)) {
    least = std::min(least, one.real());
    greatest = std::max(greatest, one.real());
  }
  return {least, greatest};
}

/// Where the eigenvalues of a block lie; `scale` makes it as symmetric as can be.
std::vector<Rectangle> rectangles_of(std::vector<Disc> const& discs, std::size_t size,
                                     std::vector<double> const& scale) {
  if (size == 1) {
    Disc const& one = discs.front();
    return {{one.real - one.real_radius, one.real + one.real_radius,
             std::abs(one.imaginary) + one.imaginary_radius}};
  }
  Matrix center(size), real(size), imaginary(size);
  std::vector<double> radius(size * size), largest(size * size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      Disc const& one = discs[i * size + j];
      double const weight = scale[j] / scale[i];
      center(i, j) = weight * Complex(one.real, one.imaginary);
      radius[i * size + j] = weight * one.radius();
      largest[i * size + j] = one.largest();
    }
  bool const is_exact = std::ranges::all_of(radius, [](double one) { return one == 0; });
  std::vector<Rectangle> found;
  if (is_exact) {
    for (Complex const& one : eigenvalues(center))
      found.push_back({one.real(), one.real(), std::abs(one.imag())});
    return found;
  }
  std::vector<double> spread(size * size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      real(i, j) = 0.5 * (center(i, j) + std::conj(center(j, i)));
      imaginary(i, j) = Complex(0, -0.5) * (center(i, j) - std::conj(center(j, i)));
      spread[i * size + j] = 0.5 * (radius[i * size + j] + radius[j * size + i]);
    }
  double const more = perron(size, spread).radius, bound = perron(size, largest).radius;
  auto const [least, greatest] = extremes(real);
  auto const [down, up] = extremes(imaginary);
  return {{std::max(least - more, -bound), std::min(greatest + more, bound),
           std::min(std::max(up, -down) + more, bound)}};
}

/// What one wave allows, and which of its eigenvalues does.
struct WaveLimit {
  double step = infinity;
  double fastest = 0;
  double growth = 0;
  Rectangle box = {};
};

WaveLimit limit_of_wave(std::vector<Disc> const& discs, std::vector<double> const& scale,
                        std::span<Complex const> around, Tolerance const& tolerance,
                        Region const& region) {
  WaveLimit result;
  for (Rectangle const& box : rectangles_of(discs, scale.size(), scale)) {
    double const size =
        std::hypot(std::max(std::abs(box.least), std::abs(box.greatest)), box.imaginary);
    if (!std::isfinite(size)) {
      result.fastest = infinity;
      continue;
    }
    result.fastest = std::max(result.fastest, size);
    // Of several components `greatest` is a bound alone.
    if (scale.size() == 1) result.growth = std::max(result.growth, box.greatest);
    double const step = tolerant_step(box, around, tolerance, region);
    if (!(step < result.step)) continue;
    result.step = step;
    result.box = box;
  }
  return result;
}

/// Calls `body` for all waves, shared among the host's threads.
template <class Body>
void for_each_wave(std::size_t waves, Body const& body) {
  constexpr std::size_t worth_a_thread = 32;
  auto const call = [](void const* given, std::int64_t first, std::int64_t last) {
    for (std::int64_t w = first; w < last; ++w)
      (*static_cast<Body const*>(given))(static_cast<std::size_t>(w));
  };
  auto const threads =
      std::clamp<std::size_t>(waves / worth_a_thread, 1, static_cast<std::size_t>(host_threads()));
  share_out(static_cast<std::int64_t>(waves), static_cast<int>(threads), {&body, call});
}

/// θ along each axis that the differences reach along; the other half has the conjugate symbol.
std::vector<std::array<double, 3>> wave_numbers(std::array<bool, 3> const& reaches) {
  constexpr int parts_of[] = {1, 32, 16, 8};
  int const parts = parts_of[std::ranges::count(reaches, true)];
  std::array<std::vector<double>, 3> along;
  bool first = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!reaches[axis]) {
      along[axis] = {0};
      continue;
    }
    for (int i = first ? 0 : 1 - parts; i <= parts; ++i)
      along[axis].push_back(std::numbers::pi * i / parts);
    first = false;
  }
  std::vector<std::array<double, 3>> all;
  for (double const x : along[0])
    for (double const y : along[1])
      for (double const z : along[2]) all.push_back({x, y, z});
  return all;
}

/// Puts 0 in the place of noise.
void leave_out_noise(Terms& terms, std::span<Term> from) {
  for (Node const& node : program_of(terms, from, 3).code)
    if (node.kind == Kind::noise)
      for (Term& term : from)
        term = terms.substitute(term, terms.random(node.kind, node.index, node.orders),
                                terms.number(0));
}

}  // namespace

Linearisation::Linearisation(Stencil stencil)
    : terms_(std::move(stencil.terms)),
      components_(stencil.rates.size()),
      operands_(std::move(stencil.operands)),
      measure_(stencil.measure),
      spacing_(stencil.spacing),
      convection_(stencil.convection) {
  leave_out_noise(terms_, stencil.rates);
  leave_out_noise(terms_, operands_);
  for (auto& slope : stencil.slopes) leave_out_noise(terms_, {&slope.value, 1});
  for (auto& one : stencil.carried) leave_out_noise(terms_, {&one.speed, 1});
  for (std::size_t row = 0; row < components_; ++row)
    of_rates_.add(*this, row, stencil.rates[row], stencil.slopes);
  for (Entry const& entry : of_rates_.entries)
    for (Pair const& pair : entry.pairs)
      for (std::size_t axis = 0; axis < 3; ++axis)
        reaches_[axis] = reaches_[axis] || pair.offset[axis] != 0;
  if (!of_rates_.couplings.empty())
    for (std::size_t row = 0; row < operands_.size(); ++row)
      of_operands_.add(*this, row, operands_[row]);
  for (auto const& [component, with, speed] : stencil.carried)
    carried_.push_back({component, with, place_of(speed)});
  for (auto const& one : stencil.side_slopes)
    side_slopes_.push_back(
        {one.kind, one.component, one.of, one.axis, one.end, place_of(one.slope)});
  for (auto const& one : stencil.flux_slopes)
    if (one.rate < components_)
      flux_slopes_.push_back({one.rate, one.of, place_of(one.here), place_of(one.inside)});
  for (Term const value : values_)
    if (!terms_.is_number(value)) coefficients_.push_back(value);
}

void Linearisation::Slopes::add(Linearisation& to, std::size_t row, Term of,
                                std::span<Stencil::Slope const> more) {
  Terms& terms = to.terms_;
  std::array<Term, 1> const root = {of};
  std::map<std::int32_t, std::map<Offset, Term>> slopes;  // by component and offset
  for (Node const& node : program_of(terms, root, 3).code) {
    if (node.kind == Kind::unknown)
      slopes[node.index][node.orders] = terms.partial(of, terms.unknown(node.index, node.orders));
    if (node.kind == Kind::found)
      couplings.push_back(
          {row, node.index, to.place_of(terms.partial(of, terms.found(node.index)))});
  }
  for (auto const& one : more) {
    if (one.rate != row) continue;
    auto& slope = slopes[static_cast<std::int32_t>(one.of)]
                      .try_emplace(one.offset, terms.number(0))
                      .first->second;
    slope = terms.add(slope, one.value);
  }
  for (auto const& [column, of_offset] : slopes) {
    Entry entry = {row, static_cast<std::size_t>(column), 0, {}};
    Term sum = terms.number(0);
    for (auto const& [offset, slope] : of_offset) {
      sum = terms.add(sum, slope);
      Offset const opposite = {static_cast<std::int8_t>(-offset[0]),
                               static_cast<std::int8_t>(-offset[1]),
                               static_cast<std::int8_t>(-offset[2])};
      auto const other = of_offset.find(opposite);
      bool const has_other = other != of_offset.end();
      // One of each pair; the point itself is in the sum alone.
      if (offset == opposite || (has_other && offset < opposite)) continue;
      Term const back = has_other ? other->second : terms.number(0);
      Term const half = terms.number(0.5);
      entry.pairs.push_back({offset, to.place_of(terms.multiply(half, terms.add(slope, back))),
                             to.place_of(terms.multiply(half, terms.subtract(slope, back)))});
    }
    entry.sum = to.place_of(sum);
    entries.push_back(std::move(entry));
  }
}

int Linearisation::place_of(Term term) {
  auto const known = std::ranges::find(values_, term);
  if (known != values_.end()) return static_cast<int>(known - values_.begin());
  values_.push_back(term);
  return static_cast<int>(values_.size() - 1);
}

std::vector<double> Linearisation::speeds(std::span<Range const> values) const {
  std::vector<double> found(components_, 0);
  for (Carried const& one : carried_)
    found[one.component] += values[static_cast<std::size_t>(one.speed)].greatest;
  return found;
}

StepLimit Linearisation::limit(std::span<Range const> ranges, int degree,
                               std::span<RobinSide const> sides) const {
  StepLimit const strict = limit_with(ranges, degree, sides, {});
  if (!strict.hopeless || strict.growth == 0) return strict;
  // Beside waves that grow by themselves slow ones are hardly damped, which no step can follow.
  Tolerance const tolerance = {.growth = 2 * strict.growth, .slow = 0.1 * strict.fastest};
  StepLimit const tolerant = limit_with(ranges, degree, sides, tolerance);
  return tolerant.hopeless ? strict : tolerant;
}

StepLimit Linearisation::limit_with(std::span<Range const> ranges, int degree,
                                    std::span<RobinSide const> sides, Tolerance tolerance) const {
  Region const& region = region_of(degree);
  std::vector<Range> values;
  for (std::size_t next = 0; Term const value : values_)
    values.push_back(terms_.is_number(value) ? Range{terms_[value].value, terms_[value].value}
                                             : ranges[next++]);
  auto const of = [&](int place) { return values[static_cast<std::size_t>(place)]; };

  std::size_t const n = components_;
  std::vector<char> acts(n * n, 0);
  std::vector<double> sums(n * n, 0);
  for (Entry const& entry : of_rates_.entries) {
    std::size_t const at = entry.row * n + entry.column;
    auto const is_zero = [&](int place) { return of(place).least == 0 && of(place).greatest == 0; };
    acts[at] = !is_zero(entry.sum) || std::ranges::any_of(entry.pairs, [&](Pair const& pair) {
      return !is_zero(pair.even) || !is_zero(pair.odd);
    });
    sums[at] = std::max(std::abs(of(entry.sum).least), std::abs(of(entry.sum).greatest));
  }
  auto const coupled = bounds(values);
  for (std::size_t at = 0; at < n * n; ++at) {
    auto const& [exact, radius] = coupled[at];
    double const more = std::max(-exact.least, exact.greatest) + radius;
    acts[at] = acts[at] || more > 0;
    sums[at] += more;
  }
  for (Carried const& one : carried_)
    acts[one.component * n + one.with] = acts[one.with * n + one.component] = 1;
  auto const [slopes, others] = at_sides(values, sides);
  for (std::size_t at = 0; at < n * n; ++at)
    acts[at] = acts[at] || others[at].radius > 0 || others[at].exact.least < 0;
  for (RobinSide const& side : slopes)
    for (std::size_t row = 0; row < n; ++row)
      if (acts[row * n + side.component] && (side.a.least != 0 || side.a.greatest != 0))
        acts[row * n + side.of] = 1;

  auto const speed = speeds(values);
  auto const symbol = convection_symbol(convection_);
  auto const waves = wave_numbers(reaches_);
  StepLimit result = {.step = infinity, .reaction = spectral_radius(n, sums)};
  tolerance.reaction = result.reaction;
  for (auto const& block : blocks_of(n, acts)) {
    std::size_t const size = block.size();
    double fastest = 0;
    for (std::size_t const component : block) fastest = std::max(fastest, speed[component]);
    std::vector<Complex> around;
    for (Complex const& one : symbol)
      if (fastest > 0) around.push_back(fastest * one);
    double const furthest =
        around.empty() ? 0 : std::abs(*std::ranges::max_element(around, {}, [](Complex z) {
          return std::abs(z);
        }));
    auto const place_in = [&](std::size_t component) {
      return static_cast<std::size_t>(std::ranges::find(block, component) - block.begin());
    };
    std::vector<std::vector<Disc>> discs(waves.size(), std::vector<Disc>(size * size));
    std::vector<double> largest(size * size, 0);
    for (Entry const& entry : of_rates_.entries) {
      std::size_t const i = place_in(entry.row), j = place_in(entry.column);
      if (i == size) continue;
      for (std::size_t other = 0; other < size; ++other) {
        if (block[other] == entry.column) continue;
        Range const added = added_by_sides(entry, block[other], values, slopes);
        double const most = std::max(-added.least, added.greatest);
        for (auto& at_wave : discs) at_wave[i * size + other].add_radius(most);
      }
      if (j == size) continue;
      Range const added = added_by_sides(entry, entry.column, values, slopes);
      for (std::size_t w = 0; w < waves.size(); ++w) {
        Disc& disc = discs[w][i * size + j];
        disc.add_real(1, of(entry.sum));
        disc.add_real(1, added);
        for (Pair const& pair : entry.pairs) {
          double phase = 0;
          for (std::size_t axis = 0; axis < 3; ++axis) phase += waves[w][axis] * pair.offset[axis];
          double const half = std::sin(0.5 * phase);
          disc.add_real(-4 * half * half, of(pair.even));
          disc.add_imaginary(2 * std::sin(phase), of(pair.odd));
        }
      }
    }
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        Range const added = carried_by_sides(fastest, block[i], block[j], slopes);
        double const most = std::max(-added.least, added.greatest);
        for (auto& at_wave : discs)
          if (i == j)
            at_wave[i * size + i].add_real(1, added);
          else
            at_wave[i * size + j].add_radius(most);
      }
    }
    for (auto& at_wave : discs)
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j) {
          Disc& disc = at_wave[i * size + j];
          auto const& [exact, radius] = coupled[block[i] * n + block[j]];
          disc.add_real(1, exact);
          disc.add_radius(radius);
          disc.add_radius(others[block[i] * n + block[j]].radius);
          disc.add_real(1, others[block[i] * n + block[j]].exact);
          largest[i * size + j] = std::max(largest[i * size + j], disc.largest());
        }
    std::vector<double> transposed(size * size);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) transposed[j * size + i] = largest[i * size + j];
    if (!std::ranges::all_of(largest, [](double one) { return std::isfinite(one); })) {
      result.fastest = infinity;
      continue;
    }
    auto const right = perron(size, largest), left = perron(size, transposed);
    std::vector<double> scale(size);
    for (std::size_t i = 0; i < size; ++i) scale[i] = std::sqrt(right.vector[i] / left.vector[i]);
    std::vector<WaveLimit> limits(waves.size());
    for_each_wave(waves.size(), [&](std::size_t w) {
      limits[w] = limit_of_wave(discs[w], scale, around, tolerance, region);
    });
    for (std::size_t w = 0; w < waves.size(); ++w) {
      WaveLimit const& one = limits[w];
      result.fastest = std::max(result.fastest, one.fastest + furthest);
      result.growth = std::max(result.growth, one.growth);
      if (!(one.step < result.step)) continue;
      result.step = one.step;
      result.real = one.box.least;
      result.imaginary = one.box.imaginary;
      result.carried = fastest;
      result.components = block;
      result.wave = waves[w];
    }
  }
  if (!std::isfinite(result.fastest)) result.step = 0;
  // Below a fiftieth of 1/|λ| nothing but rounding holds the scheme.
  result.hopeless = !(result.step * result.fastest >= 0.02 || result.fastest == 0);
  return result;
}

}  // namespace gridstride::equations
