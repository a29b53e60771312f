#pragma once

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

  explicit BlockEvaluator(std::span<Instruction const> code) : code_(code) {}

  /// result[i] = f(x[i], y[i], z[i], t) for any number of points. Throws `std::invalid_argument`
  /// when the sizes differ. `result` must not overlap the coordinates.
  void evaluate(std::span<double const> x, std::span<double const> y, std::span<double const> z,
                double t, std::span<double> result);

 private:
  void evaluate_block(double const* x, double const* y, double const* z, double t, double* result,
                      int points);

  std::span<Instruction const> code_;
  alignas(64) double slots_[max_stack_depth][block_size];
};

}  // namespace gridstride::expression
