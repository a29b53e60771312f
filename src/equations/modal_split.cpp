// A system with exact derivatives: arrays of what is linear, brought to points; products of these;
// and derivatives of the products, in modes again.
#include "equations/modal_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "equations/modal_basis.hpp"
#include "equations/modal_points.hpp"
#include "equations/modal_split_parts.hpp"
#include "equations/modal_sums.hpp"

namespace gridstride::equations {
namespace {

using In = ModalError::In;

/// A number in a sum: what is under an operator's derivative.
struct Entry {
  ModalFactor factor;
  Orders orders;
  auto operator<=>(Entry const&) const = default;
};

std::map<Entry, double> entries_of(OperatorSum const& sum) {
  std::map<Entry, double> entries;
  for (auto const& [factor, what] : sum)
    for (auto const& [orders, coefficient] : what) entries[{factor, orders}] = coefficient;
  return entries;
}

/// Tells where a fault is.
template <class Find>
auto located(In in, std::size_t index, Find const& find) {
  try {
    return find();
  } catch (ModalError const&) {
    throw;
  } catch (Error const& error) {
    throw ModalError(in, static_cast<int>(index), error.what());
  }
}

class ModalSplitter {
 public:
  ModalSplitter(System const& system, ModalSpace const& space,
                std::vector<BeyondSides> const& sides)
      : system_(system),
        space_(space),
        points_(system_, sides),
        sums_{.components = system.component_count(), .field_sides = sides} {}

  ModalSystem split(ConstraintSolution& solution) {
    read();
    solution = solve_constraints(system_, constraints_, sums_);
    for (std::size_t c = 0; c < rates_.size(); ++c)
      rest_.push_back(
          located(In::equation, c, [&] { return sums_.sum_of(rates_[c], sums_.field_sides[c]); }));
    for (OperatorSum const& held : sums_.held) rest_.push_back(held);
    find_requests();
    find_levels();
    result_ = empty_system(system_, space_, sums_.field_sides);
    separate_linear();
    make_levels();
    return std::move(result_);
  }

 private:
  /// Forms of all rates and constraints, and how their products go on.
  void read() {
    auto const read_all = [&](In in, std::vector<Term> const& terms, std::vector<Form>& forms) {
      for (std::size_t i = 0; i < terms.size(); ++i)
        forms.push_back(located(in, i, [&] { return points_.read(terms[i]); }));
    };
    read_all(In::equation, system_.rates, rates_);
    read_all(In::constraint, system_.constraints, constraints_);
    sums_.product_sides = points_.sides();
  }

  /// Arrays that products need, each once: those of forms without what is made at the points.
  void find_requests() {
    for (auto const& [product, inputs] : points_.inputs())
      for (Form const& input : inputs) {
        Form const linear = brought_to_points(input);
        if (linear.linear.empty() && linear.products.empty()) continue;
        auto const key = std::pair(linear.linear, linear.products);
        if (requests_.contains(key)) continue;
        BeyondSides const sides = definite(points_.sides_of(linear));
        requests_.emplace(key, Request{sums_.sum_of(linear, sides), sides});
      }
  }
  /// What may go on in any way goes on evenly.
  BeyondSides definite(ContinuedSides const& of) const {
    BeyondSides sides = even_like(sums_.field_sides.front());
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t end = 0; end < 2; ++end)
        if (of[axis][end] == Continued::odd) sides[axis][end] = Beyond::odd;
    return sides;
  }

  /// An array is of a level after those of the products in it, a product of that of its arrays.
  void find_levels() {
    constexpr int most = 8;
    bool changes = true;
    while (changes) {
      changes = false;
      auto const raise = [&](int& level, int to) {
        if (to > level) changes = true;
        level = std::max(level, to);
        if (level > most)
          throw Error(
              "derivatives of products stand in each other too deep, or in a circle of "
              "constraints");
      };
      for (auto& [key, request] : requests_)
        for (auto const& [factor, what] : request.sum)
          if (factor.is_product) raise(request.level, 1 + level_of_product(factor.index));
      for (auto const& [product, inputs] : points_.inputs())
        for (Form const& input : inputs) {
          Form const linear = brought_to_points(input);
          auto const request = requests_.find({linear.linear, linear.products});
          if (request != requests_.end()) raise(levels_[product], request->second.level);
          for (auto const& [derived, coefficient] : input.products)
            if (derived.orders == Orders{}) raise(levels_[product], levels_[derived.product]);
        }
    }
  }
  int level_of_product(int number) {
    return levels_[sums_.products[static_cast<std::size_t>(number)].term];
  }

