#include "equations/discretise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "equations/differences.hpp"
#include "equations/lasting.hpp"
#include "equations/reactions.hpp"
#include "equations/sides.hpp"
#include "equations/upwind.hpp"

namespace gridstride::equations {
namespace {
using expression::Operation;
using Offset = std::array<std::int8_t, 3>;
using Orders = std::array<std::int8_t, 3>;

class Discretiser {
 public:
  /// Of the system's terms and those that were made of them.
  Discretiser(System const& system, Terms const& from, Grid const& grid, Space const& space,
              NamesAs names, LastingAs lasting, Stencil& to)
      : system_(system),
        names_(names),
        lasting_(from, system.dims, lasting == LastingAs::arrays ? room_for_lasting(system) : 0),
        formulas_(to.lasting),
        from_(from),
        grid_(grid),
        differences_(differences_of(space.order)),
        to_(to.terms),
        operands_(to.operands) {
    to.spacing = grid.spacing;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (static_cast<int>(axis) < grid.dims)
        to.measure *= static_cast<double>(grid.points[axis]) * grid.spacing[axis];
    for (SidedName const& one : system.names) {
      auto& components = to.names.emplace_back();
      for (Term const term : one.terms) components.push_back(at(term, {}));
    }
  }

  /// The value of a term at the point so far off. Operations may be nested as deep as there are
  /// terms, so they are not left to recursion.
  Term at(Term term, Offset offset) {
    if (from_.is_uniform(term)) offset = {};
    auto const known = [&](Term part) { return points_.contains({part, offset}); };
    for (Term const part : operations_of(term, known))
      points_.emplace(std::pair{part, offset}, make(part, offset));
    return points_.at({term, offset});
  }

  /// Slopes count on their own side; numbers everywhere.
  void add(SideSlopes const& slopes, Reactions const& reactions, Stencil& stencil) {
    auto const on_side = [&](Term of, int axis, int end) {
      Term const value = at(of, {});
      if (to_.is_number(value)) return value;
      return to_.operation(Operation::select, to_.on_side(axis, end), value, to_.number(0));
    };
    for (Stencil::SideSlope one : slopes.of_values) {
      one.slope = on_side(one.slope, one.axis, one.end);
      stencil.side_slopes.push_back(one);
    }
    for (Stencil::FluxSlope one : slopes.of_fluxes) {
      one.here = on_side(one.here, one.axis, one.end);
      one.inside = on_side(one.inside, one.axis, one.end);
      stencil.flux_slopes.push_back(one);
    }
    for (auto const& [rate, of, value] : reactions)
      stencil.reactions.push_back({rate, of, at(value, {})});
  }

 private:
  /// A term and what it is made of down to what is no operation, what is known left out; operands
  /// come first.
  template <class Known>
  std::vector<Term> operations_of(Term root, Known const& known) {
    if (known(root)) return {};
    std::vector<Term> waiting = {root};
    std::set<Term> found = {root};
    while (!waiting.empty()) {
      Term const part = waiting.back();
      Node const& node = from_[part];
      waiting.pop_back();
      if (!is_operation(part)) continue;
      for (int i = 0; i < operand_count(node); ++i) {
        Term const operand = node.operands[static_cast<std::size_t>(i)];
        if (!known(operand) && found.insert(operand).second) waiting.push_back(operand);
      }
    }
    return {found.begin(), found.end()};
  }

  /// The number of its array; −1: it has none.
  int array_of(Term term) { return in_formula_ ? -1 : lasting_.number_of(term); }
  /// Whether it is made of its operands.
  bool is_operation(Term term) { return from_[term].kind == Kind::operation && array_of(term) < 0; }

