// Integrals to a tolerance on the host, by the same rules and decisions as on a GPU.
//
// `reference` takes one integral after the other on one thread: the oracle. `threads` gives each
// thread its integrals; where there are fewer integrals than threads, Gauss–Kronrod shares the new
// intervals of a generation. Both evaluate the integrand at blocks of points, of several intervals
// or of a part of a level, and give the same bits whatever the number of threads.

#include <algorithm>
#include <vector>

#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/adaptive/intervals.hpp"
#include "kernels/adaptive/rows.hpp"
#include "kernels/integrand/sample_block.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::quadrature {
namespace {

/// Some intervals of one integral, as many as a block holds.
template <class T, int points>
void evaluate_intervals(HostIntegrand const& integrand, double const* parameters,
                        std::span<Leaf> leaves, std::span<int const> fresh) {
  SampleBlock<T> block;
  for (int const place : fresh) {
    Leaf const& leaf = leaves[static_cast<std::size_t>(place)];
    for (int k = 0; k < kronrod_samples<points>; ++k)
      block.add(kronrod_place<points>(leaf.lower, leaf.upper, k));
  }
  block.evaluate(integrand, parameters);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    Leaf& leaf = leaves[static_cast<std::size_t>(fresh[i])];
    auto const estimate = kronrod_estimate<points>(block.values() + i * kronrod_samples<points>,
                                                   leaf.lower, leaf.upper);
    leaf = evaluated(leaf, estimate, rounding_of<T>());
  }
}

/// The leaves of one integral, and those of them that are to be evaluated.
struct LeafList {
  std::vector<Leaf> leaves;
  std::vector<int> fresh;

  void add_fresh(Leaf const& leaf) {
    fresh.push_back(static_cast<int>(leaves.size()));
    leaves.push_back(leaf);
  }
};

LeafList expanded(LeafList const& list, Decision const& decision) {
  LeafList next;
  next.leaves.reserve(2 * list.leaves.size());
  for (Leaf const& leaf : list.leaves) {
    if (is_halved(leaf, decision))
      for (int const side : {0, 1}) next.add_fresh(half_of(leaf, side));
    else
      next.leaves.push_back(leaf);
  }
  return next;
}

/// One integral. With `shared`, the host's threads share the intervals of a generation.
template <class T, int points>
IntegralResult refine(HostIntegrand const& integrand, Interval interval, double const* parameters,
                      GaussKronrodOptions const& options, bool shared, LeafList& list) {
  for (int i = 0; i < options.initial_intervals; ++i) {
    Panel const part = panel_of(interval.lower, interval.upper, i, options.initial_intervals);
    list.add_fresh({part.lower, part.upper, 0, 0, 0, Leaf::fresh});
  }
  while (true) {
    constexpr std::int64_t together = SampleBlock<T>::size / kronrod_samples<points>;
    auto const count = std::ssize(list.fresh);
    auto const evaluate_some = [&](std::int64_t i) {
      auto const first = i * together;
      evaluate_intervals<T, points>(
          integrand, parameters, list.leaves,
          std::span(list.fresh)
              .subspan(static_cast<std::size_t>(first),
                       static_cast<std::size_t>(std::min(together, count - first))));
    };
    std::int64_t const blocks = (count + together - 1) / together;
    parallel_for(blocks, shared ? 16 * SampleBlock<T>::size : 0, evaluate_some);
    LeafTotals totals;
    for (Leaf const& leaf : list.leaves) totals.add(leaf);
    Decision const decision = decide(totals, options.tolerance, options.max_intervals);
    if (decision.verdict != Verdict::go_on)
      return result_of(totals, decision, options.initial_intervals, kronrod_samples<points>);
    list = expanded(list, decision);
  }
}

template <class T>
IntegralResult refine(HostIntegrand const& integrand, Interval interval, double const* parameters,
                      GaussKronrodOptions const& options, bool shared, LeafList& list) {
  return options.points == 15
             ? refine<T, 15>(integrand, interval, parameters, options, shared, list)
             : refine<T, 21>(integrand, interval, parameters, options, shared, list);
}

/// One integral by `tanh_sinh`. `bad_sample`, which may be null, becomes the first sample that is
/// no number.
template <class T>
IntegralResult take_levels(HostIntegrand const& integrand, DoubleExponential const& map,
                           double const* parameters, TanhSinhOptions const& options,
                           double* bad_sample) {
  DoubleExponentialSums sums;
  DoubleExponentialHistory history;
  HalfwayPlaces const halfway = halfway_places<T>(map);
  for (int level = DoubleExponentialLevel::start;; ++level) {
    DoubleExponentialLevel const nodes = level_of<T>(map, level);
    constexpr int together = SampleBlock<T>::size;
    for (std::int64_t first = 0; first < nodes.count; first += together) {
      SampleBlock<T> block;
      double t[together], weights[together];
      for (std::int64_t i = first; i < std::min<std::int64_t>(first + together, nodes.count); ++i) {
        DoubleExponentialNode const node = node_at(map, nodes.t(i));
        if (!is_inside(map, static_cast<T>(node.x))) continue;
        t[block.count()] = nodes.t(i);
        weights[block.count()] = node.weight;
        block.add(node.x);
      }
      block.evaluate(integrand, parameters);
      for (int i = 0; i < block.count(); ++i) {
        double const value = block.values()[i];
        if (bad_sample != nullptr && sums.non_finite == 0 && !is_finite(value * weights[i]))
          *bad_sample = block.x(i);
        sums.add(t[i], weights[i], value, halfway);
      }
    }
    IntegralResult const result = take_level<T>(history, sums, map, nodes.step, options.tolerance,
                                                level == options.max_level);
    if (result.verdict != Verdict::go_on) return result;
  }
}

