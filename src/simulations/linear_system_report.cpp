#include "simulations/linear_system_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <variant>

namespace gridstride::linear_system {

void Report::add(std::int64_t column, std::string_view method, krylov::Result const& result,
                 Residual const& left) {
  std::string const which = label(column);
  if (result.outcome == krylov::Outcome::not_finite)
    throw NumericalError(fmt::format("linear_system: {}{}", which, result.advice));
  if (!result.converged() && !shortfall_.empty())
    others_.push_back(column);
  else if (!result.converged())
    shortfall_ = fmt::format("{}{} did not converge: {}{}", which, method, result.advice,
                             result.outcome == krylov::Outcome::incompatible ? "" : instead_);
  auto const raise = [](double& largest, double value) {
    largest = std::isnan(largest) ? value : std::max(largest, value);
  };
  raise(iterations_, static_cast<double>(result.iterations));
  raise(residual_norm_, left.norm);
  raise(relative_residual_, left.relative);
  raise(backward_error_, left.backward_error);
  raise(condition_, result.condition);
  std::int64_t const whole[] = {column, result.converged() ? 1 : 0, result.iterations};
  double const real[] = {left.norm, left.relative, left.backward_error};
  for (std::size_t k = 0; k < 3; ++k) {
    std::get<0>(sides_.columns[k].numbers).push_back(whole[k]);
    std::get<1>(sides_.columns[3 + k].numbers).push_back(real[k]);
  }
  auto& sides = std::get<0>(history_.columns[0].numbers);
  auto& numbers = std::get<0>(history_.columns[1].numbers);
  auto& norms = std::get<1>(history_.columns[2].numbers);
  for (std::size_t k = 0; k < result.history.size(); ++k) {
    sides.push_back(column);
    numbers.push_back(static_cast<std::int64_t>(k));
    norms.push_back(result.history[k]);
  }
}

std::string Report::label(std::int64_t column) const {
  return columns_ > 1 ? fmt::format("right-hand side {}: ", column) : std::string();
}

std::string Report::shortfall() const {
  if (others_.empty()) return shortfall_;
  constexpr std::size_t most = 8;
  auto const named = std::span(others_).first(std::min(others_.size(), most));
  return fmt::format(
      "{} (right-hand side{} {}{} did not converge either)", shortfall_,
      others_.size() > 1 ? "s" : "", fmt::join(named, ", "),
      others_.size() > most ? fmt::format(" and {} more", others_.size() - most) : "");
}

std::vector<Table> Report::tables() const {
  if (columns_ == 1) return {history_};
  return {history_, sides_};
}

std::vector<NamedValue> Report::values() const {
  return {{"residual_norm", residual_norm_},
          {"relative_residual", relative_residual_},
          {"backward_error", backward_error_},
          {"condition_estimate", condition_},
          {"iterations", iterations_}};
}

NumericalError no_place(Precision precision, std::size_t row, double magnitude) {
  return NumericalError(fmt::format(
      "linear_system: x has no place in {}: row {}, counted from 0, would be about 10^{:.0f} "
      "({}another unit of the matrix or the right-hand side)",
      name_of(precision), row, magnitude,
      precision == Precision::float32 ? "precision: float64, or " : ""));
}

NumericalError no_place_of_right(Precision precision, std::size_t row, double value) {
  return NumericalError(fmt::format(
      "linear_system: b has no place in {}: row {}, counted from 0, is {:g}, and too small beside "
      "others once each equation is divided by about its largest element ({}other units of the "
      "equations or unknowns)",
      name_of(precision), row, value,
      precision == Precision::float32 ? "precision: float64, or " : ""));
}

}  // namespace gridstride::linear_system