  /// What an array holds at the point so far off.
  Term lasting(int number, Offset offset) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!lasting_.varies_along(lasting_.numbered()[static_cast<std::size_t>(number)], axis))
        offset[axis] = 0;
    for (std::size_t n = formulas_.size(); n < lasting_.numbered().size(); ++n) {
      auto others = std::exchange(points_, {});
      in_formula_ = true;
      formulas_.push_back(at(lasting_.numbered()[n], {}));
      in_formula_ = false;
      points_ = std::move(others);
    }
    return to_.unknown(system_.component_count() + system_.name_count() + number, offset);
  }

  Term make(Term term, Offset offset) {
    Node const& node = from_[term];
    if (int const array = array_of(term); array >= 0) return lasting(array, offset);
    auto const [a, b, c] = node.operands;
    switch (node.kind) {
      case Kind::coordinate:
        return to_.coordinate(node.index, offset[static_cast<std::size_t>(node.index)]);
      case Kind::unknown:
        return to_.unknown(node.index, offset);
      case Kind::name:
        return names_ == NamesAs::arrays
                   ? to_.unknown(system_.component_count() + node.index, offset)
                   : at(system_.meaning(node.index), offset);
      case Kind::time:
        return to_.time();
      case Kind::operation:
        return apply(node, [&](Term operand) { return points_.at({operand, offset}); });
      case Kind::derivative:
        return derivative(a, node.orders, offset);
      case Kind::flux:
        return flux_between_sides(node, offset);
      case Kind::transport:
        return to_.multiply(at(a, offset), derivative(b, once(node.index), offset));
      case Kind::uniform:
      case Kind::normal:
      case Kind::noise:
        return to_.random(node.kind, node.index, offset);
      case Kind::integral:
      case Kind::mean:
      case Kind::least:
      case Kind::greatest:
        return global(node.kind, a);
      default:
        return to_.number(node.value);
    }
  }

  /// The number that a global is: what it is of becomes an operand, where it is none yet.
  Term global(Kind kind, Term of) {
    auto const check = [](std::ptrdiff_t operands) {
      if (operands > max_operands)
        throw Error(fmt::format(
            "equations may have integrals, means and extremes of {} expressions at most",
            max_operands));
    };
    check(++depth_);
    Term const operand = at(of, {});
    --depth_;
    auto const known = std::ranges::find(operands_, operand) - operands_.begin();
    if (known == std::ssize(operands_)) operands_.push_back(operand);
    check(std::ssize(operands_));
    auto const which = std::ranges::find(global_kinds, kind) - std::begin(global_kinds);
    return to_.found(static_cast<int>(numbers_of_operand * known + which));
  }

  static Orders once(int axis) {
    Orders orders = {};
    orders[static_cast<std::size_t>(axis)] = 1;
    return orders;
  }

  static Offset moved(Offset offset, int axis, int by) {
    auto& one = offset[static_cast<std::size_t>(axis)];
    if (std::abs(one + by) > max_reach)
      throw Error(fmt::format("an equation reaches over more than {} points along {}", max_reach,
                              axis_names[static_cast<std::size_t>(axis)]));
    one = static_cast<std::int8_t>(one + by);
    return offset;
  }

  double spacing(int axis) const { return grid_.spacing[static_cast<std::size_t>(axis)]; }

  /// An operation, of what `operand` gives for each operand.
  template <class Operand>
  Term apply(Node const& node, Operand const& operand) {
    std::array<Term, 3> operands = {-1, -1, -1};
    for (int i = 0; i < operand_count(node); ++i)
      operands[static_cast<std::size_t>(i)] = operand(node.operands[static_cast<std::size_t>(i)]);
    return to_.pointwise(node.operation, operands[0], operands[1], operands[2]);
  }

  Term derivative(Term of, Orders orders, Offset offset) {
    auto const axis = static_cast<int>(
        std::ranges::find_if(orders, [](int order) { return order > 0; }) - orders.begin());
    if (axis == 3) return at(of, offset);
    auto& order = orders[static_cast<std::size_t>(axis)];
    bool const second = order >= 2;
    order = static_cast<std::int8_t>(order - (second ? 2 : 1));
    auto const value = [&](int by) { return derivative(of, orders, moved(offset, axis, by)); };
    double const h = spacing(axis);
    if (!second)
      return sum(differences_.first, h, [&](int k) { return to_.subtract(value(k), value(-k)); });
    Term const center = value(0);
    return sum(differences_.second, h * h, [&](int k) {
      return to_.subtract(to_.subtract(value(k), center), to_.subtract(center, value(-k)));
    });
  }

