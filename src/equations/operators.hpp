#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "equations/terms.hpp"
#include "expression/expression.hpp"

namespace gridstride::equations {

/// What a part of an equation is at each point: a scalar (rank 0), a vector with a component for
/// each axis (rank 1) or a tensor (rank 2), whose component ij is at i·dims + j.
struct Ranked {
  int rank = 0;
  std::array<Term, 9> terms = {-1, -1, -1, -1, -1, -1, -1, -1, -1};
  std::size_t begin = 0;  ///< where its text begins
};

/// `a scalar`, `a vector`, `a tensor`
std::string_view noun_of_rank(int rank);

/// How many terms a rank has.
constexpr int term_count(int rank, int dims) {
  return rank == 0 ? 1 : rank == 1 ? dims : dims * dims;
}

/// The call of an operator.
struct OperatorCall {
  Terms& terms;
  int dims;
  expression::FunctionInfo const& operation;
  std::size_t position;
  std::span<Ranked const> arguments;
  /// The rate of change of a component by its number, which the system's equations tell.
  std::function<Term(int component)> const& rate;
};

/// What equations know beside the functions of formulas. Without arguments it is a name and no
/// function. `info.operation` is none's.
struct LanguageOperator {
  expression::FunctionInfo info;
  /// Throws `ParseError` where it does not take its arguments.
  Ranked (*make)(OperatorCall const& call);
};

/// The table of all operators.
std::span<LanguageOperator const> operators();

}  // namespace gridstride::equations