Estimate estimate_of(IntegralResult const& result) {
  return {result.value, result.error, result.evaluations, static_cast<Outcome>(result.verdict),
          result.rounding};
}

/// results_i = integrate(parameters of integral i), by one thread or all.
template <class Integrate>
void for_each_integral(SweepArguments const& arguments, bool by_threads,
                       Integrate const& integrate) {
  auto const count = static_cast<std::int64_t>(arguments.integrals);
  auto const one = [&](std::int64_t i) {
    arguments.results[i] =
        estimate_of(integrate(arguments.parameters + i * arguments.integrand.parameters));
  };
  parallel_for(count, by_threads ? 8192 : 0, one);
}

template <class T>
void gauss_kronrod_on_host(SweepArguments const& arguments, GaussKronrodOptions const& options,
                           bool by_threads) {
  HostIntegrand const integrand(arguments.integrand);
  bool const few = arguments.integrals < static_cast<std::size_t>(host_threads());
  for_each_integral(arguments, by_threads && !few, [&](double const* parameters) {
    LeafList list;
    return refine<T>(integrand, arguments.interval, parameters, options, by_threads && few, list);
  });
}

template <class T>
void tanh_sinh_on_host(SweepArguments const& arguments, TanhSinhOptions const& options,
                       bool by_threads) {
  HostIntegrand const integrand(arguments.integrand);
  DoubleExponential const map = substitution_of(arguments.interval);
  for_each_integral(arguments, by_threads, [&](double const* parameters) {
    return take_levels<T>(integrand, map, parameters, options, nullptr);
  });
}

}  // namespace

template <class T>
void host_gauss_kronrod_reference(Stream&, SweepArguments const& arguments,
                                  GaussKronrodOptions const& options) {
  gauss_kronrod_on_host<T>(arguments, options, false);
}

template <class T>
void host_gauss_kronrod_threads(Stream&, SweepArguments const& arguments,
                                GaussKronrodOptions const& options) {
  gauss_kronrod_on_host<T>(arguments, options, true);
}

template <class T>
void host_tanh_sinh_reference(Stream&, SweepArguments const& arguments,
                              TanhSinhOptions const& options) {
  tanh_sinh_on_host<T>(arguments, options, false);
}

template <class T>
void host_tanh_sinh_threads(Stream&, SweepArguments const& arguments,
                            TanhSinhOptions const& options) {
  tanh_sinh_on_host<T>(arguments, options, true);
}

IntegralResult host_integral(HostIntegrand const& integrand, Interval interval,
                             double const* parameters, GaussKronrodOptions const& options,
                             double* bad_sample) {
  LeafList list;
  auto const result = refine<double>(integrand, interval, parameters, options, false, list);
  if (result.verdict != Verdict::non_finite) return result;
  auto const leaf = std::ranges::find_if(
      list.leaves, [](Leaf const& candidate) { return !is_finite(candidate.value); });
  *bad_sample = 0.5 * leaf->lower + 0.5 * leaf->upper;
  for (int k = options.points; k >= 1; --k) {
    double const x = options.points == 15 ? kronrod_place<15>(leaf->lower, leaf->upper, k)
                                          : kronrod_place<21>(leaf->lower, leaf->upper, k);
    if (!is_finite(integrand(&x, parameters))) *bad_sample = x;
  }
  return result;
}

IntegralResult host_integral(HostIntegrand const& integrand, Interval interval,
                             double const* parameters, TanhSinhOptions const& options,
                             double* bad_sample) {
  return take_levels<double>(integrand, substitution_of(interval), parameters, options, bad_sample);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                               \
  template void host_gauss_kronrod_reference<T>(Stream&, SweepArguments const&, \
                                                GaussKronrodOptions const&);    \
  template void host_gauss_kronrod_threads<T>(Stream&, SweepArguments const&,   \
                                              GaussKronrodOptions const&);      \
  template void host_tanh_sinh_reference<T>(Stream&, SweepArguments const&,     \
                                            TanhSinhOptions const&);            \
  template void host_tanh_sinh_threads<T>(Stream&, SweepArguments const&, TanhSinhOptions const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature
