// How fast what a linearisation describes grows by itself.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "equations/blocks.hpp"
#include "equations/eigenvalues.hpp"
#include "equations/rectangles.hpp"
#include "equations/stability.hpp"

namespace gridstride::equations {
namespace {

using Complex = std::complex<double>;

double largest_real_part(Matrix const& matrix) {
  double largest = -std::numeric_limits<double>::infinity();
  for (Complex const& one : eigenvalues(matrix)) largest = std::max(largest, one.real());
  return largest;
}

/// The same of the real matrix with entries `center` ± `radius`, at most.
class RealMatrix {
 public:
  RealMatrix(std::size_t size, std::vector<Range> const& entries)
      : size_(size), entries_(entries) {}

  double largest_real_part_at_most() const {
    if (size_ == 2) return of_two();
    return std::min(by_magnitudes(), by_symmetric_part());
  }

 private:
  Range const& at(std::size_t i, std::size_t j) const { return entries_[i * size_ + j]; }
  static double magnitude(Range range) {
    return std::max(std::abs(range.least), std::abs(range.greatest));
  }

  /// (a + d)/2 + Re √((a − d)²/4 + b·c) rises with b·c, and is largest at ends of a and d, since
  /// each of both makes it fall first if at all, then rise.
  double of_two() const {
    double product = -std::numeric_limits<double>::infinity();
    for (double const b : {at(0, 1).least, at(0, 1).greatest})
      for (double const c : {at(1, 0).least, at(1, 0).greatest}) product = std::max(product, b * c);
    double largest = -std::numeric_limits<double>::infinity();
    for (double const a : {at(0, 0).least, at(0, 0).greatest})
      for (double const d : {at(1, 1).least, at(1, 1).greatest}) {
        double const half = 0.5 * (a - d);
        largest =
            std::max(largest, 0.5 * (a + d) + std::sqrt(std::max(half * half + product, 0.0)));
      }
    return largest;
  }

  /// No matrix grows faster than that with the magnitudes of its entries beside the diagonal.
  double by_magnitudes() const {
    std::vector<double> entries(size_ * size_);
    double shift = 0;
    for (std::size_t i = 0; i < size_; ++i) shift = std::max(shift, -at(i, i).greatest);
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < size_; ++j)
        entries[i * size_ + j] = i == j ? at(i, i).greatest + shift : magnitude(at(i, j));
    return perron(size_, entries).radius - shift;
  }

  /// Nor faster than its symmetric part, in whatever units.
  double by_symmetric_part() const {
    std::vector<double> largest(size_ * size_), spread(size_ * size_);
    std::ranges::transform(entries_, largest.begin(), magnitude);
    auto const scale = symmetric_scale(size_, largest);
    Matrix center(size_);
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < size_; ++j) {
        double const forth = 0.25 * scale[j] / scale[i], back = 0.25 * scale[i] / scale[j];
        auto const [least, greatest] = at(i, j);
        auto const [least_back, greatest_back] = at(j, i);
        center(i, j) = forth * (least + greatest) + back * (least_back + greatest_back);
        spread[i * size_ + j] = forth * (greatest - least) + back * (greatest_back - least_back);
      }
    return largest_real_part(center) + perron(size_, spread).radius;
  }

  std::size_t size_;
  std::vector<Range> const& entries_;
};

}  // namespace

void Linearisation::add_reactions(std::vector<Stencil::Reaction> const& reactions) {
  std::size_t const n = components_;
  std::vector<char> acts(n * n, 0);
  for (auto const& [rate, of, value] : reactions) acts[rate * n + of] = of < n;
  for (auto const& block : blocks_of(n, acts)) {
    std::size_t const size = block.size();
    if (size == 1) continue;
    ReactionBlock& found = reaction_blocks_.emplace_back(size, std::vector<int>(size * size, -1));
    for (auto const& [rate, of, value] : reactions) {
      auto const i = std::ranges::find(block, rate), j = std::ranges::find(block, of);
      if (i == block.end() || j == block.end()) continue;
      auto const at = static_cast<std::size_t>(i - block.begin()) * size +
                      static_cast<std::size_t>(j - block.begin());
      found.places[at] = place_of(value);
    }
  }
}

