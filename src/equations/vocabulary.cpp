#include "equations/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

#include "core/error.hpp"
#include "expression/lexer.hpp"
#include "grid/grid.hpp"

namespace gridstride::equations {
namespace {

using expression::fail_at;
using expression::FunctionInfo;
using expression::Operation;

constexpr std::pair<std::string_view, double> numbers_with_names[] = {{"pi", std::numbers::pi},
                                                                      {"e", std::numbers::e}};

double const* find_number(std::string_view name) {
  auto const found =
      std::ranges::find(numbers_with_names, name, &std::pair<std::string_view, double>::first);
  return found == std::end(numbers_with_names) ? nullptr : &found->second;
}

LanguageOperator const* find_operator(std::string_view name) {
  auto const found = std::ranges::find(operators(), name,
                                       [](LanguageOperator const& one) { return one.info.name; });
  return found == operators().end() ? nullptr : &*found;
}

FunctionInfo const* find_function(std::string_view name) {
  auto const found = std::ranges::find(expression::functions(), name, &FunctionInfo::name);
  return found == expression::functions().end() ? nullptr : &*found;
}

/// The number of the axis of that name, -1 for others.
int axis_called(std::string_view name) {
  auto const found = std::ranges::find(axis_names, name);
  return found == axis_names.end() ? -1 : static_cast<int>(found - axis_names.begin());
}

std::string axes_of(int dims) {
  return fmt::format("{} ax{}s (see grid.points)", dims, dims == 1 ? "i" : "e");
}

/// What other texts call our operators.
constexpr std::pair<std::string_view, std::string_view> foreign_operators[] = {
    {"laplacian", "laplace"}, {"lap", "laplace"},     {"nabla", "grad"},      {"gradient", "grad"},
    {"divergence", "div"},    {"rot", "curl"},        {"d_dt", "dt"},         {"inner", "dot"},
    {"d2_dydx", "d2_dxdy"},   {"d2_dzdx", "d2_dxdz"}, {"d2_dzdy", "d2_dydz"},
};

struct Sign {
  Operation operation;
  std::string_view text;
};

constexpr Sign signs[] = {
    {Operation::add, "+"},         {Operation::subtract, "-"},   {Operation::multiply, "*"},
    {Operation::divide, "/"},      {Operation::power, "^"},      {Operation::less, "<"},
    {Operation::less_equal, "<="}, {Operation::greater, ">"},    {Operation::greater_equal, ">="},
    {Operation::equal, "=="},      {Operation::not_equal, "!="},
};

}  // namespace

/// Keeps what `make` makes, where there are not too many terms.
template <class Make>
EquationVocabulary::Value EquationVocabulary::add(std::size_t begin, std::size_t position,
                                                  Make make) {
  if (values_.size() == static_cast<std::size_t>(expression::max_formula_nodes))
    expression::fail_too_long(position);
  Ranked value;
  try {
    value = make();
  } catch (expression::ParseError const&) {
    throw;
  } catch (Error const& error) {
    fail_at(position, error.what());
  }
  for (int k = 0; k < term_count(value.rank, dims_); ++k)
    if (Node const& node = terms_[value.terms[static_cast<std::size_t>(k)]];
        node.kind == Kind::number && !std::isfinite(node.value))
      not_finite_.push_back({static_cast<Value>(values_.size()), position, node.value});
  value.begin = begin;
  values_.push_back(value);
  return static_cast<Value>(values_.size() - 1);
}

Ranked const& EquationVocabulary::finished(Value value) const {
  if (not_finite_.empty()) return (*this)[value];
  auto const& [part, position, number] = not_finite_.front();
  fail_at(position, fmt::format("the value is not a finite number (it is {})",
                                std::isnan(number) ? NAN : number));
}

/// An argument's parts are those made since the argument before it.
void EquationVocabulary::leave_out(std::span<Value const> arguments, std::size_t argument) {
  std::erase_if(not_finite_, [&](NotFinite const& one) {
    return one.value > arguments[argument - 1] && one.value <= arguments[argument];
  });
}

FunctionInfo const* EquationVocabulary::function(std::string_view name) const {
  if (LanguageOperator const* const known = find_operator(name))
    return known->info.arguments > 0 ? &known->info : nullptr;
  return find_function(name);
}

std::string_view EquationVocabulary::noun_of(std::string_view name, std::size_t position) const {
  if (find_operator(name) != nullptr) return "tensor";
  if (int const axis = axis_called(name); axis >= dims_)
    fail_at(position,
            fmt::format("the formula depends on '{}', but the grid has {}", name, axes_of(dims_)));
  if (axis_called(name) >= 0 || name == "t") return "variable";
  if (find_number(name) != nullptr) return "number";
  if (std::string_view const noun = names_.noun_of(name); !noun.empty()) return noun;
  return constants_.contains(name) ? "number" : "";
}

EquationVocabulary::Value EquationVocabulary::number(double value, std::size_t position) {
  return add(position, position, [&] { return Ranked{0, {terms_.number(value)}}; });
}

EquationVocabulary::Value EquationVocabulary::named(std::string_view name, std::size_t position) {
  return add(position, position, [&]() -> Ranked {
    if (LanguageOperator const* const constant = find_operator(name))
      return constant->make({terms_, dims_, constant->info, position, {}, {}});
    if (int const axis = axis_called(name); axis >= 0) return {0, {terms_.coordinate(axis)}};
    if (name == "t") return {0, {terms_.time()}};
    if (double const* const value = find_number(name)) return {0, {terms_.number(*value)}};
    if (!names_.noun_of(name).empty()) return names_.value_of(name, position);
    return {0, {terms_.number(constants_.find(name)->second)}};
  });
}

EquationVocabulary::Value EquationVocabulary::negated(Value a, bool, std::size_t position) {
  return add(position, position, [&] {
    Ranked value = (*this)[a];
    for (int k = 0; k < term_count(value.rank, dims_); ++k) {
      Term& term = value.terms[static_cast<std::size_t>(k)];
      term = terms_.negate(term);
    }
    return value;
  });
}

/// The rank of what an operation makes.
int EquationVocabulary::rank_of_operation(Operation operation, Ranked const& a, Ranked const& b,
                                          std::size_t position) const {
  auto const refuse = [&](std::string_view why, std::string_view suggestion = {}) {
    fail_at(position,
            fmt::format("{} '{}' {}", noun_of_rank(a.rank),
                        std::ranges::find(signs, operation, &Sign::operation)->text,
                        noun_of_rank(b.rank)),
            why, suggestion);
  };
  switch (operation) {
    case Operation::add:
    case Operation::subtract:
      if (a.rank != b.rank) refuse("both sides must be of one kind");
      return a.rank;
    case Operation::multiply:
      if (a.rank > 0 && b.rank > 0)
        refuse("a product of these is written dot(a, b), which sums, or outer(a, b), a tensor");
      return std::max(a.rank, b.rank);
    case Operation::divide:
      if (b.rank > 0) refuse("only a scalar can be divided by");
      return a.rank;
    case Operation::power:
      if (a.rank > 0 || b.rank > 0) refuse("powers are of scalars", a.rank > 0 ? "norm2(v)" : "");
      return 0;
    default:
      if (a.rank > 0 || b.rank > 0) refuse("only scalars can be compared");
      return 0;
  }
}

/// Of the components of a and b with the same place, where a scalar has its one in all places.
Ranked EquationVocabulary::each_of(int rank, Ranked const& a, Ranked const& b,
                                   Operation operation) {
  Ranked result = {rank, {}};
  for (std::size_t k = 0; k < static_cast<std::size_t>(term_count(rank, dims_)); ++k)
    result.terms[k] =
        terms_.operation(operation, a.terms[a.rank == 0 ? 0 : k], b.terms[b.rank == 0 ? 0 : k]);
  return result;
}

EquationVocabulary::Value EquationVocabulary::operation(Operation operation, Value left,
                                                        Value right, std::size_t position) {
  Ranked const a = (*this)[left], b = (*this)[right];
  return add(a.begin, position, [&] {
    return each_of(rank_of_operation(operation, a, b, position), a, b, operation);
  });
}

EquationVocabulary::Value EquationVocabulary::call(FunctionInfo const& function,
                                                   std::span<Value const> arguments,
                                                   std::size_t position) {
  std::vector<Ranked> values;
  for (Value const argument : arguments) values.push_back((*this)[argument]);
  LanguageOperator const* const known = find_operator(function.name);
  if (Term const first = values.front().terms[0];
      known == nullptr && function.operation == Operation::select && terms_.is_number(first))
    leave_out(arguments, terms_[first].value != 0 ? 2 : 1);
  return add(position, position, [&] {
    // min(a) is of all points, min(a, b) at each.
    bool const at_points = known != nullptr && std::ssize(values) > known->info.arguments;
    if (known == nullptr || at_points)
      return call_function(*find_function(function.name), values, position);
    auto const rate = [&](int component) { return names_.rate_of(component, position); };
    return known->make({terms_, dims_, function, position, values, rate});
  });
}

/// Functions of formulas are of scalars, but for the branches of `if`.
Ranked EquationVocabulary::call_function(FunctionInfo const& function,
                                         std::span<Ranked const> arguments, std::size_t position) {
  bool const chooses = function.operation == Operation::select;
  for (std::size_t i = 0; i < (chooses ? 1 : arguments.size()); ++i)
    if (arguments[i].rank > 0)
      fail_at(arguments[i].begin,
              fmt::format("'{}' takes {}, here is {}", function.name,
                          chooses ? "a scalar first" : "scalars", noun_of_rank(arguments[i].rank)),
              fmt::format("it is called as {}", function.signature),
              function.operation == Operation::abs ? "norm" : "");
  if (!chooses) {
    auto const term = [&](std::size_t i) {
      return i < arguments.size() ? arguments[i].terms[0] : -1;
    };
    return {0, {terms_.operation(function.operation, term(0), term(1), term(2))}};
  }
  auto const& [a, b] = std::tie(arguments[1], arguments[2]);
  if (a.rank != b.rank)
    fail_at(
        position,
        fmt::format("'if' chooses between {} and {}", noun_of_rank(a.rank), noun_of_rank(b.rank)),
        "both must be of one kind");
  Ranked result = {a.rank, {}};
  for (std::size_t k = 0; k < static_cast<std::size_t>(term_count(a.rank, dims_)); ++k)
    result.terms[k] =
        terms_.operation(Operation::select, arguments[0].terms[0], a.terms[k], b.terms[k]);
  return result;
}

/// Scalars make a vector, vectors the rows of a tensor.
EquationVocabulary::Value EquationVocabulary::vector(std::span<Value const> components,
                                                     std::size_t position) {
  if (components.size() != static_cast<std::size_t>(dims_))
    fail_at(position,
            fmt::format("'[...]' has {} component{}, but the grid has {}", components.size(),
                        components.size() == 1 ? "" : "s", axes_of(dims_)));
  Ranked result = {(*this)[components[0]].rank + 1, {}};
  if (result.rank > 2) fail_at((*this)[components[0]].begin, "'[...]' is of scalars or of vectors");
  auto place = result.terms.begin();
  for (Value const value : components) {
    Ranked const& component = (*this)[value];
    if (component.rank != result.rank - 1)
      fail_at(component.begin,
              fmt::format("'[...]' has {} beside {}", noun_of_rank(component.rank),
                          noun_of_rank(result.rank - 1)),
              "its components must be of one kind");
    place = std::copy_n(component.terms.begin(), term_count(component.rank, dims_), place);
  }
  return add(position, position, [&] { return result; });
}

EquationVocabulary::Value EquationVocabulary::component(Value of, std::string_view name,
                                                        std::size_t position) {
  Ranked const whole = (*this)[of];
  int const axis = axis_called(name);
  if (whole.rank == 0)
    fail_at(position, fmt::format("a scalar has no component {}", expression::quote(name)),
            axis >= 0 ? fmt::format("a derivative is written d_d{}(...)", name) : std::string());
  if (axis < 0)
    fail_at(position, fmt::format("a vector has no component {}", expression::quote(name)),
            "they are called by the axes: .x, .y and .z");
  if (axis >= dims_)
    fail_at(position,
            fmt::format("there is no component '{}', for the grid has {}", name, axes_of(dims_)));
  return add(whole.begin, position, [&] {
    Ranked result = {whole.rank - 1, {}};
    int const count = term_count(result.rank, dims_);
    std::copy_n(whole.terms.begin() + axis * count, count, result.terms.begin());
    return result;
  });
}

std::string EquationVocabulary::known_names() const {
  std::string axes;
  for (int axis = 0; axis < dims_; ++axis)
    axes.append(axis_names[static_cast<std::size_t>(axis)]).append(", ");
  return fmt::format(
      "an equation knows {}t, pi, e, fields, names under 'let', constants, functions and operators",
      axes);
}

std::vector<std::string_view> EquationVocabulary::function_names() const {
  std::vector<std::string_view> names;
  for (LanguageOperator const& one : operators()) names.push_back(one.info.name);
  for (FunctionInfo const& function : expression::functions()) names.push_back(function.name);
  return names;
}

std::vector<std::string_view> EquationVocabulary::other_names() const {
  std::vector<std::string_view> names = names_.all();
  names.insert(names.end(), {"pi", "e"});
  for (auto const& constant : constants_) names.push_back(constant.first);
  return names;
}

/// u_x and u_xx as derivatives of a field are written, q_x for a component as elsewhere.
EquationVocabulary::Hint EquationVocabulary::hint_of_derivative(std::string_view name) const {
  std::size_t const bar = name.rfind('_');
  if (bar == std::string_view::npos) return {};
  std::string_view const field = name.substr(0, bar), axes = name.substr(bar + 1);
  bool const known = names_.noun_of(field) == "field";
  bool const of_axes = std::ranges::all_of(axes, [](char c) { return c >= 'x' && c <= 'z'; });
  if (known && axes == "t") return {.suggestion = fmt::format("dt({})", field)};
  if (!known || axes.empty() || axes.size() > 2 || !of_axes) return {};
  if (axes.size() == 1)
    return {.suggestion = names_.is_vector(field) ? fmt::format("{}.{}", field, axes)
                                                  : fmt::format("d_d{}({})", axes, field)};
  if (axes[0] == axes[1]) return {.suggestion = fmt::format("d2_d{}2({})", axes[0], field)};
  auto const [low, high] = std::minmax(axes[0], axes[1]);
  return {.suggestion = fmt::format("d2_d{}d{}({})", low, high, field)};
}

EquationVocabulary::Hint EquationVocabulary::hint(std::string_view name) const {
  if (name == "i")
    return {.why = "there are no complex numbers: real and imaginary part are fields of their own"};
  for (auto const& [foreign, ours] : foreign_operators)
    if (name == foreign) return {.suggestion = std::string(ours)};
  Hint const derivative = hint_of_derivative(name);
  return derivative.suggestion.empty() ? Vocabulary::hint(name) : derivative;
}

}  // namespace gridstride::equations
