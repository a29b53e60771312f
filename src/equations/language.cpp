#include "equations/language.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "equations/vocabulary.hpp"
#include "expression/lexer.hpp"

namespace gridstride::equations {
namespace {

using expression::fail_at;
using expression::ParseError;

/// A text cannot be read before another definition is.
struct Unread {
  std::size_t definition;
};

/// A text needs a definition whose own fault is told.
struct Spoiled {};

/// Reads definitions: lets, then equations; or one quantity, and what it needs of them.
class SystemReader final : public Names {
 public:
  SystemReader(SystemText const& text, std::vector<SystemFault>& faults)
      : text_(text), faults_(faults), states_(count_of(text)) {
    add_unknowns();
  }

  /// Of a system that was read.
  SystemReader(SystemText const& text, std::vector<SystemFault>& faults, System system,
               Definition const& quantity)
      : text_(text),
        faults_(faults),
        quantity_(&quantity),
        states_(count_of(text) + 1),
        system_(std::move(system)) {}

  std::optional<System> read();
  std::optional<Ranked> read_quantity();
  System take_system() { return std::move(system_); }

  std::string_view noun_of(std::string_view name) const override;
  Ranked value_of(std::string_view name, std::size_t position) override;
  Term rate_of(int component, std::size_t position) override;
  std::vector<std::string_view> all() const override;
  bool is_vector(std::string_view name) const override {
    Unknown const* const field = find_field(name);
    return field != nullptr && field->is_vector;
  }

 private:
  enum class Progress { unread, begun, done, spoiled };
  struct State {
    Progress progress = Progress::unread;
    Ranked value = {};
  };

  static std::size_t count_of(SystemText const& text) {
    return text.lets.size() + text.equations.size() + text.constraints.size();
  }
  std::size_t first_constraint() const { return text_.lets.size() + text_.equations.size(); }
  bool is_quantity(std::size_t definition) const { return definition == count_of(text_); }
  bool is_equation(std::size_t definition) const {
    return definition >= text_.lets.size() && definition < first_constraint();
  }
  bool is_constraint(std::size_t definition) const {
    return definition >= first_constraint() && !is_quantity(definition);
  }
  Definition const& operator[](std::size_t definition) const {
    if (is_quantity(definition)) return *quantity_;
    if (is_constraint(definition)) return text_.constraints[definition - first_constraint()];
    if (!is_equation(definition)) return text_.lets[definition];
    return text_.equations[definition - text_.lets.size()];
  }
  Unknown const* find_field(std::string_view name) const {
    auto const found = std::ranges::find(system_.unknowns, name, &Unknown::name);
    return found == system_.unknowns.end() ? nullptr : &*found;
  }

  SidedName const* find_held(std::string_view name) const {
    auto const found = std::ranges::find(text_.held, name);
    return found == text_.held.end()
               ? nullptr
               : &system_.names[static_cast<std::size_t>(found - text_.held.begin())];
  }

  void add_unknowns();
  void read_with_needs(std::size_t definition);
  void read_one(std::size_t definition);
  Ranked read_texts(Definition const& definition, std::optional<std::size_t>& place);
  Ranked read_text(std::string const& text);
  void check_rank(Unknown const& field, Ranked const& value) const;
  Ranked with_sides(std::string const& name, Ranked const& value);
  Ranked const& value_of_definition(std::size_t definition, std::size_t position) const;

