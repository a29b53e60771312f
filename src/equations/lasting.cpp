#include "equations/lasting.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "expression/cost.hpp"

namespace gridstride::equations {

namespace {

using expression::Operation;

/// What an array is worth, in additions: less is found faster than read.
constexpr double worthwhile = 10, most_cost = 1000;  // no more is counted

double cost_of(Terms const& terms, Node const& node) {
  constexpr double of_coordinate = 2, of_random = 64;
  if (node.kind == Kind::coordinate) return of_coordinate;
  if (is_random(node.kind)) return of_random;
  bool const has_number = node.operation == Operation::power && terms.is_number(node.operands[1]);
  return expression::arithmetic_cost(node.operation,
                                     has_number ? terms[node.operands[1]].value : std::nan(""));
}

}  // namespace

LastingTerms::LastingTerms(Terms const& terms, int dims, int most)
    : terms_(terms), all_axes_((1U << dims) - 1), fewest_axes_(std::min(dims, 2)), most_(most) {}

LastingTerms::Properties const& LastingTerms::at(Term term) {
  while (std::ssize(all_) <= term)
    all_.push_back(properties_of(terms_[static_cast<Term>(all_.size())]));
  return all_[static_cast<std::size_t>(term)];
}

LastingTerms::Properties LastingTerms::properties_of(Node const& node) const {
  Properties result = {.lasts = true, .cost = 0};
  if (node.kind == Kind::coordinate) {
    result.axes = 1U << node.index;
  } else if (node.kind == Kind::uniform || node.kind == Kind::normal) {
    result.axes = all_axes_;
  } else if (node.kind == Kind::operation) {
    for (int i = 0; i < operand_count(node); ++i) {
      auto const& operand =
          all_[static_cast<std::size_t>(node.operands[static_cast<std::size_t>(i)])];
      result.lasts = result.lasts && operand.lasts;
      result.axes |= operand.axes;
      result.cost += operand.cost;
    }
  } else if (node.kind != Kind::number) {
    return {};
  }
  result.cost = std::min(result.cost + cost_of(terms_, node), most_cost);
  return result;
}

int LastingTerms::number_of(Term term) {
  if (most_ <= 0) return -1;
  Properties const what = at(term);
  if (!what.lasts || what.cost < worthwhile || std::popcount(what.axes) < fewest_axes_) return -1;
  auto const known = std::ranges::find(numbered_, term);
  if (known == numbered_.end() && std::ssize(numbered_) >= most_) return -1;
  auto const number = static_cast<int>(known - numbered_.begin());
  if (known == numbered_.end()) numbered_.push_back(term);
  return number;
}

}  // namespace gridstride::equations