  /// Σ weight_k·difference(k)/(divisor·unit)
  template <class Difference>
  Term sum(Pairs const& pairs, double unit, Difference const& difference) {
    Term sum = to_.number(0);
    for (std::size_t i = 0; i < pairs.weights.size(); ++i)
      sum = to_.add(sum, to_.multiply(to_.number(pairs.weights[i] / (pairs.divisor * unit)),
                                      difference(static_cast<int>(i) + 1)));
    return sum;
  }

  Term flux(Term of, int axis, Offset offset) {
    if (!meets_face(of, axis)) return derivative(of, once(axis), offset);
    return sum(differences_.across, spacing(axis), [&](int k) {
      return to_.subtract(face(of, axis, moved(offset, axis, k - 1)),
                          face(of, axis, moved(offset, axis, -k)));
    });
  }

  /// What flows through the face to the next point, so that `flux` is a difference of two of these.
  Term through(Term of, int axis, Offset offset) {
    bool const meets = meets_face(of, axis);
    Pairs const& pairs = meets ? differences_.across : differences_.first;
    Term result = to_.number(0);
    for (std::size_t i = 0; i < pairs.weights.size(); ++i) {
      int const k = static_cast<int>(i) + 1;
      Term sum = to_.number(0);
      for (int m = 1 - k; m <= (meets ? k - 1 : k); ++m) {
        Offset const place = moved(offset, axis, m);
        sum = to_.add(sum, meets ? face(of, axis, place) : at(of, place));
      }
      result = to_.add(result, to_.multiply(to_.number(pairs.weights[i] / pairs.divisor), sum));
    }
    return result;
  }

  Term flux_between_sides(Node const& node, Offset offset) {
    int const axis = node.index;
    Term const of = node.operands[0];
    Term result = flux(of, axis, offset);
    if (names_ == NamesAs::formulas) return result;
    auto const given = flux_through_sides(node, node.operands);
    for (int end = 0; end < 2; ++end) {
      if (given[static_cast<std::size_t>(end)] < 0) continue;
      Term const outward = at(given[static_cast<std::size_t>(end)], offset);
      Term const change = end == 0
                              ? to_.add(through(of, axis, offset), outward)
                              : to_.subtract(outward, through(of, axis, moved(offset, axis, -1)));
      Term const here = to_.on_side(axis, end, offset[static_cast<std::size_t>(axis)]);
      result = to_.operation(Operation::select, here,
                             to_.multiply(to_.number(2 / spacing(axis)), change), result);
    }
    return result;
  }

  /// Whether a derivative stands in it that is the difference of the points on both sides of a face.
  bool meets_face(Term term, int axis) {
    auto const known = [&](Term part) { return meets_.contains({part, axis}); };
    for (Term const part : operations_of(term, known)) {
      Node const& node = from_[part];
      bool result = false;
      if (node.kind == Kind::derivative)
        result = node.orders[static_cast<std::size_t>(axis)] % 2 != 0;
      else if (node.kind == Kind::flux || node.kind == Kind::transport)
        result = node.index == axis;
      else if (is_operation(part))
        for (int i = 0; i < operand_count(node); ++i)
          result = result || meets_.at({node.operands[static_cast<std::size_t>(i)], axis});
      meets_.emplace(std::pair{part, axis}, result);
    }
    return meets_.at({term, axis});
  }

  using Face = std::tuple<Term, int, Offset>;

