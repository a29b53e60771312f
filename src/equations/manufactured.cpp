#include "equations/manufactured.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace gridstride::equations {
namespace {

/// Writes a term down as a tree, where parts that are used twice stand twice.
class TreeWriter {
 public:
  explicit TreeWriter(Terms const& terms) : terms_(terms) {}

  std::vector<expression::Node> write(Term root) {
    if (size_of(root) > static_cast<double>(expression::max_tree_nodes))
      throw Error("the solution is too long");
    add(root);
    return std::move(nodes_);
  }

 private:
  double size_of(Term root) {
    std::vector<double> sizes(static_cast<std::size_t>(root) + 1);
    for (std::size_t place = 0; place < sizes.size(); ++place) {
      Node const& node = terms_[static_cast<Term>(place)];
      sizes[place] = 1;
      for (int i = 0; i < operand_count(node); ++i)
        sizes[place] += sizes[static_cast<std::size_t>(node.operands[static_cast<std::size_t>(i)])];
    }
    return sizes.back();
  }

  std::int32_t add(Term term) {
    Node const& node = terms_[term];
    expression::Node result;
    switch (node.kind) {
      case Kind::number:
        result.value = node.value;
        break;
      case Kind::coordinate:
      case Kind::time:
        result.operation = expression::Operation::variable;
        result.variable = node.kind == Kind::time ? expression::time_variable : node.index;
        break;
      case Kind::operation:
        result.operation = node.operation;
        for (std::size_t i = 0; i < static_cast<std::size_t>(operand_count(node)); ++i)
          result.operands[i] = add(node.operands[i]);
        break;
      default:
        throw Error("the solution is no formula of space and time alone");
    }
    nodes_.push_back(result);
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }

  Terms const& terms_;
  std::vector<expression::Node> nodes_;
};

}  // namespace

void manufacture(System& system, std::span<Term const> solutions) {
  Terms& terms = system.terms;
  if (solutions.size() != system.rates.size())
    throw std::invalid_argument("manufacture: a solution for each component is needed");
  std::vector<Term> all = system.rates;
  for (SidedName const& one : system.names)
    all.insert(all.end(), one.terms.begin(), one.terms.end());
  for (Term const rate : all)
    for (Kind const kind : {Kind::uniform, Kind::normal, Kind::noise})
      if (terms.contains(rate, kind))
        throw Error("equations with random numbers have no solution of their own");
  std::vector<Term> names;  // what those with sides are, by the solutions
  auto const solved = [&](Term term) {
    for (std::size_t k = 0; k < solutions.size(); ++k)
      term = terms.substitute(term, terms.unknown(static_cast<int>(k)), solutions[k]);
    for (std::size_t k = 0; k < names.size(); ++k)
      term = terms.substitute(term, terms.name(static_cast<int>(k)), names[k]);
    return term;
  };
  for (int k = 0; k < system.name_count(); ++k) names.push_back(solved(system.meaning(k)));
  for (std::size_t c = 0; c < solutions.size(); ++c) {
    Term const rate = solved(system.rates[c]);
    Term const source =
        terms.subtract(terms.partial(solutions[c], terms.time()), terms.analytic(rate));
    system.rates[c] = terms.add(system.rates[c], source);
  }
}

expression::Expression to_expression(Terms& terms, Term term) {
  if (!terms.is_formula(term)) throw Error("the solution is no formula of space and time alone");
  return expression::Expression(TreeWriter(terms).write(terms.analytic(term)));
}

}  // namespace gridstride::equations
