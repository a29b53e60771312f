#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/evaluate/evaluate.hpp"

namespace gridstride::evaluate {

/// A formula of values at a point. Its array i is value `from[i]`: of A arrays and the results of
/// the formulas before it, array number `from[i]`, or from A on the result of formula
/// `from[i] − A`.
struct Formula {
  expression::Expression expression;
  std::vector<int> from = {};
};

/// Formulas that are evaluated together at the points of a grid, one after the other. A result that
/// another formula uses is first rounded to its type, as if it came from memory. Compiled, they are
/// one kernel, in which every array is read or written once; else each is evaluated by itself, with
/// the same bits.
class Formulas {
 public:
  /// Of so many arrays. `variant` is as in `Program`, but that `auto` is `compiled` on a GPU: they
  /// are for data that come piece by piece. Throws `std::invalid_argument` for formulas of time, for
  /// more than `Arrays::most` of them or of arrays, and for results of formulas that come later.
  Formulas(Stream& stream, std::vector<Formula> formulas, int arrays,
           std::string_view variant = "auto");

  std::size_t count() const { return formulas_.size(); }
  int arrays() const { return arrays_; }
  Formula const& formula(std::size_t i) const { return formulas_[i]; }
  Program const& program(std::size_t i) const { return programs_[i]; }
  /// As in `Program`.
  std::string_view variant() const { return variant_; }
  std::string const& fallback() const { return fallback_; }
  /// The kernels of `compiled`; null for other variants.
  RuntimeModule const* module() const { return module_.get(); }

 private:
  std::vector<Formula> formulas_;
  int arrays_;
  std::string variant_, fallback_;
  std::shared_ptr<RuntimeModule const> module_;
  std::vector<Program> programs_;  ///< by which each is evaluated by itself
};

/// Queues an evaluation: `results` has for each formula where its values at the points of the grid
/// go, in device memory, or null where they are not wanted, and no other that is wanted uses them.
/// Arrays that no wanted formula uses may be null. Where some are not wanted, each goes by itself.
/// Throws `std::invalid_argument` for another number of results or arrays, and for null where there
/// has to be something.
template <class T>
void evaluate(Stream& stream, Formulas const& formulas, Grid const& grid,
              std::span<T* const> results, std::span<ArrayView const> arrays);

/// The code that is compiled for formulas of so many arrays.
RuntimeSource source_of(std::span<Formula const> formulas, int arrays);

}  // namespace gridstride::evaluate
