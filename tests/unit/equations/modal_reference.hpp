#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include "equations/modal_operators.hpp"
#include "equations/modal_split.hpp"

/// Systems in modes, evaluated slowly: fields are sums of a few waves, sines and cosines their
/// periodic continuations, and transforms sums over all points.
namespace gridstride::equations::test {

using Values = std::vector<double>;
using Coefficients = std::vector<std::complex<double>>;

/// The points of a period of each axis, which has `waves` waves between sides: four lengths of an
/// axis that is not periodic.
class Period {
 public:
  Period(int dims, int points, std::array<double, 3> const& units) : units_(units) {
    for (int axis = 0; axis < dims; ++axis) count_[static_cast<std::size_t>(axis)] = points;
  }

  std::size_t size() const { return count_[0] * count_[1] * count_[2]; }
  std::array<std::size_t, 3> at(std::size_t place) const {
    return {place % count_[0], place / count_[0] % count_[1], place / (count_[0] * count_[1])};
  }
  double coordinate(std::size_t axis, std::size_t i) const {
    return 2 * std::numbers::pi / units_[axis] * static_cast<double>(i) /
           static_cast<double>(count_[axis]);
  }
  /// The wave number of coefficient i.
  double wave(std::size_t axis, std::size_t i) const {
    auto const k = static_cast<double>(i), n = static_cast<double>(count_[axis]);
    return units_[axis] * (2 * k < n ? k : 2 * k > n ? k - n : 0);
  }

  Coefficients forward(Values const& values) const {
    return transformed(Coefficients(values.begin(), values.end()), -1);
  }
  Values inverse(Coefficients const& coefficients) const {
    Values values;
    for (auto const& one : transformed(coefficients, 1))
      values.push_back(one.real() / static_cast<double>(size()));
    return values;
  }
  std::complex<double> symbol(Operator const& of, std::size_t place) const {
    std::complex<double> sum = 0;
    for (auto const& [orders, coefficient] : of) {
      std::complex<double> product = coefficient;
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (int m = 0; m < orders[axis]; ++m)
          product *= std::complex<double>(0, wave(axis, at(place)[axis]));
      sum += product;
    }
    return sum;
  }
  /// ∂^orders of values.
  Values derivative(Values const& values, Orders const& orders) const {
    auto all = forward(values);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] *= symbol({{orders, 1.0}}, i);
    return inverse(all);
  }

  /// Waves of random sizes that go on like this: up to 2 over each axis.
  Values random(std::mt19937& numbers, int dims, BeyondSides const& sides) const {
    std::uniform_real_distribution<double> size(-1, 1);
    Values values(this->size(), 0.0);
    for (int n = 0; n < 5; ++n) {
      double const amplitude = size(numbers);
      std::array<double, 3> waves = {}, phases = {};
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis) {
        double const k = std::floor(std::abs(size(numbers)) * 2.99);
        auto const [lower, upper] = sides[axis];
        waves[axis] = lower == Beyond::periodic ? k : 2 * k;
        if (lower == Beyond::odd && lower == upper) waves[axis] = 2 * k + 2;
        if (lower != upper) waves[axis] = 2 * k + 1;
        phases[axis] = lower == Beyond::periodic ? 3 * size(numbers)
                       : lower == Beyond::odd    ? -std::numbers::pi / 2
                                                 : 0;
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        double product = amplitude;
        for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis)
          product *=
              std::cos(units_[axis] * waves[axis] * coordinate(axis, at(i)[axis]) + phases[axis]);
        values[i] += product;
      }
    }
    return values;
  }

 private:
  Coefficients transformed(Coefficients values, int sign) const {
    std::size_t stride = 1;
    for (std::size_t const n : count_) {
      Coefficients result(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::size_t const k = i / stride % n, first = i - k * stride;
        for (std::size_t j = 0; j < n; ++j) {
          double const angle =
              sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
          result[i] += values[first + j * stride] * std::polar(1.0, angle);
        }
      }
      values = std::move(result);
      stride *= n;
    }
    return values;
  }

  std::array<std::size_t, 3> count_ = {1, 1, 1};
  std::array<double, 3> units_;
};

