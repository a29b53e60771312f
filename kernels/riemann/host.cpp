// Composite rules on the host.
//
// `reference` takes one sample after the other: the oracle.
// `threads` cuts the samples of every integral into pieces of 65,536, which threads share. A piece
// is worked in blocks of 256 samples: their coordinates and weights, their values operation by
// operation over the whole block, and their sums in eight plain accumulators of 32 samples, whose
// totals are added with their rounding error. The pieces are added in their order, so that the bits
// do not depend on the number of threads.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/integrand/sample_block.hpp"
#include "kernels/riemann/rows.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::quadrature {

namespace {

template <class T>
Samples samples_of(RuleArguments const& a) {
  return samples_of(a.pattern, a.rule, a.interval.lower, a.interval.upper,
                    std::numeric_limits<T>::epsilon());
}

double const* row_of(RuleArguments const& a, std::size_t integral) {
  return a.parameters + integral * static_cast<std::size_t>(a.integrand.parameters);
}

/// Coordinates, parameters and value rounded to T.
template <class T>
double value_at(HostIntegrand const& integrand, double x, double const* parameters) {
  double rounded[max_parameters];
  std::transform(parameters, parameters + integrand.parameters(), rounded,
                 [](double p) { return static_cast<T>(p); });
  double const v = static_cast<T>(x);
  return static_cast<T>(integrand(&v, rounded));
}

/// From the sums of all samples.
template <class T>
Estimate estimate_of(Samples const& s, HostIntegrand const& integrand, double const* parameters,
                     Sums const& sums) {
  double const f_lower = s.closed() ? value_at<T>(integrand, s.lower, parameters) : 0;
  double const f_upper = s.closed() ? value_at<T>(integrand, s.upper, parameters) : 0;
  RuleValue const result = rule_value(s, sums, f_lower, f_upper);
  return {result.value, result.error, s.evaluations,
          result.finite ? Outcome::reached : Outcome::non_finite, result.rounding};
}

constexpr std::int64_t piece_samples = 1 << 16;
constexpr int lanes = 8;

/// The sums of one block. Samples beyond `count` have the weight and the value 0.
template <class T, int size>
GRIDSTRIDE_VECTOR_WIDTHS void add_block(Sums& sums, T const* values, double const* fine,
                                        double const* coarse) {
  double of_fine[lanes] = {}, of_coarse[lanes] = {}, magnitude[lanes] = {};
  for (int i = 0; i < size; i += lanes)
    for (int lane = 0; lane < lanes; ++lane) {
      double const f = values[i + lane];
      of_fine[lane] += fine[i + lane] * f;
      of_coarse[lane] += coarse[i + lane] * f;
      magnitude[lane] += fine[i + lane] * std::abs(f);
    }
  for (int lane = 0; lane < lanes; ++lane)
    sums.add({{of_fine[lane], 0}, {of_coarse[lane], 0}, magnitude[lane]});
}

/// The sums of the samples from number `first` to `last`.
template <class T>
Sums sums_of_piece(Samples const& s, HostIntegrand const& integrand, double const* parameters,
                   std::int64_t first, std::int64_t last) {
  constexpr int size = SampleBlock<T>::size;
  Sums sums;
  while (first < last) {
    int const count = static_cast<int>(std::min<std::int64_t>(size, last - first));
    SampleBlock<T> block;
    double fine[size] = {}, coarse[size] = {};
    std::int64_t cell = first / s.nodes;
    int node = static_cast<int>(first % s.nodes);
    for (int i = 0; i < count; ++i) {
      block.add(s.at(static_cast<double>(cell), s.offsets[node]));
      fine[i] = s.fine[node];
      coarse[i] = s.coarse[node];
      if (++node < s.nodes) continue;
      node = 0;
      ++cell;
    }
    block.evaluate(integrand, parameters);
    T values[size] = {};
    std::copy_n(block.values(), count, values);
    add_block<T, size>(sums, values, fine, coarse);
    first += count;
  }
  return sums;
}

}  // namespace

template <class T>
void host_rule_reference(Stream&, RuleArguments const& a) {
  Samples const s = samples_of<T>(a);
  HostIntegrand const integrand(a.integrand);
  for (std::size_t integral = 0; integral < a.integrals; ++integral) {
    double const* const parameters = row_of(a, integral);
    Sums sums;
    for (std::int64_t cell = 0; cell < s.cells; ++cell)
      for (int node = 0; node < s.nodes; ++node) {
        double const x = s.at(static_cast<double>(cell), s.offsets[node]);
        sums.add(value_at<T>(integrand, x, parameters), s.fine[node], s.coarse[node]);
      }
    a.results[integral] = estimate_of<T>(s, integrand, parameters, sums);
  }
}

template <class T>
void host_rule_threads(Stream&, RuleArguments const& a) {
  Samples const s = samples_of<T>(a);
  HostIntegrand const integrand(a.integrand);
  std::int64_t const pieces = (s.count() + piece_samples - 1) / piece_samples;
  auto const integrals = static_cast<std::int64_t>(a.integrals);
  std::vector<Sums> partials(static_cast<std::size_t>(pieces * integrals));
  std::int64_t const work = 16 * std::min<std::int64_t>(piece_samples, s.count());
  parallel_for(pieces * integrals, work, [&](std::int64_t i) {
    std::int64_t const first = i % pieces * piece_samples;
    partials[static_cast<std::size_t>(i)] =
        sums_of_piece<T>(s, integrand, row_of(a, static_cast<std::size_t>(i / pieces)), first,
                         std::min(first + piece_samples, static_cast<std::int64_t>(s.count())));
  });
  for (std::size_t integral = 0; integral < a.integrals; ++integral) {
    Sums sums;
    for (std::size_t i = 0; i < static_cast<std::size_t>(pieces); ++i)
      sums.add(partials[integral * static_cast<std::size_t>(pieces) + i]);
    a.results[integral] = estimate_of<T>(s, integrand, row_of(a, integral), sums);
  }
}

template <class T>
std::optional<double> host_non_finite_sample(RuleArguments const& a) {
  Samples const s = samples_of<T>(a);
  HostIntegrand const integrand(a.integrand);
  auto const finite = [&](double x) {
    return std::isfinite(value_at<T>(integrand, x, a.parameters));
  };
  for (std::int64_t cell = 0; cell < s.cells; ++cell)
    for (int node = 0; node < s.nodes; ++node) {
      double const x = s.at(static_cast<double>(cell), s.offsets[node]);
      if (!finite(x)) return x;
    }
  if (s.closed() && !finite(s.upper)) return s.upper;
  return std::nullopt;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                      \
  template void host_rule_reference<T>(Stream&, RuleArguments const&); \
  template void host_rule_threads<T>(Stream&, RuleArguments const&);   \
  template std::optional<double> host_non_finite_sample<T>(RuleArguments const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature
