#include "equations/stability.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <utility>

#include "equations/blocks.hpp"
#include "equations/eigenvalues.hpp"
#include "equations/rectangles.hpp"
#include "equations/stable_step.hpp"
#include "equations/upwind.hpp"

namespace gridstride::equations {
namespace {

using Complex = std::complex<double>;
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

/// The blocks of those that a side does not hold.
std::vector<std::vector<std::size_t>> without(std::size_t size, std::vector<char> acts,
                                              std::vector<std::size_t> const& held) {
  for (std::size_t const one : held)
    for (std::size_t i = 0; i < size; ++i) acts[one * size + i] = acts[i * size + one] = 0;
  auto blocks = blocks_of(size, acts);
  std::erase_if(blocks, [&](auto const& block) {
    return block.size() == 1 && std::ranges::find(held, block.front()) != held.end();
  });
  return blocks;
}

std::size_t place_in(std::vector<std::size_t> const& block, std::size_t component) {
  return static_cast<std::size_t>(std::ranges::find(block, component) - block.begin());
}

/// What one wave allows, and which of its eigenvalues does.
struct WaveLimit {
  double step = infinity;  ///< up to what was asked about
  double fastest = 0;
  double growth = 0;  ///< of what lies in the box, or of each component by itself
  Rectangle box = {};
};

/// What is the same for all waves of a block.
struct Block {
  std::vector<double> scale;
  Tolerance tolerance;
  Region const& region;

  /// Whether a wave of several components surely allows `bound`, turns no faster than `fastest`,
  /// and grows so slowly that no step up to `bound` has to be shorter for that.
  bool is_surely_within(std::span<Disc const> discs, std::span<Complex const> around,
                        double fastest, double bound) const {
    if (scale.size() == 1) return false;
    Rectangle const rough = rough_rectangle(discs, scale);
    bool const grows = is_exact(discs) && !(rough.greatest * bound < 0.1);
    return !grows && rough.size() <= fastest &&
           takes_surely(rough, around, tolerance, region, bound);
  }

  /// What components that are not known exactly make of themselves.
  double growth_of_each(std::span<Disc const> discs) const {
    double growth = 0;
    if (is_exact(discs)) return growth;
    for (std::size_t i = 0; i < scale.size(); ++i) {
      Disc const& own = discs[i * scale.size() + i];
      growth = std::max(growth, own.real + own.real_radius);
    }
    return growth;
  }