  /// The value at the face between a point and the next one along an axis.
  Term face(Term term, int axis, Offset offset) {
    auto const known = [&](Term part) { return faces_.contains({part, axis, offset}); };
    for (Term const part : operations_of(term, known))
      faces_.emplace(Face{part, axis, offset}, make_face(part, axis, offset));
    return faces_.at({term, axis, offset});
  }

  Term make_face(Term term, int axis, Offset offset) {
    Node const& node = from_[term];
    if (!meets_face(term, axis)) return mean(term, axis, offset);
    auto const slope = [&](Term of, Orders orders) {
      orders[static_cast<std::size_t>(axis)] -= 1;
      return sum(differences_.across, spacing(axis), [&](int k) {
        return to_.subtract(derivative(of, orders, moved(offset, axis, k)),
                            derivative(of, orders, moved(offset, axis, 1 - k)));
      });
    };
    switch (node.kind) {
      case Kind::derivative:
        return slope(node.operands[0], node.orders);
      case Kind::flux:
        return slope(node.operands[0], once(axis));
      case Kind::transport:
        return to_.multiply(face(node.operands[0], axis, offset),
                            slope(node.operands[1], once(axis)));
      default:
        return apply(node, [&](Term operand) { return faces_.at({operand, axis, offset}); });
    }
  }

  /// Between a point and the next one.
  Term mean(Term term, int axis, Offset offset) {
    auto const value = [&](int by) { return at(term, moved(offset, axis, by)); };
    Term const here = value(0), there = value(1);
    if (here == there) return here;
    Term result = to_.multiply(to_.number(0.5), to_.add(here, there));
    for (std::size_t i = 0; i < differences_.mean.size(); ++i) {
      int const k = static_cast<int>(i) + 2;
      Term const distance =
          to_.add(to_.subtract(here, value(1 - k)), to_.subtract(there, value(k)));
      result = to_.add(result, to_.multiply(to_.number(differences_.mean[i]), distance));
    }
    return result;
  }

  static int room_for_lasting(System const& system) {
    return std::min(most_lasting, max_components - system.component_count() - system.name_count());
  }

  System const& system_;
  NamesAs names_;
  LastingTerms lasting_;
  std::vector<Term>& formulas_;  // what its arrays hold
  bool in_formula_ = false;      // of such an array
  Terms const& from_;
  Grid grid_;
  Differences const& differences_;
  Terms& to_;
  std::vector<Term>& operands_;
  int depth_ = 0;  // of globals
  std::map<std::pair<Term, Offset>, Term> points_;
  std::map<std::pair<Term, int>, bool> meets_;
  std::map<Face, Term> faces_;
};

/// What is left of the rates, and what is carried along.
class SplitDiscretiser {
 public:
  SplitDiscretiser(System const& system, Grid const& grid, Space const& space, NamesAs names,
                   LastingAs lasting)
      : split_(split_convection(system)),
        grid_(grid),
        space_(space),
        stencil_{.terms = {}, .rates = {}, .convection = space.convection},
        discretiser_(system, split_.terms, grid, space, names, lasting, stencil_),
        central_(differences_of(space.convection == Convection::weno5 ? 6 : 2)) {
    for (std::size_t c = 0; c < split_.rests.size(); ++c) {
      stencil_.rates.push_back(discretiser_.at(split_.rests[c], {}));
      variables_.push_back(split_.terms.unknown(static_cast<int>(c)));
    }
  }

  Stencil complete() {
    for (auto const& one : split_.fluxes) {
      Term& rate = stencil_.rates[one.component];
      rate = terms().subtract(
          rate, convective_difference(terms(), space_, values_, one, variables_[one.component],
                                      spacing(one.axis)));
    }
    for (auto const& one : split_.transports) {
      Term& rate = stencil_.rates[one.component];
      rate = terms().add(rate, terms().multiply(value(one.velocity), difference(one)));
    }
    return std::move(stencil_);
  }