  SystemText const& text_;
  std::vector<SystemFault>& faults_;
  Definition const* quantity_ = nullptr;
  std::vector<State> states_;
  std::vector<std::size_t> waiting_;  // each for the next
  System system_;
};

void SystemReader::add_unknowns() {
  system_.dims = text_.dims;
  for (Equation const& equation : text_.equations)
    system_.unknowns.push_back({equation.name, equation.is_vector ? text_.dims : 1,
                                system_.component_count(), equation.is_vector});
  for (std::string const& name : text_.held)
    system_.names.push_back({{name, 1, system_.name_count(), false}, {}});
}

std::optional<System> SystemReader::read() {
  for (std::size_t definition = 0; definition < states_.size(); ++definition)
    read_with_needs(definition);
  if (std::ranges::any_of(states_,
                          [](State const& state) { return state.progress != Progress::done; }))
    return std::nullopt;
  for (std::size_t k = text_.lets.size(); k < first_constraint(); ++k)
    for (int i = 0; i < term_count(states_[k].value.rank, text_.dims); ++i)
      system_.rates.push_back(states_[k].value.terms[static_cast<std::size_t>(i)]);
  for (std::size_t k = first_constraint(); k < states_.size(); ++k)
    system_.constraints.push_back(states_[k].value.terms[0]);
  return std::move(system_);
}

std::optional<Ranked> SystemReader::read_quantity() {
  read_with_needs(states_.size() - 1);
  if (states_.back().progress != Progress::done) return std::nullopt;
  return states_.back().value;
}

/// A definition that needs another is read again after that: the recursion is as deep as one text,
/// however long the chain of names is.
void SystemReader::read_with_needs(std::size_t definition) {
  waiting_ = {definition};
  while (!waiting_.empty()) {
    std::size_t const next = waiting_.back();
    Progress& progress = states_[next].progress;
    if (progress == Progress::unread) progress = Progress::begun;
    try {
      if (progress == Progress::begun) read_one(next);
      waiting_.pop_back();
    } catch (Unread const& other) {
      waiting_.push_back(other.definition);
    }
  }
}

void SystemReader::read_one(std::size_t definition) {
  State& state = states_[definition];
  std::size_t const lets = text_.lets.size();
  std::optional<std::size_t> place;
  try {
    Ranked value = read_texts((*this)[definition], place);
    if (is_equation(definition)) check_rank(system_.unknowns[definition - lets], value);
    if (is_constraint(definition) && value.rank > 0)
      fail_at(value.begin, fmt::format("a scalar expected, here is {}", noun_of_rank(value.rank)),
              "a constraint says what is 0 at each point");
    if (is_quantity(definition) && value.rank > 1)
      fail_at(value.begin,
              fmt::format("a scalar or a vector expected, here is {}", noun_of_rank(value.rank)));
    if ((*this)[definition].has_sides) value = with_sides((*this)[definition].name, value);
    state = {Progress::done, value};
  } catch (Spoiled const&) {
    state.progress = Progress::spoiled;
  } catch (ParseError const& error) {
    state.progress = Progress::spoiled;
    bool const in_equation = is_equation(definition), in_constraint = is_constraint(definition);
    std::size_t const number = in_equation     ? definition - lets
                               : in_constraint ? definition - first_constraint()
                                               : definition;
    faults_.push_back({in_equation, number, place, error, in_constraint});
  }
}

/// `place` is that of the text where a fault is; none: the definition as a whole.
Ranked SystemReader::read_texts(Definition const& definition, std::optional<std::size_t>& place) {
  if (!definition.listed) {
    place = 0;
    return read_text(definition.texts.at(0));
  }
  auto const dims = static_cast<std::size_t>(text_.dims);
  if (definition.texts.size() != dims) {
    bool const cut = std::ranges::any_of(definition.texts, [](std::string const& text) {
      return std::ranges::count(text, '(') > std::ranges::count(text, ')');
    });
    fail_at(0,
            fmt::format("has {} component{}, but the grid has {} ax{}s (see grid.points)",
                        definition.texts.size(), definition.texts.size() == 1 ? "" : "s", dims,
                        dims == 1 ? "i" : "e"),
            cut ? "in a list, a formula with a comma in it needs quotes" : "");
  }
  Ranked result = {1, {}};
  for (std::size_t i = 0; i < dims; ++i) {
    place = i;
    Ranked const component = read_text(definition.texts[i]);
    if (component.rank > 0)
      fail_at(component.begin,
              fmt::format("a component is a scalar, here is {}", noun_of_rank(component.rank)));
    result.terms[i] = component.terms[0];
  }
  place.reset();
  return result;
}

Ranked SystemReader::read_text(std::string const& text) {
  EquationVocabulary vocabulary(system_.terms, text_.dims, text_.constants, *this);
  return vocabulary.finished(expression::parse(text, vocabulary));
}

void SystemReader::check_rank(Unknown const& field, Ranked const& value) const {
  int const rank = field.is_vector ? 1 : 0;
  if (value.rank == rank) return;
  bool const is_value = field.name.find('.') != std::string::npos;  // no field has this name
  fail_at(value.begin,
          fmt::format("'{}' is {}, but its {} is {}", field.name, noun_of_rank(rank),
                      is_value ? "first value" : "equation", noun_of_rank(value.rank)),
          field.is_vector ? "a vector of components is written [a, b]"
          : value.rank == 1 && !is_value
              ? fmt::format("'fields: {{{}: vector}}' makes it a vector", field.name)
              : std::string());
}

/// What a name stands for is kept; where it is used it stands for itself.
Ranked SystemReader::with_sides(std::string const& name, Ranked const& value) {
  if (value.rank > 1)
    fail_at(value.begin, fmt::format("'{}' is a tensor, which has no sides", name),
            "scalars and vectors have");
  int const count = term_count(value.rank, text_.dims);
  auto known =
      std::ranges::find(system_.names, name, [](SidedName const& one) { return one.name.name; });
  if (known == system_.names.end()) {  // else another reader has been here
    for (int k = 0; k < count; ++k)
      for (Kind const kind : {Kind::integral, Kind::mean, Kind::least, Kind::greatest, Kind::noise})
        if (system_.terms.contains(value.terms[static_cast<std::size_t>(k)], kind))
          fail_at(value.begin,
                  fmt::format("'{}' has sides, and {} in it", name,
                              kind == Kind::noise ? "noise" : "a value over the whole grid"),
                  "it is found before these");
    int const first = system_.name_count(), all = system_.component_count() + first + count;
    if (all > max_components)
      fail_at(0, fmt::format("fields and names with sides have {} components (at most {})", all,
                             max_components));
    auto const terms = value.terms.begin();
    system_.names.push_back({{name, count, first, value.rank == 1}, {terms, terms + count}});
    known = std::prev(system_.names.end());
  }
  Ranked result = value;
  for (int k = 0; k < count; ++k)
    result.terms[static_cast<std::size_t>(k)] = system_.terms.name(known->name.first + k);
  return result;
}

std::string_view SystemReader::noun_of(std::string_view name) const {
  if (find_field(name) != nullptr || find_held(name) != nullptr) return "field";
  bool const is_let = std::ranges::find(text_.lets, name, &Definition::name) != text_.lets.end();
  return is_let ? "name under 'let'" : "";
}

Ranked SystemReader::value_of(std::string_view name, std::size_t position) {
  if (Unknown const* const field = find_field(name)) {
    Ranked value = {field->is_vector ? 1 : 0, {}};
    for (int k = 0; k < field->components; ++k)
      value.terms[static_cast<std::size_t>(k)] = system_.terms.unknown(field->first + k);
    return value;
  }
  if (SidedName const* const held = find_held(name))
    return {0, {system_.terms.name(held->name.first)}};
  auto const let = std::ranges::find(text_.lets, name, &Definition::name);
  return value_of_definition(static_cast<std::size_t>(let - text_.lets.begin()), position);
}

Term SystemReader::rate_of(int component, std::size_t position) {
  if (quantity_ != nullptr) return system_.rates[static_cast<std::size_t>(component)];
  auto const after = std::ranges::upper_bound(system_.unknowns, component, {}, &Unknown::first);
  auto const field = std::prev(after);
  std::size_t const equation = static_cast<std::size_t>(field - system_.unknowns.begin());
  Ranked const& rate = value_of_definition(text_.lets.size() + equation, position);
  return rate.terms[static_cast<std::size_t>(component - field->first)];
}

Ranked const& SystemReader::value_of_definition(std::size_t definition,
                                                std::size_t position) const {
  State const& state = states_[definition];
  if (state.progress == Progress::unread) throw Unread{definition};
  if (state.progress == Progress::spoiled) throw Spoiled{};
  if (state.progress == Progress::done) return state.value;
  auto const name_of = [this](std::size_t k) {
    return is_equation(k) ? fmt::format("dt({})", (*this)[k].name) : (*this)[k].name;
  };
  std::string chain;
  auto const first = std::ranges::find(waiting_, definition);
  constexpr std::ptrdiff_t most = 6;
  for (auto k = first; k != waiting_.end() && k - first < most; ++k)
    chain += fmt::format("{}, ", name_of(*k));
  if (waiting_.end() - first > most) chain += "..., ";
  fail_at(position, fmt::format("'{}' stands for itself", name_of(definition)),
          fmt::format("one needs the next: {}{}", chain, name_of(definition)));
}

std::vector<std::string_view> SystemReader::all() const {
  std::vector<std::string_view> names;
  for (Unknown const& field : system_.unknowns) names.push_back(field.name);
  names.insert(names.end(), text_.held.begin(), text_.held.end());
  for (Definition const& let : text_.lets) names.push_back(let.name);
  return names;
}

}  // namespace

std::vector<std::string> held_names(SystemText const& text) {
  std::vector<SystemFault> faults;
  SystemReader names(text, faults);
  Terms terms;
  EquationVocabulary const known(terms, text.dims, text.constants, names);
  std::vector<std::string> held;
  for (Definition const& constraint : text.constraints)
    for (std::string const& one : constraint.texts) try {
        expression::Lexer lexer(one, true);
        bool is_component = false;
        for (auto token = lexer.next(); token.kind != expression::Token::Kind::end;
             token = lexer.next()) {
          std::string const name(token.text);
          bool const is_new = token.kind == expression::Token::Kind::name && !is_component &&
                              known.function(name) == nullptr &&
                              known.noun_of(name, token.position).empty();
          if (is_new && std::ranges::count(held, name) == 0) held.push_back(name);
          is_component = token.kind == expression::Token::Kind::symbol && token.text == ".";
        }
      } catch (ParseError const&) {
        // Who reads the text tells.
      }
  return held;
}

std::optional<System> read_system(SystemText const& text, std::vector<SystemFault>& faults) {
  return SystemReader(text, faults).read();
}

std::optional<Ranked> read_quantity(SystemText const& text, Definition const& quantity,
                                    System& system, std::optional<SystemFault>& fault) {
  std::vector<SystemFault> faults;
  SystemReader reader(text, faults, std::move(system), quantity);
  auto const value = reader.read_quantity();
  system = reader.take_system();
  if (!faults.empty()) fault = std::move(faults.front());
  return value;
}

std::string name_problem(std::string_view name) {
  bool const taken = std::ranges::any_of(
      operators(), [&](LanguageOperator const& one) { return one.info.name == name; });
  return taken ? fmt::format("the name '{}' is taken (it is an operator)", name) : std::string();
}

}  // namespace gridstride::equations
