#pragma once

#include <span>
#include <vector>

#include "kernels/riemann/rules.hpp"
#include "simulations/integration_rules.hpp"

/// What a fixed rule with different numbers of points tells of its error.
namespace gridstride::integration {

/// Rounds of a fixed rule of an order, each with `growth` times as many samples along an axis as the
/// one before.
class Rounds {
 public:
  Rounds(int order, double growth);

  /// What the estimates alone say may be an accident: they are no less than what the changes from
  /// round to round let expect. What was no number in an earlier round remains so. Where ∫|f| has no
  /// end, values are what samples leave that cancel, and any.
  void compare(Solution& solution);
  /// Whether there are enough with the one that was compared: two may see a jump at the same place.
  bool may_end() const { return count_ >= 2; }
  void keep(Solution solution);

 private:
  double error_after(std::span<double const> changes, double rounding) const;
  bool as_smooth(double change, double before) const;

  int count_ = 0;
  double growth_, smooth_;
  Solution before_;
  std::vector<std::vector<double>> changes_;  ///< of each integral, the last one first
  std::vector<double> growths_;               ///< of roundings, the last one of each integral
};

/// What coarser rules say of one whose number of points is given.
class CoarserRounds {
 public:
  explicit CoarserRounds(quadrature::FixedRule const& given);

  /// The growth from rule to rule by which there are three coarser ones, or as many as there can be.
  double growth_of_three() const;
  /// The next one, with fewer points than those before.
  void add(quadrature::FixedRule const& rule, Solution solution);
  /// Whether more would say nothing new: two changes may be small by accident, three seldom.
  bool are_enough() const { return solutions_.size() >= 3; }
  /// The estimates become no less than what the changes from rule to rule let expect.
  void compare(Solution& given) const;

 private:
  double error_beside(std::span<double const> changes, quadrature::Estimate const& given) const;
  double left_by_order(std::span<double const> changes, std::size_t change, int order) const;

  quadrature::FixedRule given_;
  int order_;
  double factor_;  ///< of |F − C| in the rule's own estimate (rules.hpp), at most 1
  std::vector<double> coarseness_;  ///< panels of the rule that is given over those of each
  std::vector<Solution> solutions_;
};

}  // namespace gridstride::integration
