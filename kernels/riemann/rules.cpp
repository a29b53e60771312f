#include "kernels/riemann/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace gridstride::quadrature {
namespace {

/// The samples of a closed rule on equal steps: the weights of one panel, which add to 1, twice in
/// a cell of two panels, and once on the whole cell.
Pattern closed_pattern(std::vector<double> const& weights, int order) {
  Pattern p;
  std::size_t const steps = weights.size() - 1;
  p.panels = 2;
  p.offsets.resize(2 * steps);
  p.fine.resize(2 * steps);
  p.coarse.resize(2 * steps);
  for (std::size_t i = 0; i < 2 * steps; ++i) {
    std::size_t const k = i % steps, c = i / 2;
    p.offsets[i] = static_cast<double>(i) / static_cast<double>(2 * steps);
    p.fine[i] = (k == 0 ? 2 * weights[0] : weights[k]) / 2;
    p.coarse[i] = i % 2 != 0 ? 0 : c == 0 ? 2 * weights[0] : weights[c];
  }
  p.end_fine = weights[0] / 2;
  p.end_coarse = weights[0];
  p.error_factor = 2 / (std::exp2(order) - 1);
  return p;
}

Pattern midpoint_pattern() {
  Pattern p;
  p.panels = 4;
  p.offsets = {1.0 / 8, 3.0 / 8, 5.0 / 8, 7.0 / 8};
  p.fine = {1.0 / 4, 1.0 / 4, 1.0 / 4, 1.0 / 4};
  p.coarse = {13.0 / 48, 11.0 / 48, 11.0 / 48, 13.0 / 48};
  p.error_factor = 2;
  return p;
}

/// Two panels with a sample at one end each, of which the coarse rule takes one.
Pattern one_sided_pattern(bool right) {
  Pattern p;
  p.panels = 2;
  p.offsets = right ? std::vector{0.5, 1.0} : std::vector{0.0, 0.5};
  p.fine = {0.5, 0.5};
  p.coarse = right ? std::vector{0.0, 1.0} : std::vector{1.0, 0.0};
  p.error_factor = 2;
  return p;
}

/// The nodes of both panels and of the whole cell.
Pattern gauss_pattern(int points) {
  struct Node {
    double offset, fine, coarse;
  };
  Nodes const gauss = gauss_legendre(points);
  std::vector<Node> nodes;
  for (std::size_t k = 0; k < gauss.positions.size(); ++k) {
    double const at = (1 + gauss.positions[k]) / 2, weight = gauss.weights[k] / 2;
    nodes.push_back({at / 2, weight / 2, 0});
    nodes.push_back({(1 + at) / 2, weight / 2, 0});
    nodes.push_back({at, 0, weight});
  }
  std::ranges::sort(nodes, {}, &Node::offset);
  Pattern p;
  p.panels = 2;
  for (Node const& node : nodes) {
    p.offsets.push_back(node.offset);
    p.fine.push_back(node.fine);
    p.coarse.push_back(node.coarse);
  }
  p.error_factor = 2 / (std::exp2(std::min(2 * points, 6)) - 1);
  return p;
}

Pattern clenshaw_curtis_pattern(int points) {
  int const n = points - 1;
  std::vector<double> const fine = clenshaw_curtis_weights(n);
  // With a single step the coarse rule is the trapezoid's.
  std::vector<double> const coarse =
      n > 2 ? clenshaw_curtis_weights(n / 2) : std::vector<double>{1, 1};
  Pattern p;
  for (int k = 0; k < n; ++k) {
    auto const i = static_cast<std::size_t>(k);
    double const half_angle = std::numbers::pi * k / (2.0 * n);
    p.offsets.push_back(std::sin(half_angle) * std::sin(half_angle));  // (1 − cos)/2
    p.fine.push_back((k == 0 ? 2 : 1) * fine[i] / 2);
    p.coarse.push_back(k % 2 != 0 ? 0 : (k == 0 ? 2 : 1) * coarse[i / 2] / 2);
  }
  p.end_fine = fine[0] / 2;
  p.end_coarse = coarse[0] / 2;
  p.error_factor = 1;
  return p;
}

/// Σ_j values[j]·roots[jk] in the place of values[k], in steps of radix 2 (J. W. Cooley and
/// J. W. Tukey).
void transform(std::vector<std::complex<double>>& values,
               std::vector<std::complex<double>> const& roots) {
  std::size_t const size = values.size();
  for (std::size_t i = 1, mirrored = 0; i < size; ++i) {
    std::size_t bit = size / 2;
    for (; (mirrored & bit) != 0; bit /= 2) mirrored ^= bit;
    mirrored ^= bit;
    if (i < mirrored) std::swap(values[i], values[mirrored]);
  }
  for (std::size_t half = 1; half < size; half *= 2)
    for (std::size_t first = 0; first < size; first += 2 * half)
      for (std::size_t k = first; k < first + half; ++k) {
        auto const root = roots[(k - first) * (size / (2 * half))], value = values[k + half];
        // Not root·value, which looks for infinities.
        std::complex<double> const turned(root.real() * value.real() - root.imag() * value.imag(),
                                          root.real() * value.imag() + root.imag() * value.real());
        values[k + half] = values[k] - turned;
        values[k] += turned;
      }
}

[[noreturn]] void refuse(std::string const& what) {
  throw std::invalid_argument("riemann: " + what);
}

void check(FixedRule const& rule) {
  auto const [kind, panels, points, jumps_at_ends] = rule;
  int const unit = panel_unit(kind);
  if (panels < 1 || panels % unit != 0)
    refuse(fmt::format("{} on {} panels (a positive multiple of {})", name_of(kind), panels, unit));
  bool const gauss = kind == Rule::gauss_legendre, curtis = kind == Rule::clenshaw_curtis;
  if (gauss && (points < 2 || points > max_gauss_points))
    refuse(fmt::format("gauss_legendre with {} points in a panel (2 to {})", points,
                       max_gauss_points));
  if (curtis && (points < 3 || points > max_clenshaw_curtis_points ||
                 !std::has_single_bit(static_cast<unsigned>(points) - 1)))
    refuse(fmt::format("clenshaw_curtis with {} points in a panel (2^k + 1, from 3 to {})", points,
                       max_clenshaw_curtis_points));
  if (!gauss && !curtis && points != 0)
    refuse(fmt::format("{} points in a panel of {}, which has no choice of points", points,
                       name_of(kind)));
}

}  // namespace