  /// What rates have of unknowns is L.
  void separate_linear() {
    for (std::size_t c = 0; c < rest_.size(); ++c) {
      bool const is_rate = c < rates_.size();
      ModalSum& target = is_rate ? result_.linear[c] : result_.held[c - rates_.size()];
      for (auto const& [factor, what] : rest_[c])
        if (!factor.is_product) target.push_back(part(factor.index, what, factor.denominator));
    }
  }
  ModalPart part(int quantity, Operator const& numerator, int denominator) const {
    return {
        quantity, numerator,
        denominator < 0 ? Operator{} : sums_.denominators[static_cast<std::size_t>(denominator)]};
  }

  void make_levels() {
    int last = 0;
    bool has_products = false;
    for (OperatorSum const& sum : rest_)
      for (auto const& [factor, what] : sum)
        if (factor.is_product) {
          has_products = true;
          last = std::max(last, level_of_product(factor.index));
        }
    if (!has_products) return;
    find_needed();
    choose_arrays();
    result_.levels.resize(static_cast<std::size_t>(last) + 1);
    for (int level = 0; level < last; ++level) make_level(level, demands_of_arrays(level + 1));
    make_level(last, demands_of_rest());
    place_arrays();
  }

  /// Requests of products that nothing needs are left out.
  void find_needed() {
    std::set<Term> needed;
    std::vector<Term> waiting;
    auto const need = [&](OperatorSum const& sum) {
      for (auto const& [factor, what] : sum) {
        if (!factor.is_product) continue;
        Term const term = sums_.products[static_cast<std::size_t>(factor.index)].term;
        if (needed.insert(term).second) waiting.push_back(term);
      }
    };
    for (OperatorSum const& sum : rest_) need(sum);
    while (!waiting.empty()) {
      auto const inputs = points_.inputs().find(waiting.back());
      waiting.pop_back();
      if (inputs == points_.inputs().end()) continue;
      for (Form const& input : inputs->second) {
        Form const linear = brought_to_points(input);
        if (auto const found = requests_.find({linear.linear, linear.products});
            found != requests_.end()) {
          found->second.is_needed = true;
          need(found->second.sum);
        }
        for (auto const& [derived, coefficient] : input.products)
          if (derived.orders == Orders{} && needed.insert(derived.product).second)
            waiting.push_back(derived.product);
      }
    }
  }

  /// As few arrays as all requests are sums of: short ones first, level by level.
  void choose_arrays() {
    std::vector<Request*> all;
    for (auto& [key, request] : requests_)
      if (request.is_needed) all.push_back(&request);
    std::ranges::stable_sort(all, {}, [](Request const* one) {
      return std::pair(one->level, entries_of(one->sum).size());
    });
    SumBasis<Entry> basis;
    for (Request* const request : all) {
      request->made_of = basis.express(entries_of(request->sum));
      if (basis.members().size() == arrays_.size()) continue;
      Request array = *request;
      array.sum.clear();
      for (auto const& [entry, value] : basis.members().back())
        array.sum[entry.factor][entry.orders] = value;
      arrays_.push_back(std::move(array));
    }
    if (std::ssize(arrays_) > max_arrays)
      throw Error(fmt::format("products of fields are made of {} arrays at the points (at most {})",
                              arrays_.size(), max_arrays));
    points_.set_values([this](Form const& linear, Terms& out) {
      Term sum = out.number(0);
      for (auto const& [array, factor] : requests_.at({linear.linear, linear.products}).made_of)
        sum = out.add(sum, out.multiply(out.number(factor), out.unknown(array)));
      return sum;
    });
  }

  /// What a sum has of products, and who wants it.
  struct Demand {
    std::size_t target;
    int denominator;
    Orders orders;
    auto operator<=>(Demand const&) const = default;
  };
  using Demands = std::map<Demand, std::map<int, double>>;

  static void add_demands(Demands& demands, std::size_t target, OperatorSum const& sum) {
    for (auto const& [factor, what] : sum)
      if (factor.is_product)
        for (auto const& [orders, coefficient] : what)
          demands[{target, factor.denominator, orders}][factor.index] += coefficient;
  }
  Demands demands_of_arrays(int level) const {
    Demands demands;
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      if (arrays_[a].level == level) add_demands(demands, a, arrays_[a].sum);
    return demands;
  }
  Demands demands_of_rest() const {
    Demands demands;
    for (std::size_t c = 0; c < rest_.size(); ++c) add_demands(demands, c, rest_[c]);
    return demands;
  }

  bool is_one(int product) const {
    Term const term = sums_.products[static_cast<std::size_t>(product)].term;
    return system_.terms.is_number(term);
  }