double Linearisation::reaction_growth(std::span<Range const> values) const {
  double growth = 0;
  for (auto const& [size, places] : reaction_blocks_) {
    std::vector<Range> entries;
    for (int const place : places) entries.push_back(place < 0 ? Range{} : range_of(values, place));
    if (!std::ranges::all_of(entries, [](Range const& one) {
          return std::isfinite(one.least) && std::isfinite(one.greatest);
        }))
      continue;
    bool const exact =
        std::ranges::all_of(entries, [](Range const& one) { return one.least == one.greatest; });
    Matrix matrix(size);
    for (std::size_t at = 0; at < entries.size(); ++at) matrix.entries[at] = entries[at].least;
    growth = std::max(growth, exact ? largest_real_part(matrix)
                                    : RealMatrix(size, entries).largest_real_part_at_most());
  }
  return growth;
}

Tolerance Linearisation::tolerance_of(Known const& known,
                                      std::vector<std::size_t> const& block) const {
  std::size_t const size = block.size();
  Known alone = known;
  alone.sides = {{}, std::vector<Bound>(components_ * components_)};
  auto const discs = fixed_part(alone, block, 0);
  std::vector<double> sizes, others;
  std::vector<Range> entries;
  for (std::size_t at = 0; at < discs.size(); ++at) {
    Disc const& one = discs[at];
    sizes.push_back(one.largest());
    others.push_back(at % (size + 1) == 0 ? 0 : sizes.back());
    entries.push_back({one.real - one.real_radius, one.real + one.real_radius});
  }
  if (!std::ranges::all_of(sizes, [](double one) { return std::isfinite(one); })) return {};
  bool const exact = is_exact(discs);
  double turning = perron(size, others).radius;
  double growth = exact ? 0 : RealMatrix(size, entries).largest_real_part_at_most();
  std::vector<Rectangle> boxes;
  find_rectangles(discs, symmetric_scale(size, sizes), boxes);
  for (Rectangle const& box : boxes) {
    turning = std::max(turning, box.turning);
    if (exact) growth = std::max(growth, box.greatest);
  }
  growth = std::max(growth, 0.0);
  return {.reaction = std::min(std::max(turning, growth), perron(size, sizes).radius),
          // Of several the bound is more than some grow by, which is not for all of them.
          .own = exact || size == 1 ? growth : 0};
}

/// A block with numbers for its coefficients.
struct Linearisation::Frozen {
  Linearisation const& of;
  std::vector<std::size_t> const& block;
  std::vector<double> values;  // of values_

  struct Found {
    double growth = 0, alike = 0, fastest = 0;
    bool shortest = false;
  };

  /// Of the wave, without what is the same at all waves and no number.
  Matrix matrix(std::size_t wave) const {
    std::size_t const size = block.size();
    Matrix found(size);
    auto const factors = of.waves_.factors(wave);
    for (Entry const& entry : of.of_rates_.entries) {
      auto const row = std::ranges::find(block, entry.row);
      auto const column = std::ranges::find(block, entry.column);
      if (row == block.end() || column == block.end()) continue;
      Complex sum = of.is_number(entry.sum) ? value(entry.sum) : 0;
      for (Pair const& pair : entry.pairs)
        sum += Complex(value(pair.even) * factors[pair.place].even,
                       value(pair.odd) * factors[pair.place].odd);
      found(static_cast<std::size_t>(row - block.begin()),
            static_cast<std::size_t>(column - block.begin())) = sum;
    }
    return found;
  }
  double value(int place) const { return values[static_cast<std::size_t>(place)]; }

  /// Of those waves.
  Found grow(std::vector<std::size_t> const& waves) const {
    std::size_t const size = block.size();
    std::vector<Matrix> matrices;
    std::vector<double> largest(size * size, 0);
    for (std::size_t const wave : waves) {
      matrices.push_back(matrix(wave));
      for (std::size_t at = 0; at < largest.size(); ++at)
        largest[at] = std::max(largest[at], std::abs(matrices.back().entries[at]));
    }
    Found found;
    for (double const one : largest)
      if (!std::isfinite(one)) return found;
    auto const scale = symmetric_scale(size, largest);
    for (std::size_t i = 0; i < waves.size(); ++i) {
      for (std::size_t at = 0; at < largest.size(); ++at)
        matrices[i].entries[at] *= scale[at % size] / scale[at / size];
      auto const& place = of.waves_.place(waves[i]);
      double most = 0;
      for (Complex const& one : eigenvalues(matrices[i])) {
        most = std::max(most, one.real());
        found.fastest = std::max(found.fastest, std::abs(one));
      }
      if (place == std::array<double, 3>{0, 0, 0}) found.alike = most;
      if (!(most > found.growth)) continue;
      found.growth = most;
      found.shortest = std::ranges::any_of(
          place, [](double theta) { return std::abs(theta) > 0.999 * std::numbers::pi; });
    }
    // Beside what turns far faster a growth may be rounding alone.
    if (found.growth <= (1 + 1e-6) * found.alike || found.growth < 1e-3 * found.fastest)
      found.growth = 0;
    return found;
  }
};

