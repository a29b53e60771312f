#include <algorithm>
#include <map>

#include "equations/terms.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

}  // namespace

Term Terms::with_zeros_at_poles(Term term) {
  constexpr double negligible = 1e-18;  // whose square float32 may take for 0
  auto const is = [](Node const& node, Operation operation) {
    return node.kind == Kind::operation && node.operation == operation;
  };
  auto const parts_of_term = parts(term, [](Term) { return false; });
  if (std::ranges::none_of(parts_of_term, [&](Term part) {
        Node const& node = (*this)[part];
        return is(node, Operation::sqrt) || is(node, Operation::cbrt) || is(node, Operation::power);
      }))
    return term;
  struct Pole {
    Term numerator, divisor;
  };
  std::map<Term, Pole> poles;  // of what has been made
  return rebuilt(term, [&](Node const& node, std::array<Term, 3> const& operands) {
    Term result = with_operands(node, operands);
    auto const [a, b, c] = operands;
    auto const known =
        std::ranges::find_if(operands, [&](Term one) { return poles.contains(one); });
    Pole pole = {number(1), known == operands.end() ? -1 : poles.at(*known).divisor};
    bool const divides = is(node, Operation::divide) && !is_number(b);
    if (divides) pole = {poles.contains(a) ? poles.at(a).numerator : a, b};
    if (is(node, Operation::multiply) && pole.divisor >= 0)
      pole.numerator = multiply(poles.at(*known).numerator, *known == a ? b : a);
    if (is(node, Operation::power) && !(is_number(b) && (*this)[b].value >= 0)) pole.divisor = a;
    if ((divides || is(node, Operation::multiply)) && pole.divisor >= 0 &&
        !is_number(pole.numerator)) {
      Term const vanishes =
          multiply(operation(Operation::equal, pole.divisor, number(0)),
                   operation(Operation::less, operation(Operation::abs, pole.numerator),
                             number(negligible)));
      result = operation(Operation::select, vanishes, number(0), result);
    }
    if (pole.divisor >= 0) poles.emplace(result, pole);
    return result;
  });
}

}  // namespace gridstride::equations
