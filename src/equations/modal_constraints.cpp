// Constraints in modes: Σ A_jk ψ_k + R_j = 0 for each mode, with operators A and what is known R.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "equations/modal_sums.hpp"

namespace gridstride::equations {
namespace {

using OperatorMatrix = std::vector<std::vector<Operator>>;

/// The most fields that need each other.
constexpr std::size_t most_together = 4;

class ConstraintSolver {
 public:
  ConstraintSolver(System const& system, std::vector<Form> const& forms, ModalSums& sums)
      : system_(system),
        forms_(forms),
        sums_(sums),
        count_(forms.size()),
        operators_(count_, std::vector<Operator>(count_)),
        known_(forms) {
    sums_.held.assign(count_, {});
    for (std::size_t j = 0; j < count_; ++j) separate(j);
  }

  ConstraintSolution solve() {
    pair_up();
    ConstraintSolution solution;
    std::vector<char> done(count_, 0);
    while (std::ranges::count(done, 0) > 0) solution.blocks.push_back(solve_next(done));
    return solution;
  }

 private:
  bool is_held(int component) const { return component >= sums_.components; }
  std::size_t field(int component) const {
    return static_cast<std::size_t>(component - sums_.components);
  }
  std::string const& name(std::size_t k) const { return system_.names[k].name.name; }
  [[noreturn]] static void refuse(std::size_t j, std::string const& what) {
    throw ConstraintError(static_cast<int>(j), what);
  }

  /// Operators on held fields, and what is left.
  void separate(std::size_t j) {
    for (auto const& [derived, coefficient] : forms_[j].linear) {
      if (!is_held(derived.component)) continue;
      std::size_t const k = field(derived.component);
      int const order = std::accumulate(derived.orders.begin(), derived.orders.end(), 0);
      if (order % 2 != 0)
        refuse(j, fmt::format("a derivative of odd order of '{}' stands in a constraint, which "
                              "takes those of even order (laplace({}) for instance)",
                              name(k), name(k)));
      equations::add_to(operators_[j][k], {{derived.orders, coefficient}});
      known_[j].linear.erase(derived);
    }
  }

  /// A field for each constraint, as k to j: those that they hold by themselves where there is a
  /// choice. Constraints are put into the order of their fields.
  void pair_up() {
    std::vector<int> of_field(count_, -1);
    for (std::size_t j = 0; j < count_; ++j) {
      std::vector<char> tried(count_, 0);
      if (!match(j, of_field, tried))
        refuse(j,
               "it determines none of the fields that the others leave (each of them has to "
               "stand in a constraint of its own, linearly)");
    }
    for (int const j : of_field) order_.push_back(static_cast<std::size_t>(j));
  }
  bool match(std::size_t j, std::vector<int>& of_field, std::vector<char>& tried) const {
    for (std::size_t k = 0; k < count_; ++k) {
      if (operators_[j][k].empty() || tried[k]) continue;
      tried[k] = 1;
      if (of_field[k] < 0 || match(static_cast<std::size_t>(of_field[k]), of_field, tried)) {
        of_field[k] = static_cast<int>(j);
        return true;
      }
    }
    return false;
  }

  /// Fields that its constraint needs, by way of others too.
  std::vector<char> needs(std::size_t k) const {
    std::vector<char> needed(count_, 0);
    std::vector<std::size_t> waiting = {k};
    while (!waiting.empty()) {
      std::size_t const one = waiting.back();
      waiting.pop_back();
      for (std::size_t other = 0; other < count_; ++other)
        if (!needed[other] && stands_in(order_[one], other)) {
          needed[other] = 1;
          waiting.push_back(other);
        }
    }
    return needed;
  }
  bool stands_in_products(std::size_t j, std::size_t k) const {
    return std::ranges::any_of(known_[j].products, [&](auto const& one) {
      return system_.terms.contains(one.first.product, Kind::name, static_cast<int>(k));
    });
  }
  bool stands_in(std::size_t j, std::size_t k) const {
    return !operators_[j][k].empty() || stands_in_products(j, k);
  }

  /// The next fields that need none but each other and those that are done.
  ConstraintSolution::Block solve_next(std::vector<char>& done) {
    for (std::size_t k = 0; k < count_; ++k) {
      if (done[k]) continue;
      auto const needed = needs(k);
      std::vector<std::size_t> block = {};
      bool waits = false;
      for (std::size_t other = 0; other < count_; ++other) {
        bool const together = other == k || (needed[other] && needs(other)[k]);
        if (together) block.push_back(other);
        waits = waits || (needed[other] && !together && !done[other]);
      }
      if (waits) continue;
      for (std::size_t const one : block) done[one] = 1;
      return solve(block);
    }
    refuse(0, "the constraints need each other in a circle");
  }

