#pragma once

#include <algorithm>
#include <span>

#include "expression/evaluate.hpp"
#include "kernels/integrand/integrand.hpp"

namespace gridstride::quadrature {

/// Points of an integral of one variable that the host evaluates together, with places and values
/// rounded to T. 15 KiB large, and without allocation.
template <class T>
class SampleBlock {
 public:
  static constexpr int size = expression::BlockEvaluator::block_size;

  /// At most `size` times.
  void add(double x) { x_[count_++] = static_cast<double>(static_cast<T>(x)); }

  void evaluate(HostIntegrand const& integrand, double const* parameters) {
    double constants[max_parameters][size];
    double const* variables[1 + max_parameters] = {x_};
    for (int k = 0; k < integrand.parameters(); ++k) {
      std::fill_n(constants[k], count_, static_cast<double>(static_cast<T>(parameters[k])));
      variables[1 + k] = constants[k];
    }
    double results[size];
    integrand.evaluate(std::span(variables, static_cast<std::size_t>(1 + integrand.parameters())),
                       count_, results);
    std::transform(results, results + count_, values_, [](double v) { return static_cast<T>(v); });
  }

  int count() const { return count_; }
  double x(int i) const { return x_[i]; }
  T const* values() const { return values_; }

 private:
  double x_[size];
  T values_[size];
  int count_ = 0;
};

}  // namespace gridstride::quadrature