/// All of few components; else those that differ by no, a quarter or half a turn from point to point.
std::vector<std::size_t> Linearisation::waves_for_growth(std::size_t components) const {
  std::vector<std::size_t> all;
  for (std::size_t wave = 0; wave < waves_.size(); ++wave)
    if (components < 3 || std::ranges::all_of(waves_.place(wave), [](double theta) {
          double const quarters = theta / (0.5 * std::numbers::pi);
          return std::abs(quarters - std::round(quarters)) < 1e-9;
        }))
      all.push_back(wave);
  return all;
}

auto Linearisation::wave_growths(std::span<Range const> ranges) const -> std::vector<WaveGrowth> {
  return growths_of_blocks(ranges, false);
}

auto Linearisation::constant_wave_growths() const -> std::vector<WaveGrowth> {
  std::vector<Range> const any(coefficients_.size(), Range{-1, 1});
  return growths_of_blocks(any, true);
}

auto Linearisation::growths_of_blocks(std::span<Range const> ranges, bool constant) const
    -> std::vector<WaveGrowth> {
  Known all = known(ranges, {});
  for (Bound& bound : all.coupled) bound = {};
  all.sides = {{}, std::vector<Bound>(components_ * components_)};
  std::vector<WaveGrowth> growths;
  for (auto const& block : blocks_of(components_, actions(all).acts)) {
    auto const is_carried = [&](std::size_t c) {
      return std::ranges::count(carried_, c, &Carried::component) > 0;
    };
    auto const open = open_places(block);
    if (open.empty() != constant || std::ranges::any_of(block, is_carried)) continue;
    growths.push_back(wave_growth(all.values, block, open));
  }
  return growths;
}

/// Of coefficients of differences that are no numbers.
std::vector<std::size_t> Linearisation::open_places(std::vector<std::size_t> const& block) const {
  std::vector<std::size_t> open;
  for (Entry const& entry : of_rates_.entries) {
    if (!std::ranges::count(block, entry.row) || !std::ranges::count(block, entry.column)) continue;
    for (Pair const& pair : entry.pairs)
      for (int const place : {pair.even, pair.odd})
        if (auto const at = static_cast<std::size_t>(place);
            !is_number(place) && !std::ranges::count(open, at))
          open.push_back(at);
  }
  return open;
}

auto Linearisation::wave_growth(std::span<Range const> ranges,
                                std::vector<std::size_t> const& block,
                                std::vector<std::size_t> const& open) const -> WaveGrowth {
  auto const waves = waves_for_growth(block.size());
  Frozen frozen = {*this, block, {}};
  for (Range const& range : ranges) frozen.values.push_back(0.5 * (range.least + range.greatest));
  auto const middle = frozen.grow(waves);
  bool const is_linear = std::ranges::all_of(of_rates_.entries, [&](Entry const& entry) {
    return !std::ranges::count(block, entry.row) || is_number(entry.sum);
  });
  WaveGrowth result = {block, open.empty(), open.empty() && is_linear, middle.growth,
                       middle.shortest};
  // All corners of few coefficients, of many some.
  std::size_t const corners =
      open.empty() ? 0 : std::size_t{1} << std::min<std::size_t>(open.size(), 6);
  for (std::size_t corner = 0; corner < corners && result.growth > 0 && result.shortest; ++corner) {
    for (std::size_t i = 0; i < open.size(); ++i) {
      std::size_t const mixed = i < 6 ? corner : corner * (2 * i + 1);
      bool const high = (mixed >> (i % 6)) % 2 == 1;
      frozen.values[open[i]] = high ? ranges[open[i]].greatest : ranges[open[i]].least;
    }
    auto const found = frozen.grow(waves);
    result.growth = std::min(result.growth, found.growth);
    result.shortest = result.shortest && found.shortest;
  }
  return result;
}

}  // namespace gridstride::equations