  WaveLimit limit(std::span<Disc const> discs, std::span<Complex const> around,
                  double bound) const {
    thread_local std::vector<Rectangle> boxes;
    WaveLimit result = {.step = bound, .growth = growth_of_each(discs)};
    bool const exact = is_exact(discs);
    find_rectangles(discs, scale, boxes);
    for (Rectangle const& box : boxes) {
      double const size = box.size();
      if (!std::isfinite(size)) {
        result.fastest = infinity;
        continue;
      }
      result.fastest = std::max(result.fastest, size);
      if (exact) result.growth = std::max(result.growth, box.greatest);
      double const step = tolerant_step(box, around, tolerance, region, result.step);
      if (!(step < result.step)) continue;
      result.step = step;
      result.box = box;
    }
    return result;
  }
};

/// Points of two hulls around 0, one by one and together.
std::vector<Complex> sums_of(std::span<Complex const> a, std::span<Complex const> b) {
  std::vector<Complex> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  for (Complex const& one : a)
    for (Complex const& other : b) all.push_back(one + other);
  return all;
}

double furthest_of(std::span<Complex const> points) {
  double furthest = 0;
  for (Complex const& one : points) furthest = std::max(furthest, std::abs(one));
  return furthest;
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
      held_(std::move(stencil.held)),
      spacing_(stencil.spacing),
      convection_(stencil.convection) {
  leave_out_noise(terms_, stencil.rates);
  leave_out_noise(terms_, operands_);
  for (auto& slope : stencil.slopes) leave_out_noise(terms_, {&slope.value, 1});
  for (auto& one : stencil.carried) leave_out_noise(terms_, {&one.speed, 1});
  for (auto& one : stencil.reactions) leave_out_noise(terms_, {&one.value, 1});
  for (std::size_t row = 0; row < components_; ++row)
    of_rates_.add(*this, row, stencil.rates[row], stencil.slopes);
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
  add_reactions(stencil.reactions);
  for (Term const value : values_)
    if (!terms_.is_number(value)) coefficients_.push_back(value);
  waves_ = find_waves();
}

/// Waves are the same where all sums of cosines that one value is multiplied by are, and all sines.
Waves Linearisation::find_waves() {
  std::vector<Offset> offsets;
  std::set<Waves::Sum> sums;
  auto const is_zero = [&](int place) {
    Term const value = values_[static_cast<std::size_t>(place)];
    return terms_.is_number(value) && terms_[value].value == 0;
  };
  for (Entry& entry : of_rates_.entries) {
    std::map<int, std::vector<std::size_t>> even;
    for (Pair& pair : entry.pairs) {
      auto const known = std::ranges::find(offsets, pair.offset);
      pair.place = static_cast<std::size_t>(known - offsets.begin());
      if (known == offsets.end()) offsets.push_back(pair.offset);
      if (!is_zero(pair.even)) even[pair.even].push_back(pair.place);
      if (!is_zero(pair.odd)) sums.insert({true, {pair.place}});
    }
    for (auto& [value, places] : even) {
      std::ranges::sort(places);
      sums.insert({false, std::move(places)});
    }
  }
  return {offsets, {sums.begin(), sums.end()}};
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
      entry.pairs.push_back({offset, 0, to.place_of(terms.multiply(half, terms.add(slope, back))),
                             to.place_of(terms.multiply(half, terms.subtract(slope, back)))});
    }
    entry.sum = to.place_of(sum);
    entries.push_back(std::move(entry));
  }
}

int Linearisation::place_of(Term term) {
  term = terms_.with_zeros_at_poles(term);
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

Linearisation::Known Linearisation::known(std::span<Range const> ranges,
                                          std::span<RobinSide const> sides) const {
  Known known;
  for (std::size_t next = 0; Term const value : values_)
    known.values.push_back(terms_.is_number(value) ? Range{terms_[value].value, terms_[value].value}
                                                   : ranges[next++]);
  known.coupled = bounds(known.values);
  known.sides = at_sides(known.values, sides);
  known.speeds = speeds(known.values);
  return known;
}

Linearisation::Actions Linearisation::actions(Known const& known) const {
  std::size_t const n = components_;
  Actions result = {std::vector<char>(n * n, 0), std::vector<double>(n * n, 0)};
  auto& [acts, sums] = result;
  auto const of = [&](int place) { return range_of(known.values, place); };
  for (Entry const& entry : of_rates_.entries) {
    std::size_t const at = entry.row * n + entry.column;
    auto const is_zero = [&](int place) { return of(place).least == 0 && of(place).greatest == 0; };
    acts[at] = !is_zero(entry.sum) || std::ranges::any_of(entry.pairs, [&](Pair const& pair) {
      return !is_zero(pair.even) || !is_zero(pair.odd);
    });
    sums[at] = std::max(std::abs(of(entry.sum).least), std::abs(of(entry.sum).greatest));
  }
  auto const& [slopes, others] = known.sides;
  for (std::size_t at = 0; at < n * n; ++at) {
    auto const& [exact, radius] = known.coupled[at];
    double const more = std::max(-exact.least, exact.greatest) + radius;
    acts[at] = acts[at] || more > 0 || others[at].radius > 0 || others[at].exact.least < 0;
    sums[at] += more;
  }
  for (Carried const& one : carried_)
    acts[one.component * n + one.with] = acts[one.with * n + one.component] = 1;
  for (RobinSide const& side : slopes)
    for (std::size_t row = 0; row < n; ++row)
      if (acts[row * n + side.component] && (side.a.least != 0 || side.a.greatest != 0))
        acts[row * n + side.of] = 1;
  return result;
}

/// What is the same at all waves.
std::vector<Disc> Linearisation::fixed_part(Known const& known,
                                            std::vector<std::size_t> const& block,
                                            double speed) const {
  std::size_t const n = components_, size = block.size();
  auto const& [slopes, others] = known.sides;
  std::vector<Disc> discs(size * size);
  std::vector<Complex> none;
  auto const size_of = [](Range added) { return std::max(-added.least, added.greatest); };
  for (Entry const& entry : of_rates_.entries) {
    std::size_t const i = place_in(block, entry.row), j = place_in(block, entry.column);
    if (i == size) continue;
    if (!is_aslant(entry, slopes)) add_sides(known, block, entry, nullptr, discs, none);
    if (j < size) discs[i * size + j].add_real(1, range_of(known.values, entry.sum));
  }
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      Disc& disc = discs[i * size + j];
      std::size_t const at = block[i] * n + block[j];
      Range const added = carried_by_sides(speed, block[i], block[j], slopes);
      if (i == j)
        disc.add_real(1, added);
      else
        disc.add_radius(size_of(added));
      for (Bound const& bound : {known.coupled[at], others[at]}) {
        disc.add_real(1, bound.exact);
        disc.add_radius(bound.radius);
      }
    }
  return discs;
}

Linearisation::Matrices Linearisation::matrices(Known const& known,
                                                std::vector<std::size_t> const& block,
                                                double speed) const {
  struct Differences {
    std::size_t at, offset;
    Range even, odd;
  };
  std::size_t const size = block.size(), entries = size * size;
  auto const fixed = fixed_part(known, block, speed);
  std::vector<Differences> differences;
  std::vector<Entry const*> aslant;
  for (Entry const& entry : of_rates_.entries) {
    std::size_t const i = place_in(block, entry.row), j = place_in(block, entry.column);
    if (i < size && is_aslant(entry, known.sides.slopes)) aslant.push_back(&entry);
    if (i == size || j == size) continue;
    for (Pair const& pair : entry.pairs)
      differences.push_back({i * size + j, pair.place, range_of(known.values, pair.even),
                             range_of(known.values, pair.odd)});
  }
  Matrices all = {std::vector<Disc>(entries * waves_.size()), {}};
  if (!aslant.empty()) all.at_edges.resize(waves_.size());
  double const nanoseconds = 4.0 * static_cast<double>(differences.size() + entries);
  waves_.for_each(nanoseconds, [&](std::size_t wave) {
    Disc* const discs = &all.discs[entries * wave];
    std::ranges::copy(fixed, discs);
    auto const factors = waves_.factors(wave);
    for (auto const& [at, offset, even, odd] : differences) {
      discs[at].add_real(factors[offset].even, even);
      discs[at].add_imaginary(factors[offset].odd, odd);
    }
    for (Entry const* const entry : aslant)
      add_sides(known, block, *entry, &waves_.place(wave), std::span(discs, entries),
                all.at_edges[wave]);
  });
  return all;
}

void Linearisation::limit_by(Known const& known, std::vector<std::size_t> const& components,
                             Tolerance const& tolerance, Region const& region,
                             StepLimit& result) const {
  std::size_t const size = components.size(), entries = size * size;
  double speed = 0;
  for (std::size_t const component : components) speed = std::max(speed, known.speeds[component]);
  Block block = {.scale = {}, .tolerance = tolerance, .region = region};
  std::vector<Complex> carried;
  if (speed > 0)
    for (Complex const& one : convection_symbol(convection_)) carried.push_back(speed * one);
  double const furthest = furthest_of(carried);
  auto [discs, around] = matrices(known, components, speed);
  for (auto& one : around) one = sums_of(carried, one);
  auto const around_of = [&](std::size_t wave) -> std::span<Complex const> {
    return around.empty() ? carried : around[wave];
  };
  std::vector<double> largest(entries, 0);
  double most = 0;
  std::size_t likely = 0;  // the wave that decides
  for (std::size_t at = 0; at < discs.size(); ++at) {
    double const one = discs[at].largest();
    largest[at % entries] = std::max(largest[at % entries], one);
    if (!std::isfinite(one)) {
      result.fastest = infinity;
      return;
    }
    if (one > most) likely = at / entries;
    most = std::max(most, one);
  }
  block.scale = symmetric_scale(size, largest);
  auto const discs_of = [&](std::size_t wave) {
    return std::span(discs).subspan(entries * wave, entries);
  };
  auto const limit_of = [&](std::size_t wave, double bound) {
    return block.limit(discs_of(wave), around_of(wave), bound);
  };
  WaveLimit const first = limit_of(likely, result.step);
  // Others have to be looked at closely only where they may allow less, or turn faster.
  double const bound = std::min(result.step, first.step * (1 + 1e-7));
  std::vector<WaveLimit> limits(waves_.size());
  double const nanoseconds = 4.0 * static_cast<double>(carried.size()) +
                             (size < 3 ? 100.0 : 300.0 * static_cast<double>(size * entries));
  waves_.for_each(nanoseconds, [&](std::size_t wave) {
    if (wave == likely ||
        !block.is_surely_within(discs_of(wave), around_of(wave), first.fastest, bound))
      limits[wave] = limit_of(wave, bound);
    else
      limits[wave].growth = block.growth_of_each(discs_of(wave));
  });
  for (std::size_t wave = 0; wave < limits.size(); ++wave) {
    WaveLimit const& one = limits[wave];
    result.fastest = std::max(
        result.fastest, one.fastest + (around.empty() ? furthest : furthest_of(around[wave])));
    result.growth = std::max(result.growth, one.growth);
    if (size == 1) result.growth_alone = std::max(result.growth_alone, one.growth);
    if (!(one.step < result.step)) continue;
    result.step = one.step;
    result.real = one.box.least;
    result.imaginary = one.box.imaginary;
    for (Complex const& edge :
         around.empty() || speed > 0 ? std::span<Complex const>() : around_of(wave)) {
      result.real = std::min(result.real, one.box.least + edge.real());
      result.imaginary = std::max(result.imaginary, one.box.imaginary + edge.imag());
    }
    result.carried = speed;
    result.components = components;
    result.wave = waves_.place(wave);
  }
}

StepLimit Linearisation::limit_with(Known const& known, int degree,
                                    Tolerance const& tolerance) const {
  auto const [acts, sums] = actions(known);
  StepLimit result = {.step = infinity, .reaction = spectral_radius(components_, sums)};
  auto const blocks = blocks_of(components_, acts);
  auto const look_at = [&](std::vector<std::size_t> const& block, StepLimit& limit) {
    auto own = tolerance_of(known, block);
    own.growth = tolerance.growth;
    own.slow = tolerance.slow;
    limit_by(known, block, own, region_of(degree), limit);
  };
  for (auto const& block : blocks) look_at(block, result);
  for (auto const& held : held_) {
    StepLimit beside = result;
    for (auto const& block : without(components_, acts, held))
      if (std::ranges::find(blocks, block) == blocks.end()) look_at(block, beside);
    beside.fastest = std::max(beside.fastest, result.fastest);
    beside.growth = result.growth;
    beside.growth_alone = result.growth_alone;
    result = beside;
  }
  if (!std::isfinite(result.fastest)) result.step = 0;
  result.sharp = sharp_courant_number(convection_) / std::ranges::max(known.speeds);
  result.growth = std::max(result.growth, reaction_growth(known.values));
  // Below a fiftieth of 1/|λ| nothing but rounding holds the scheme.
  result.hopeless = !(result.step * result.fastest >= 0.02 || result.fastest == 0);
  return result;
}

StepLimit Linearisation::limit(std::span<Range const> ranges, int degree,
                               std::span<RobinSide const> sides) const {
  auto const at_present = known(ranges, sides);
  auto const of = [&](int one) {
    StepLimit const strict = limit_with(at_present, one, {});
    if (!strict.hopeless || strict.growth_alone == 0) return strict;
    // Beside waves that grow by themselves slow ones are hardly damped, which no step can follow.
    Tolerance const tolerance = {.growth = 2 * strict.growth_alone, .slow = 0.1 * strict.fastest};
    StepLimit const tolerant = limit_with(at_present, one, tolerance);
    return tolerant.hopeless ? strict : tolerant;
  };
  StepLimit const found = of(degree);
  if (degree != 2) return found;
  // |1 + z + z²/2| <= (1 + |1 + z|²)/2: what degree 1 takes, degree 2 takes.
  StepLimit const first = of(1);
  return !first.hopeless && (found.hopeless || first.step > found.step) ? first : found;
}

}  // namespace gridstride::equations