  ConstraintSolution::Block solve(std::vector<std::size_t> const& block) {
    if (block.size() > most_together)
      refuse(order_[block.front()],
             fmt::format("{} fields need each other (at most {})", block.size(), most_together));
    OperatorMatrix matrix;
    std::vector<OperatorSum> known;
    ConstraintSolution::Block result;
    for (std::size_t const i : block) {
      std::size_t const j = order_[i];
      for (std::size_t const k : block)
        if (stands_in_products(j, k))
          refuse(j, fmt::format("'{}' is not linear in it with constant coefficients, as a "
                                "constraint has to be",
                                name(k)));
      auto& row = matrix.emplace_back();
      for (std::size_t const k : block) row.push_back(operators_[j][k]);
      known.push_back(known_sum(j, block));
      result.fields.push_back(static_cast<int>(i));
      result.constraints.push_back(static_cast<int>(j));
    }
    result.determinant = determinant(matrix);
    if (result.determinant.empty())
      refuse(static_cast<std::size_t>(std::ranges::min(result.constraints)),
             "the constraints of these fields say the same");
    for (std::size_t i = 0; i < block.size(); ++i) {
      OperatorSum sum;
      for (std::size_t j = 0; j < block.size(); ++j)
        equations::add_to(sum, multiplied(known[j], cofactor(matrix, j, i)), -1, {});
      sums_.held[block[i]] = over(sum, result.determinant);
    }
    return result;
  }

  /// What a constraint has beside the fields of a block.
  OperatorSum known_sum(std::size_t j, std::vector<std::size_t> const& block) {
    BeyondSides const& sides =
        sums_.field_sides[static_cast<std::size_t>(sums_.components) + block.front()];
    Form form = known_[j];
    try {
      for (std::size_t k = 0; k < count_; ++k)
        for (auto const& [orders, coefficient] : operators_[j][k]) {
          Derived const derived = {sums_.components + static_cast<int>(k), orders};
          if (std::ranges::count(block, k) == 0)
            form.linear.emplace(derived, coefficient);
          else if (differentiated(sums_.field_sides[static_cast<std::size_t>(derived.component)],
                                  orders) != sides)
            throw Error("the fields in it go on in different ways beyond the sides");
        }
      return sums_.sum_of(form, sides);
    } catch (ConstraintError const&) {
      throw;
    } catch (Error const& error) {
      refuse(j, error.what());
    }
  }

  OperatorSum over(OperatorSum const& sum, Operator const& determinant) {
    OperatorSum result;
    for (auto const& [of, what] : sum) {
      Operator const whole =
          of.denominator < 0
              ? determinant
              : equations::multiplied(sums_.denominators[static_cast<std::size_t>(of.denominator)],
                                      determinant);
      result[{of.is_product, of.index, is_one(whole) ? -1 : sums_.denominator(whole)}] = what;
    }
    return result;
  }

  static OperatorMatrix without(OperatorMatrix const& matrix, std::size_t row, std::size_t column) {
    OperatorMatrix result;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      if (i == row) continue;
      auto& line = result.emplace_back(matrix[i]);
      line.erase(line.begin() + static_cast<std::ptrdiff_t>(column));
    }
    return result;
  }
  static Operator determinant(OperatorMatrix const& matrix) {
    if (matrix.empty()) return {{Orders{}, 1.0}};
    Operator sum;
    for (std::size_t k = 0; k < matrix.size(); ++k)
      equations::add_to(sum, equations::multiplied(matrix[0][k], cofactor(matrix, 0, k)));
    return sum;
  }
  static Operator cofactor(OperatorMatrix const& matrix, std::size_t row, std::size_t column) {
    Operator signed_one;
    equations::add_to(signed_one, determinant(without(matrix, row, column)),
                      (row + column) % 2 == 0 ? 1 : -1);
    return signed_one;
  }

  System const& system_;
  std::vector<Form> const& forms_;
  ModalSums& sums_;
  std::size_t count_;
  OperatorMatrix operators_;        // of each constraint on each field
  std::vector<Form> known_;         // of each constraint, without those
  std::vector<std::size_t> order_;  // the constraint of each field
};

}  // namespace

ConstraintSolution solve_constraints(System const& system, std::vector<Form> const& forms,
                                     ModalSums& sums) {
  return ConstraintSolver(system, forms, sums).solve();
}

}  // namespace gridstride::equations
