#include "kernels/riemann/tensor/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "core/variant.hpp"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/riemann/tensor/rows.hpp"

namespace gridstride::quadrature {

namespace {

static_assert(max_tensor_axes == max_dimensions);
constexpr std::int64_t max_axis_nodes = std::int64_t{1} << 26;

void check_arguments(Integrand const& integrand, std::span<Interval const> box,
                     std::span<FixedRule const> rules, std::span<double const> parameters) {
  check(integrand);
  int const d = integrand.dimensions;
  if (d < 2)
    throw std::invalid_argument("tensor: 1 dimension (it takes 2 to 20; one has rules of its own)");
  if (static_cast<int>(box.size()) != d || static_cast<int>(rules.size()) != d)
    throw std::invalid_argument(fmt::format("tensor: {} intervals and {} rules for {} dimensions",
                                            box.size(), rules.size(), d));
  if (static_cast<int>(parameters.size()) != integrand.parameters)
    throw std::invalid_argument(fmt::format("tensor: {} parameters are given, the integrand has {}",
                                            parameters.size(), integrand.parameters));
  for (auto const& [lower, upper] : box)
    if (!(lower < upper) || !std::isfinite(upper - lower))
      throw std::invalid_argument(fmt::format(
          "tensor: the interval from {} to {} (it must be finite and not empty)", lower, upper));
}

/// Nodes that a rule has on an axis, those of its coarser rule included.
std::int64_t nodes_of(FixedRule const& rule, Pattern const& pattern) {
  return rule.panels / pattern.panels * static_cast<std::int64_t>(pattern.offsets.size()) + 1;
}

/// Appends the nodes of one of the axis's two rules. Where cells share their ends, the first node
/// stands for both ends of the axis; here each end has its own.
void add_nodes(std::vector<TensorNode>& nodes, Samples const& samples, double const* weights,
               double end_weight) {
  std::size_t const first = nodes.size();
  for (long long cell = 0; cell < samples.cells; ++cell)
    for (int k = 0; k < samples.nodes; ++k)
      if (weights[k] != 0)
        nodes.push_back({samples.at(static_cast<double>(cell), samples.offsets[k]),
                         samples.width * weights[k]});
  if (end_weight == 0) return;
  nodes[first].weight -= samples.width * end_weight;
  nodes.push_back({samples.upper, samples.width * end_weight});
}

/// The product of the rules, or of their coarser ones.
TensorProduct product_of(std::span<Interval const> box, std::span<FixedRule const> rules,
                         std::span<Pattern const> patterns, bool coarse) {
  TensorProduct product = {};
  TensorAxes& axes = product.axes;
  for (std::size_t k = 0; k < box.size(); ++k) {
    Samples const samples =
        samples_of(patterns[k], rules[k], box[k].lower, box[k].upper, rounding_of<double>());
    axes.first[k] = static_cast<int>(product.nodes.size());
    add_nodes(product.nodes, samples, coarse ? samples.coarse : samples.fine,
              coarse ? samples.end_coarse : samples.end_fine);
    axes.count[k] = static_cast<int>(product.nodes.size()) - axes.first[k];
  }
  axes.nodes = product.nodes.data();
  axes.pieces_of_line = (axes.count[0] + tensor_piece - 1) / tensor_piece;
  axes.pieces = axes.pieces_of_line;
  for (std::size_t k = 1; k < box.size(); ++k) axes.pieces *= axes.count[k];
  return product;
}

/// Samples of a product of that many nodes; throws when there are too many.
std::int64_t samples_in(std::span<std::int64_t const> counts) {
  std::int64_t samples = 1;
  for (std::int64_t const count : counts) {
    if (count > max_axis_nodes)
      throw std::invalid_argument(
          fmt::format("tensor: {} nodes on an axis (at most {})", count, max_axis_nodes));
    if (samples > max_tensor_samples / count)
      throw std::invalid_argument(
          fmt::format("tensor: {} axes with {} nodes and more are more than {} samples",
                      counts.size(), *std::ranges::min_element(counts), max_tensor_samples));
    samples *= count;
  }
  return samples;
}

std::int64_t samples_of_product(TensorProduct const& product, std::size_t dimensions) {
  std::vector<std::int64_t> const counts(product.axes.count, product.axes.count + dimensions);
  return samples_in(counts);
}

std::vector<double> coordinates_of(TensorProduct const& product, int dimensions,
                                   std::int64_t sample) {
  TensorCursor<double> const cursor(product.axes, dimensions, sample / tensor_piece);
  auto const node = cursor.begin() + static_cast<int>(sample % tensor_piece);
  std::vector<double> coordinates = {product.nodes[node].position};
  coordinates.insert(coordinates.end(), cursor.v + 1, cursor.v + dimensions);
  return coordinates;
}

template <class T>
std::unique_ptr<TensorSummation> make_summation(Stream& stream, Integrand const& integrand,
                                                std::span<double const> parameters) {
  if (stream.backend() == Backend::cpu) return make_host_tensor(stream, integrand, parameters);
  using Make = std::unique_ptr<TensorSummation>(Stream&, Integrand const&, std::span<double const>);
  Make* const make = GRIDSTRIDE_CUDA_ROW(&make_device_tensor<T>);
  return make(stream, integrand, parameters);
}

}  // namespace

template <class T>
TensorResult tensor(Stream& stream, Integrand const& integrand, std::span<Interval const> box,
                    std::span<FixedRule const> rules, std::span<double const> parameters) {
  check_arguments(integrand, box, rules, parameters);
  std::vector<Pattern> patterns;
  std::vector<std::int64_t> nodes;
  double error_factor = 0;
  for (FixedRule const& rule : rules) {
    patterns.push_back(pattern_of(rule));
    nodes.push_back(nodes_of(rule, patterns.back()));
    error_factor = std::max(error_factor, patterns.back().error_factor);
  }
  for (std::int64_t const count : nodes) samples_in({&count, 1});
  TensorProduct const fine = product_of(box, rules, patterns, false);
  TensorProduct const coarse = product_of(box, rules, patterns, true);
  std::int64_t const evaluations =
      samples_of_product(fine, box.size()) + samples_of_product(coarse, box.size());

  auto const summation = make_summation<T>(stream, integrand, parameters);
  TensorSums const sums = summation->sum(fine), coarse_sums = summation->sum(coarse);
  double const value = sums.value.result(), difference = value - coarse_sums.value.result();
  double const rounding =
      stream.backend() == Backend::cpu ? rounding_of<double>() : rounding_of<T>();
  TensorResult result;
  result.estimate = {value, error_factor * std::fabs(difference) + rounding * sums.magnitude,
                     evaluations, Outcome::reached, rounding * sums.magnitude};
  if (is_finite(value) && is_finite(difference)) return result;
  result.estimate.outcome = Outcome::non_finite;
  for (TensorProduct const* product : {&fine, &coarse}) {
    std::int64_t const sample = summation->first_non_finite(*product);
    if (sample == all_finite) continue;
    result.non_finite_at = coordinates_of(*product, integrand.dimensions, sample);
    break;
  }
  return result;
}

template TensorResult tensor<float>(Stream&, Integrand const&, std::span<Interval const>,
                                    std::span<FixedRule const>, std::span<double const>);
template TensorResult tensor<double>(Stream&, Integrand const&, std::span<Interval const>,
                                     std::span<FixedRule const>, std::span<double const>);

}  // namespace gridstride::quadrature
