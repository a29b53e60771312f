#pragma once

#include "kernels/integrand/integral_result.hpp"

/// The Gauss–Kronrod rules with 15 and 21 points, and their estimate of the error. Once for host
/// and device.
namespace gridstride::quadrature {

/// The rule with `points` nodes on [−1, 1], symmetric about 0, exact for polynomials of degree
/// 3·⌊points/2⌋ + 1 (22 and 31); every second node belongs to the Gauss rule with ⌊points/2⌋ nodes
/// (A. S. Kronrod, "Nodes and weights of quadrature formulas", 1965). The numbers were computed
/// with 60 digits: the new nodes are the zeros of the Stieltjes polynomial, the weights make the
/// rule exact for the powers.
///
/// Two more samples stand watch in the gaps between the outermost nodes and the ends, which no node
/// sees into: one 64th of the gap from each end. They have no weight; the polynomial through the
/// nodes has to meet them.
template <int points>
struct GaussKronrod;

template <>
struct GaussKronrod<15> {
  /// The watch, then the nodes from the outermost to 0.
  GRIDSTRIDE_HOST_DEVICE static double outer_place(int i) {
    static constexpr double places[9] = {
        0.99986649017376269749, 0.99145537112081263921, 0.94910791234275852453,
        0.86486442335976907279, 0.74153118559939443986, 0.58608723546769113029,
        0.40584515137739716691, 0.20778495500789846760, 0};
    return places[i];
  }
  /// From the outermost node to the end.
  static constexpr double gap = 0.0085446288791873607931;
  /// Weights of the nodes from the outermost to 0.
  GRIDSTRIDE_HOST_DEVICE static constexpr double weight(int i) {
    constexpr double weights[8] = {0.022935322010529224964, 0.063092092629978553291,
                                   0.10479001032225018384,  0.14065325971552591875,
                                   0.16900472663926790283,  0.19035057806478540991,
                                   0.20443294007529889241,  0.20948214108472782801};
    return weights[i];
  }
  /// Weight of node 2·i + 1 in the Gauss rule.
  GRIDSTRIDE_HOST_DEVICE static constexpr double gauss_weight(int i) {
    constexpr double weights[4] = {0.12948496616886969327, 0.27970539148927666790,
                                   0.38183005050511894495, 0.41795918367346938776};
    return weights[i];
  }
  /// What node i, from the nearest, contributes to the polynomial at the watch.
  GRIDSTRIDE_HOST_DEVICE static constexpr double extrapolation(int i) {
    constexpr double factors[15] = {
        1.4459294298216983580,    -0.69359835695427693477,  0.41160012801285024593,
        -0.28542362989383572885,  0.21658390177097533220,   -0.17092918087172080947,
        0.13686015285452029017,   -0.11056362249833249801,  0.089764642280319978820,
        -0.072230732007557607587, 0.056507276351887491577,  -0.042342424930944314989,
        0.029798866731577853001,  -0.018063893573698099231, 0.0061074429065364432312};
    return factors[i];
  }
};

template <>
struct GaussKronrod<21> {
  GRIDSTRIDE_HOST_DEVICE static double outer_place(int i) {
    static constexpr double places[12] = {
        0.99993214317227825126, 0.99565716302580808074, 0.97390652851717172008,
        0.93015749135570822600, 0.86506336668898451073, 0.78081772658641689706,
        0.67940956829902440623, 0.56275713466860468334, 0.43339539412924719080,
        0.29439286270146019813, 0.14887433898163121088, 0};
    return places[i];
  }
  static constexpr double gap = 0.0043428369741919192645;
  GRIDSTRIDE_HOST_DEVICE static constexpr double weight(int i) {
    constexpr double weights[11] = {
        0.011694638867371874278, 0.032558162307964727479, 0.054755896574351996031,
        0.075039674810919952767, 0.093125454583697605535, 0.10938715880229764190,
        0.12349197626206585108,  0.13470921731147332593,  0.14277593857706008080,
        0.14773910490133849137,  0.14944555400291690566};
    return weights[i];
  }
  GRIDSTRIDE_HOST_DEVICE static constexpr double gauss_weight(int i) {
    constexpr double weights[5] = {0.066671344308688137594, 0.14945134915058059315,
                                   0.21908636251598204400, 0.26926671930999635509,
                                   0.29552422471475287017};
    return weights[i];
  }
  GRIDSTRIDE_HOST_DEVICE static constexpr double extrapolation(int i) {
    constexpr double factors[21] = {
        1.4438947971943772213,    -0.69183746167392935359,   0.41420568461247701294,
        -0.29121416615596667934,  0.22432635066707101734,    -0.18064572591074231876,
        0.14909608919089664396,   -0.12536106364767601616,   0.10681116804133429215,
        -0.091654646740137785955, 0.078885159607122530520,   -0.067899514505072867575,
        0.058222992141961258052,  -0.049550188360464206068,  0.041710841038055435919,
        -0.034478410685119599472, 0.027602493918986629874,   -0.021059406350516928948,
        0.014973945721099893394,  -0.0091220703291224086838, 0.0030931322253662290789};
    return factors[i];
  }
};

/// Samples of an interval: the nodes and the watches.
template <int points>
constexpr int kronrod_samples = points + 2;

/// Where sample i is, in ascending order: the first and the last are the watches.
template <int points>
GRIDSTRIDE_HOST_DEVICE inline double kronrod_place(double lower, double upper, int i) {
  double const place = i <= points / 2 + 1 ? -GaussKronrod<points>::outer_place(i)
                                           : GaussKronrod<points>::outer_place(points + 1 - i);
  return (0.5 * lower + 0.5 * upper) + (0.5 * upper - 0.5 * lower) * place;
}

/// One of many equal parts of an interval.
struct Panel {
  double lower, upper;
};
GRIDSTRIDE_HOST_DEVICE inline Panel panel_of(double lower, double upper, long long index,
                                             long long count) {
  double const step = (upper - lower) / static_cast<double>(count);
  return {index == 0 ? lower : lower + step * static_cast<double>(index),
          index + 1 == count ? upper : lower + step * static_cast<double>(index + 1)};
}

/// What the samples of one interval say about the integral over it.
struct IntervalEstimate {
  double value = 0;
  double error = 0;          ///< estimate of |value − integral|
  bool at_rounding = false;  ///< the error is that of rounding: halving does not reduce it
  bool is_blind = false;     ///< K and G differ as for no smooth integrand
  double amount = 0;         ///< where they do: see `log_amount`
};

/// The logarithm to base 2 of a number above 0, straight between powers of 2: at most 0.09 off.
GRIDSTRIDE_HOST_DEVICE inline double rough_log2(double number) {
  int exponent = 0;
  double const part = ::frexp(number, &exponent);
  return exponent + 2 * part - 2;
}

/// log2 of what there is of |f| in an interval of the given width, by the mean of its logarithm, which
/// beside a singularity d^(−p) hardly depends on how near a node is to it: a singularity at the part a
/// of the width leaves log2(width^(1−p)·e^p) + p·h(a), h = −a·log2(a) − (1 − a)·log2(1 − a), of which
/// h is taken off, with a where the greatest sample is. That counts as at most 8 times the next one.
/// Samples of 0 do not count.
template <int points, class Real>
GRIDSTRIDE_HOST_DEVICE inline double log_amount(Real const* samples, double width) {
  using Rule = GaussKronrod<points>;
  double sum = 0, weights = 0, largest = 0, next = 0, weight_there = 0, place = 0.5;
  for (int i = 0; i < points; ++i) {
    double const size = ::fabs(static_cast<double>(samples[1 + i]));
    if (!(size > 0)) continue;
    int const outer = i <= points / 2 ? i : points - 1 - i;
    sum += Rule::weight(outer) * rough_log2(size);
    weights += Rule::weight(outer);
    next = ::fmax(next, ::fmin(size, largest));
    if (size <= largest) continue;
    largest = size;
    weight_there = Rule::weight(outer);
    place = 0.5 - 0.5 * Rule::outer_place(outer + 1);
  }
  if (next > 0 && largest > 8 * next)
    sum -= weight_there * (rough_log2(largest) - rough_log2(8 * next));
  double const at_ends = ::fmax(::fabs(static_cast<double>(samples[0])),
                                ::fabs(static_cast<double>(samples[points + 1])));
  double const spread =
      at_ends >= largest ? 0 : -place * rough_log2(place) - (1 - place) * rough_log2(1 - place);
  return sum / weights + rough_log2(0.5 * weights * width) - spread;
}

/// How far the watches are from the polynomial through the nodes, both together. A watch that is no
/// number, as at a pole, says nothing.
template <int points, class Real>
GRIDSTRIDE_HOST_DEVICE inline double missed_by_watches(Real const* samples) {
  using Rule = GaussKronrod<points>;
  double left = -static_cast<double>(samples[0]);
  double right = -static_cast<double>(samples[points + 1]);
  for (int i = 0; i < points; ++i) {
    left += Rule::extrapolation(i) * samples[1 + i];
    right += Rule::extrapolation(i) * samples[points - i];
  }
  return (is_finite(left) ? ::fabs(left) : 0) + (is_finite(right) ? ::fabs(right) : 0);
}

/// Value and error of the integral from `lower` to `upper` from its samples. The error is
/// QUADPACK's with one addition: with the integral K of the rule, G of its Gauss nodes alone,
/// A = ∫|f − mean of f|, and what the watches are missed by, D, each on [−1, 1],
///
///   error = A·min(1, (200·max(|K − G|, D/10)/A)^(3/2)), but at least gap·D and 50·ε·∫|f|,
///
/// where ε is that of the precision of the samples (R. Piessens, E. de Doncker-Kapenga,
/// C. W. Überhuber and D. K. Kahaner, QUADPACK, 1983, routines qk15 and qk21, without D). D costs
/// two samples, and speaks up where |K − G| is silent: a jump between the outermost node and the
/// end is up to gap·D of the integral, and a kink can lie so that K and G agree. An integral that
/// takes 35 halvings to close in on a jump meets the former in one case of seven.
template <int points, class Real>
GRIDSTRIDE_HOST_DEVICE inline IntervalEstimate kronrod_estimate(Real const* samples, double lower,
                                                                double upper) {
  using Rule = GaussKronrod<points>;
  constexpr int half = points / 2;
  Real const* const nodes = samples + 1;
  double const middle = nodes[half];
  double kronrod = Rule::weight(half) * middle, absolute = Rule::weight(half) * ::fabs(middle);
  double gauss = half % 2 == 1 ? Rule::gauss_weight(half / 2) * middle : 0;
  for (int i = 0; i < half; ++i) {
    double const left = nodes[i], right = nodes[points - 1 - i];
    kronrod += Rule::weight(i) * (left + right);
    absolute += Rule::weight(i) * (::fabs(left) + ::fabs(right));
    if (i % 2 == 1) gauss += Rule::gauss_weight(i / 2) * (left + right);
  }
  double const mean = 0.5 * kronrod;
  double deviation = Rule::weight(half) * ::fabs(middle - mean);
  for (int i = 0; i < half; ++i)
    deviation += Rule::weight(i) * (::fabs(nodes[i] - mean) + ::fabs(nodes[points - 1 - i] - mean));

  double const missed = missed_by_watches<points>(samples);
  double error = ::fabs(kronrod - gauss);
  bool is_blind = false;
  if (deviation > 0) {
    double const ratio = 200 * ::fmax(error, 0.1 * missed) / deviation;
    is_blind = !(ratio < 0.01);
    error = ratio < 1 ? deviation * ratio * ::sqrt(ratio) : deviation;
  }
  error = ::fmax(error, Rule::gap * missed);
  double const rounding = 50 * rounding_of<Real>() * absolute;
  bool const at_rounding = error <= rounding;
  double const half_width = 0.5 * upper - 0.5 * lower;
  is_blind = is_blind && !at_rounding && half_width != 0;
  return {kronrod * half_width, (at_rounding ? rounding : error) * ::fabs(half_width), at_rounding,
          is_blind, is_blind ? log_amount<points>(samples, 2 * ::fabs(half_width)) : 0};
}

}  // namespace gridstride::quadrature