/// Values of each node of a program at all points.
inline std::vector<Values> evaluated(StencilProgram const& program, Period const& period,
                                     std::span<Values const> arrays, double time) {
  std::vector<Values> values;
  for (Node const& node : program.code) {
    Values& result = values.emplace_back(period.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      auto const operand = [&](std::size_t k) {
        return node.operands[k] < 0 ? 0 : values[static_cast<std::size_t>(node.operands[k])][i];
      };
      if (node.kind == Kind::number)
        result[i] = node.value;
      else if (node.kind == Kind::time)
        result[i] = time;
      else if (node.kind == Kind::coordinate)
        result[i] = period.coordinate(static_cast<std::size_t>(node.index),
                                      period.at(i)[static_cast<std::size_t>(node.index)]);
      else if (node.kind == Kind::unknown)
        result[i] = arrays[static_cast<std::size_t>(node.index)][i];
      else
        result[i] = expression::apply(node.operation, operand(0), operand(1), operand(2));
    }
  }
  std::vector<Values> results;
  for (std::int32_t const result : program.results)
    results.push_back(values[static_cast<std::size_t>(result)]);
  return results;
}

/// What a system in modes makes of its unknowns.
struct ModalValues {
  std::vector<Values> rates, held;
};
inline ModalValues evaluated(ModalSystem const& system, Period const& period,
                             std::vector<Values> const& unknowns, double time) {
  std::vector<Coefficients> quantities;
  for (Values const& unknown : unknowns) quantities.push_back(period.forward(unknown));
  auto const sum = [&](std::vector<ModalSum const*> const& sums) {
    Coefficients all(period.size());
    for (ModalSum const* const parts : sums)
      for (ModalPart const& part : *parts)
        for (std::size_t i = 0; i < all.size(); ++i) {
          auto const below = part.denominator.empty() ? std::complex<double>(1)
                                                      : period.symbol(part.denominator, i);
          if (std::abs(below) > 0)
            all[i] += period.symbol(part.numerator, i) / below *
                      quantities.at(static_cast<std::size_t>(part.quantity))[i];
        }
    return period.inverse(all);
  };
  std::vector<Values> arrays;
  for (ModalLevel const& level : system.levels) {
    for (ModalSum const& array : level.arrays) arrays.push_back(sum({&array}));
    for (Values const& product : evaluated(level.program, period, arrays, time))
      quantities.push_back(period.forward(product));
  }
  ModalValues result;
  for (std::size_t c = 0; c < system.linear.size(); ++c)
    result.rates.push_back(sum({&system.linear[c], &system.rest[c]}));
  for (ModalSum const& held : system.held) result.held.push_back(sum({&held}));
  return result;
}

/// A term by itself: derivatives as those of its values.
inline Values evaluated(Terms const& terms, Term root, Period const& period,
                        std::vector<Values> const& unknowns, std::vector<Values> const& names,
                        double time) {
  std::vector<Values> all(static_cast<std::size_t>(root) + 1);
  std::vector<char> needed(all.size(), 0);
  needed.back() = 1;
  for (std::size_t k = needed.size(); k-- > 0;)
    for (int i = 0; needed[k] && i < operand_count(terms[static_cast<Term>(k)]); ++i)
      needed[static_cast<std::size_t>(
          terms[static_cast<Term>(k)].operands[static_cast<std::size_t>(i)])] = 1;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!needed[k]) continue;
    Node const& node = terms[static_cast<Term>(k)];
    auto const operand = [&](std::size_t i) -> Values const& {
      return all[static_cast<std::size_t>(node.operands[i])];
    };
    Orders once = {};
    if (node.kind == Kind::flux || node.kind == Kind::transport)
      once[static_cast<std::size_t>(node.index)] = 1;
    Values& result = all[k];
    result.resize(period.size());
    if (node.kind == Kind::derivative) result = period.derivative(operand(0), node.orders);
    if (node.kind == Kind::flux) result = period.derivative(operand(0), once);
    if (node.kind == Kind::transport) result = period.derivative(operand(1), once);
    for (std::size_t i = 0; i < result.size(); ++i) {
      auto const axis = static_cast<std::size_t>(node.index);
      auto const at = [&](std::size_t n) { return node.operands[n] < 0 ? 0 : operand(n)[i]; };
      switch (node.kind) {
        case Kind::number:
          result[i] = node.value;
          break;
        case Kind::time:
          result[i] = time;
          break;
        case Kind::coordinate:
          result[i] = period.coordinate(axis, period.at(i)[axis]);
          break;
        case Kind::unknown:
          result[i] = unknowns[axis][i];
          break;
        case Kind::name:
          result[i] = names[axis][i];
          break;
        case Kind::transport:
          result[i] *= operand(0)[i];
          break;
        case Kind::operation:
          result[i] = expression::apply(node.operation, at(0), at(1), at(2));
          break;
        default:
          break;
      }
    }
  }
  return all.back();
}

}  // namespace gridstride::equations::test