std::optional<Rule> rule_named(std::string_view name) {
  auto const* const found = std::ranges::find(rule_names, name);
  if (found == rule_names.end()) return std::nullopt;
  return static_cast<Rule>(found - rule_names.begin());
}

int order_of(FixedRule const& rule) {
  switch (rule.rule) {
    case Rule::left:
    case Rule::right:
      return 1;
    case Rule::midpoint:
    case Rule::trapezoid:
      return 2;
    case Rule::simpson:
      return 4;
    case Rule::boole:
      return 6;
    case Rule::gauss_legendre:
      return 2 * rule.points;
    case Rule::clenshaw_curtis:
      break;
  }
  return rule.points + 1;  // it is symmetric and so exact for the odd degree `points` too
}

Nodes gauss_legendre(int count) {
  auto const size = static_cast<std::size_t>(count);
  Nodes nodes{std::vector<double>(size), std::vector<double>(size)};
  for (int i = 0; i < (count + 1) / 2; ++i) {
    // F. Tricomi's approximation of the i-th largest zero.
    long double const n = count;
    long double x = (1 - (n - 1) / (8 * n * n * n)) *
                    std::cos(std::numbers::pi_v<long double> * (4 * i + 3) / (4 * n + 2));
    long double derivative = 1, step = 1;
    for (int round = 0; round < 20 && std::abs(step) > 1e-18L; ++round) {
      long double p = 1, below = 0;
      for (int k = 1; k <= count; ++k)
        below = std::exchange(p, ((2 * k - 1) * x * p - (k - 1) * below) / k);
      derivative = n * (below - x * p) / (1 - x * x);
      step = p / derivative;
      x -= step;
    }
    if (2 * i + 1 == count) x = 0;
    auto const low = static_cast<std::size_t>(i), high = size - 1 - low;
    nodes.positions[low] = static_cast<double>(-x);
    nodes.positions[high] = static_cast<double>(x);
    nodes.weights[low] = nodes.weights[high] =
        static_cast<double>(2 / ((1 - x * x) * derivative * derivative));
  }
  return nodes;
}

std::vector<double> clenshaw_curtis_weights(int n) {
  auto const size = static_cast<std::size_t>(n);
  std::vector<std::complex<double>> values(size), roots(size);
  for (int j = 0; j < n; ++j) {
    double const frequency = 2.0 * std::min(j, n - j);
    values[static_cast<std::size_t>(j)] = -1 / (frequency * frequency - 1);
    roots[static_cast<std::size_t>(j)] = std::polar(1.0, 2 * std::numbers::pi * j / n);
  }
  transform(values, roots);
  std::vector<double> weights(size + 1);
  for (std::size_t k = 0; k <= size; ++k)
    weights[k] = (k == 0 || k == size ? 1 : 2) * values[k % size].real() / n;
  return weights;
}

Pattern pattern_of(FixedRule const& rule) {
  check(rule);
  Pattern pattern = [&] {
    switch (rule.rule) {
      case Rule::left:
      case Rule::right:
        return one_sided_pattern(rule.rule == Rule::right);
      case Rule::midpoint:
        return midpoint_pattern();
      case Rule::trapezoid:
        return closed_pattern({1.0 / 2, 1.0 / 2}, 2);
      case Rule::simpson:
        return closed_pattern({1.0 / 6, 4.0 / 6, 1.0 / 6}, 4);
      case Rule::boole:
        return closed_pattern({7.0 / 90, 32.0 / 90, 12.0 / 90, 32.0 / 90, 7.0 / 90}, 6);
      case Rule::gauss_legendre:
        return gauss_pattern(rule.points);
      case Rule::clenshaw_curtis:
        break;
    }
    return clenshaw_curtis_pattern(rule.points);
  }();
  bool const closed = pattern.end_fine != 0 || pattern.end_coarse != 0;
  if (rule.jumps_at_ends && closed) pattern.error_factor = 2;
  std::int64_t const cells = rule.panels / pattern.panels;
  if (cells > max_samples / std::ssize(pattern.offsets))
    refuse(fmt::format("{} cells of {} samples are too many (2^50 samples)", cells,
                       pattern.offsets.size()));
  return pattern;
}

Samples samples_of(Pattern const& pattern, FixedRule const& rule, double lower, double upper,
                   double epsilon) {
  std::int64_t const cells = rule.panels / pattern.panels;
  Samples samples{};
  samples.lower = lower;
  samples.upper = upper;
  samples.width = (upper - lower) / static_cast<double>(cells);
  samples.cells = cells;
  samples.nodes = static_cast<int>(pattern.offsets.size());
  samples.offsets = pattern.offsets.data();
  samples.fine = pattern.fine.data();
  samples.coarse = pattern.coarse.data();
  samples.end_fine = pattern.end_fine;
  samples.end_coarse = pattern.end_coarse;
  samples.error_factor = pattern.error_factor;
  samples.rounding = 8 * epsilon;
  samples.evaluations = samples.count() + (samples.closed() ? 1 : 0);
  return samples;
}

}  // namespace gridstride::quadrature
