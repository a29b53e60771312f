#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/visitor.hpp"
#include "driver/diagnostics/kind.hpp"
#include "driver/diagnostics/pieces.hpp"
#include "expression/expression.hpp"
#include "kernels/reduce/reduce.hpp"

/// Diagnostics of formulas: what entries ask for, and how it is found.
namespace gridstride::formula {

using expression::Expression;

enum class Find { integral, minimum, maximum };

/// An array that formulas may read: a field, or a component of a vector, which they call
/// `velocity_x`.
struct Variable {
  std::string name;
  std::string_view field;
  int component = 0;
  bool own_grid = false;
};

/// All of them. Those that can be read come first: of fields on the grid of the file, and one less
/// than there may be arrays, to leave one for the weights.
std::vector<Variable> arrays_of(config::RunOptions const& run);

/// Which of the arrays a formula reads.
std::vector<bool> reads(Expression const& formula, std::size_t arrays);

/// The row of `evaluate` that diagnostics take.
std::string evaluate_variant(config::RunOptions const& run, Backend backend);

/// `integral: FORMULA`, or with more to say `integral: {of: FORMULA, ...}`.
class Entry : public config::Diagnostic {
 public:
  explicit Entry(Find find) : find_(find) {}

  Expression const& formula() const { return formula_.expression; }
  /// What the formula is as a quantity of the simulation's; empty: a formula of the fields.
  std::string const& quantity() const { return quantity_; }
  bool where() const { return where_; }
  std::string name() const;

  void declare(config::Visitor& visitor, config::Spec const& self,
               config::RunOptions const& run) override;
  std::vector<std::string> gives() const override;
  /// One that can be evaluated at some points alone. Of quantities the simulation tells whether it finds them so.
  bool is_found_by_parts(config::RunOptions const& run, Backend backend) const override;

 private:
  void declare_formula(config::Visitor& v, std::string_view key, std::string_view documentation,
                       config::RunOptions const& run);
  void read_source(config::Visitor& v, std::string_view name, std::string_view documentation,
                   config::RunOptions const& run, std::span<expression::Variable const> variables);
  void declare_keys(config::Visitor& v, config::RunOptions const& run);
  void check(config::Visitor& v, std::string const& key, config::RunOptions const& run) const;

  Find find_;
  config::Formula formula_;
  std::string quantity_;
  bool where_ = false;
  std::string name_;
};

/// The three are told apart by their types.
template <Find find>
class Of final : public Entry {
 public:
  Of() : Entry(find) {}
};

/// What has been found of the values of a formula on each of the pieces of a grid, times the weights of each
/// point for an integral.
using Moments = reduce::Moments<double>;
struct OnPieces {
  Grid const& grid;
  std::span<Piece const> pieces;
  std::span<Moments const> found;

  /// The point of the first value that is not finite.
  std::optional<std::int64_t> first_non_finite() const;
  double integral() const;
  /// The first piece with the extreme value, and that.
  struct Extreme {
    std::int64_t piece;
    double value;
  };
  Extreme extreme(Find find) const;
};

/// Throws `NumericalError` for a formula that is not finite at a point.
[[noreturn]] void throw_not_finite(std::string_view name, Grid const& grid, std::int64_t point,
                                   Clock const& clock);

/// What finds all entries of a kind.
template <Find find>
std::unique_ptr<SceneFinder> make_finder(config::RunOptions const& run,
                                         std::span<Field const> fields, Stream& stream);

/// What an entry finds, with numbers of points in the place of all coordinates, and times the weights of an integral
/// along all axes but the slowest where that `weighs`.
Expression by_indices(config::RunOptions const& run, Entry const& entry, bool weighs);

/// The same of fields of which ranks have parts, with the same bits. All ranks call it; on the first one it
/// returns the values in the order of their names.
template <Find find, class T>
std::vector<double> find_by_parts(config::RunOptions const& run, OwnParts<T> const& parts);

}  // namespace gridstride::formula
