#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "expression/expression.hpp"
#include "expression/operations.hpp"

namespace gridstride::expression {

/// The syntax tree as code for the stack machine.
std::vector<Instruction> to_instructions(Expression const& expression);

/// Evaluates a formula on the host at many points: each instruction runs over a block of points
/// before the next one, so that loops are tight and the whole stack stays in the cache.
/// Holds a view of `code`. 128 KiB large, and without allocation, so that every thread can have
/// its own.
class BlockEvaluator {
 public:
  static constexpr int block_size = 256;

  explicit BlockEvaluator(std::span<Instruction const> code);

  /// result[i] = f(variables[0][i], variables[1][i], ...) for any number of points. Throws
  /// `std::invalid_argument` when the formula is of more variables. `result` must not overlap them.
  void evaluate(std::span<double const* const> variables, std::int64_t points, double* result);

 private:
  void evaluate_block(std::span<double const* const> variables, std::int64_t start, int points,
                      double* result);

  std::span<Instruction const> code_;
  std::size_t variable_count_ = 0;
  alignas(64) double slots_[max_stack_depth][block_size];
};

}  // namespace gridstride::expression