  /// The products of a level: as few as all demands are sums of; the number 1, whose modes are
  /// known, is one by itself.
  void make_level(int level, Demands const& demands) {
    bool const is_last = level + 1 == std::ssize(result_.levels);
    SumBasis<int> basis;
    std::map<int, int> ones;  // of the numbers among the products
    std::vector<std::pair<Demand, SumBasis<int>::Expressed>> expressed;
    std::vector<Demand const*> in_order;
    for (auto const& [demand, products] : demands) in_order.push_back(&demand);
    std::ranges::stable_sort(in_order, {},
                             [&](Demand const* one) { return demands.at(*one).size(); });
    for (Demand const* const demand : in_order) {
      auto products = demands.at(*demand);
      std::erase_if(products, [&](auto const& one) { return is_one(one.first); });
      expressed.emplace_back(
          *demand, products.empty() ? SumBasis<int>::Expressed{} : basis.express(products));
    }
    int const first = product_count_;
    std::vector<Term> results;
    auto& made = result_.levels[static_cast<std::size_t>(level)];
    for (auto const& member : basis.members()) {
      results.push_back(points_.value_of(sum_of_products(member)));
      made.product_sides.push_back(
          sums_.products[static_cast<std::size_t>(member.begin()->first)].sides);
    }
    for (auto const& [demand, products] : demands)
      for (auto const& [product, coefficient] : products)
        if (is_one(product) && !ones.contains(product)) {
          ones[product] = static_cast<int>(results.size());
          results.push_back(points_.one());
          made.product_sides.push_back(sums_.products[static_cast<std::size_t>(product)].sides);
        }
    product_count_ += static_cast<int>(results.size());
    made.program = program_of(points_.out(), results, system_.dims);
    for (auto& [demand, sum] : expressed) {
      for (auto const& [product, coefficient] : demands.at(demand))
        if (is_one(product)) sum.emplace_back(ones.at(product), coefficient);
      for (auto const& [product, factor] : sum) give(is_last, demand, first + product, factor);
    }
  }
  Form sum_of_products(std::map<int, double> const& member) const {
    Form form;
    for (auto const& [product, coefficient] : member)
      form.products[{sums_.products[static_cast<std::size_t>(product)].term, {}}] += coefficient;
    return form;
  }

  /// Who wants it has ∂^orders of factor·product.
  void give(bool is_last, Demand const& demand, int product, double factor) {
    std::size_t const c = demand.target;
    ModalSum& sum = !is_last            ? arrays_[c].of_products
                    : c < rates_.size() ? result_.rest[c]
                                        : result_.held[c - rates_.size()];
    int const quantity = sums_.components + product;
    auto const whole = part(quantity, {{demand.orders, factor}}, demand.denominator);
    auto const same = std::ranges::find_if(sum, [&](ModalPart const& one) {
      return one.quantity == quantity && one.denominator == whole.denominator;
    });
    if (same == sum.end())
      sum.push_back(whole);
    else
      add_to(same->numerator, whole.numerator);
  }

  void place_arrays() {
    for (auto const& array : arrays_) {
      ModalSum sum;
      for (auto const& [factor, what] : array.sum)
        if (!factor.is_product) sum.push_back(part(factor.index, what, factor.denominator));
      sum.insert(sum.end(), array.of_products.begin(), array.of_products.end());
      auto& level = result_.levels[static_cast<std::size_t>(array.level)];
      level.arrays.push_back(std::move(sum));
      level.array_sides.push_back(array.sides);
    }
  }

  struct Request {
    OperatorSum sum;
    BeyondSides sides;
    int level = 0;
    bool is_needed = false;
    SumBasis<Entry>::Expressed made_of = {};  // arrays
    ModalSum of_products = {};                // of an array
  };

  System system_;
  ModalSpace const& space_;
  PointValues points_;
  ModalSums sums_;
  std::vector<Form> rates_, constraints_;
  std::vector<OperatorSum> rest_;  // of rates, then of held fields
  std::map<std::pair<std::map<Derived, double>, std::map<DerivedProduct, double>>, Request>
      requests_;
  std::map<Term, int> levels_;
  std::vector<Request> arrays_;  // level by level
  int product_count_ = 0;
  ModalSystem result_;
};

}  // namespace

int transforms_of(ModalSystem const& system) {
  int count = 0;
  for (ModalLevel const& level : system.levels) {
    count += static_cast<int>(level.arrays.size());
    for (std::int32_t const result : level.program.results)
      if (level.program.code[static_cast<std::size_t>(result)].kind != Kind::number) ++count;
  }
  return count;
}

ModalSystem split_exactly(System const& system, ModalSpace const& space,
                          std::vector<BeyondSides> const& sides, ConstraintSolution& solution) {
  try {
    return ModalSplitter(system, space, sides).split(solution);
  } catch (ConstraintError const& error) {
    throw ModalError(In::constraint, error.constraint, error.what());
  }
}

}  // namespace gridstride::equations