  Stencil for_stability(SideSlopes const& slopes, Reactions const& reactions) {
    discretiser_.add(slopes, reactions, stencil_);
    auto const speed = [&](Term of, int axis) {
      return terms().multiply(terms().number(1 / spacing(axis)), value(of));
    };
    for (auto const& one : split_.fluxes)
      stencil_.carried.push_back({one.component, one.family, speed(one.speed, one.axis)});
    for (auto const& one : split_.transports) {
      stencil_.carried.push_back({one.component, one.component,
                                  terms().operation(Operation::abs, speed(one.drift, one.axis))});
      // What neighbours do to the velocity counts.
      if (one.has_operators) add_slopes_of_velocity(one);
    }
    for (auto const& one : split_.couplings) add_slopes(one);
    return std::move(stencil_);
  }

 private:
  Terms& terms() { return stencil_.terms; }
  double spacing(int axis) const { return grid_.spacing[static_cast<std::size_t>(axis)]; }
  Term value(Term term) { return discretiser_.at(term, {}); }
  Term difference(ConvectiveTransport const& one) {
    return transported_difference(terms(), space_, values_, one, spacing(one.axis));
  }

  void add_slopes_of_velocity(ConvectiveTransport const& one) {
    Term const velocity = value(one.velocity), slope = difference(one);
    std::array<Term, 1> const root = {velocity};
    for (Node const& node : program_of(terms(), root, 3).code) {
      if (node.kind != Kind::unknown) continue;
      Term const of_velocity = terms().partial(velocity, terms().unknown(node.index, node.orders));
      stencil_.slopes.push_back({one.component, static_cast<std::size_t>(node.index), node.orders,
                                 terms().multiply(of_velocity, slope)});
    }
  }

  void add_slopes(Coupling const& one) {
    for (std::size_t i = 0; i < central_.first.weights.size(); ++i)
      for (int const side : {1, -1}) {
        Offset offset = {};
        offset[static_cast<std::size_t>(one.axis)] =
            static_cast<std::int8_t>(side * static_cast<int>(i + 1));
        double const weight =
            -side * central_.first.weights[i] / (central_.first.divisor * spacing(one.axis));
        stencil_.slopes.push_back(
            {one.component, one.other, offset,
             terms().multiply(terms().number(weight), discretiser_.at(one.slope, offset))});
      }
  }

  SplitSystem split_;
  Grid grid_;
  Space space_;
  Stencil stencil_;
  Discretiser discretiser_;
  Differences const& central_;
  std::vector<Term> variables_;
  ValueAlong values_ = [this](Term term, int axis, int by) {
    Offset offset = {};
    offset[static_cast<std::size_t>(axis)] = static_cast<std::int8_t>(by);
    return discretiser_.at(term, offset);
  };
};

}  // namespace

Stencil discretise(System const& system, Grid const& grid, Space const& space, NamesAs names,
                   LastingAs lasting) {
  if (space.convection != Convection::central)
    return SplitDiscretiser(system, grid, space, names, lasting).complete();
  Stencil stencil;
  Discretiser discretiser(system, system.terms, grid, space, names, lasting, stencil);
  for (Term const rate : system.rates) stencil.rates.push_back(discretiser.at(rate, {}));
  return stencil;
}

Stencil discretise_for_stability(System const& system, Grid const& grid, Space const& space) {
  constexpr auto names = NamesAs::formulas;
  constexpr auto lasting = LastingAs::formulas;
  System with_slopes = system;
  SideSlopes const slopes = slopes_of_sides(with_slopes, grid, space);
  auto const reactions = reactions_of(with_slopes);
  if (space.convection != Convection::central)
    return SplitDiscretiser(with_slopes, grid, space, names, lasting)
        .for_stability(slopes, reactions);
  Stencil stencil;
  Discretiser discretiser(with_slopes, with_slopes.terms, grid, space, names, lasting, stencil);
  for (Term const rate : system.rates) stencil.rates.push_back(discretiser.at(rate, {}));
  discretiser.add(slopes, reactions, stencil);
  return stencil;
}

}  // namespace gridstride::equations
