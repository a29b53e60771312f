#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace gridstride::equations {

/// Members of a few sums, so that all of them are sums of these: as few as are independent.
template <class Key>
class SumBasis {
 public:
  using Sum = std::map<Key, double>;
  /// Σ factor·member
  using Expressed = std::vector<std::pair<int, double>>;

  std::vector<Sum> const& members() const { return members_; }

  /// How a sum is made of members; it becomes one, divided by its first factor, where it cannot be
  /// made of others without cancelling.
  Expressed express(Sum const& sum) {
    Sum rest = sum;
    std::vector<double> factors(members_.size(), 0);
    for (Reduced const& one : reduced_) {
      auto const at_pivot = rest.find(one.pivot);
      if (at_pivot == rest.end()) continue;
      double const factor = at_pivot->second / one.sum.at(one.pivot);
      for (auto const& [key, value] : one.sum) rest[key] -= factor * value;
      rest.erase(one.pivot);
      for (std::size_t m = 0; m < one.factors.size(); ++m) factors[m] += factor * one.factors[m];
    }
    bool cancels = false;
    for (std::size_t m = 0; m < factors.size(); ++m)
      cancels = cancels || std::abs(factors[m]) * largest(members_[m]) > most * largest(sum);
    if (largest(rest) <= rounding * largest(sum) && !cancels) return expressed(factors);
    return {{add(sum, rest, std::move(factors)), sum.begin()->second}};
  }

 private:
  /// What is left of a member without those before it.
  struct Reduced {
    Key pivot;
    Sum sum;
    std::vector<double> factors;
  };
  static constexpr double rounding = 1e-12;  // of sums of a few numbers
  static constexpr double most = 8;          // members may be larger than what they make

  static double largest(Sum const& sum) {
    double most_of_all = 0;
    for (auto const& [key, value] : sum) most_of_all = std::max(most_of_all, std::abs(value));
    return most_of_all;
  }

  static Expressed expressed(std::vector<double> const& factors) {
    Expressed result;
    for (std::size_t m = 0; m < factors.size(); ++m)
      if (factors[m] != 0) result.emplace_back(static_cast<int>(m), factors[m]);
    return result;
  }

  int add(Sum const& sum, Sum const& rest, std::vector<double> factors) {
    double const first = sum.begin()->second;
    Sum member;
    for (auto const& [key, value] : sum) member.emplace(key, value / first);
    members_.push_back(std::move(member));
    if (largest(rest) > rounding * largest(sum)) {
      auto pivot = rest.begin();
      for (auto one = rest.begin(); one != rest.end(); ++one)
        if (std::abs(one->second) > std::abs(pivot->second)) pivot = one;
      for (double& factor : factors) factor = -factor;
      factors.push_back(first);
      reduced_.push_back({pivot->first, rest, std::move(factors)});
    }
    return static_cast<int>(members_.size()) - 1;
  }

  std::vector<Sum> members_;
  std::vector<Reduced> reduced_;
};

}  // namespace gridstride::equations
