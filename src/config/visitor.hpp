#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/parameters.hpp"

namespace gridstride::config {

/// A word that a key accepts.
struct Choice {
  std::string_view name;
  std::string_view documentation = "";
  bool any_name = false;  ///< stands for words that are not known: any is taken
};

enum class Presence { required, optional };

/// Text of a certain form.
struct TextForm {
  Presence presence = Presence::optional;
  std::string_view meaning = "text";             ///< what it is, in words
  std::span<std::string_view const> words = {};  ///< all that is accepted; empty: any text
  std::string_view numbered = "";  ///< accepted with a number of at most 3 digits after it, too
};

struct ListShape {
  std::size_t minimum = 0;
  std::size_t maximum = 0;
  std::optional<double> fill = std::nullopt;  ///< when left out: `maximum` times this
  Presence presence = Presence::required;     ///< optional: stays empty when left out
  bool infinite = false;                      ///< numbers may be `inf` and `-inf`
};

class Visitor;

/// Declares the keys of a mapping.
using Body = std::function<void(Visitor&)>;

/// One of several ways to write a value.
struct Form {
  enum class Kind {
    word,     ///< the text `word`
    scalar,   ///< the body declares a value under the key itself
    list,     ///< the body declares a list under the key itself; a value stands for a list of one
    items,    ///< the same, but nothing else stands for it
    mapping,  ///< the body declares the mapping's keys; a file that has one of them means this form
    refused,  ///< the word or key `word`, an error for the reason in `documentation`
  };
  Kind kind = Kind::word;
  std::string_view word = "";
  std::string_view documentation = "";
  Body body = {};
};

/// Meets every key of a config once, in the order of the documentation. `run_sections.cpp` declares
/// the keys; the reader, the collector behind `describe` and the resolved config are visitors.
/// Values as they are before reading are the defaults.
class Visitor {
 public:
  virtual ~Visitor() = default;

  virtual void visit(Spec const& spec, double& value) = 0;
  virtual void visit(Spec const& spec, std::int64_t& value) = 0;
  virtual void visit(Spec const& spec, bool& value) = 0;
  virtual void visit(Spec const& spec, Formula& value) = 0;
  /// Empty when left out, or when `word` is given instead of a number.
  virtual void visit(Spec const& spec, std::optional<double>& value, std::string_view word) = 0;
  /// A formula that may be left out: then its text is empty.
  virtual void optional_formula(Spec const& spec, Formula& value) = 0;
  virtual void text(Spec const& spec, TextForm const& form, std::string& value) = 0;
  /// Formulas in a language of the simulation's own, which reads them after they are given; one
  /// must be when there is none.
  virtual void source(Spec const& spec, SourceText& value) = 0;
  /// One of the words; must be given when `value` is empty.
  virtual void choice(Spec const& spec, std::span<Choice const> choices, std::string& value) = 0;
  /// Some of the words, each once, in the order that they are given in.
  virtual void subset(Spec const& spec, std::span<Choice const> choices,
                      std::vector<std::string>& value) = 0;
  /// Numbers; must be given when `value` is empty, there is no fill, and they are not optional.
  /// Returns whether they can be used.
  virtual bool list(Spec const& spec, ListShape const& shape, std::vector<double>& value) = 0;
  virtual bool list(Spec const& spec, ListShape const& shape, std::vector<std::int64_t>& value) = 0;
  /// Names that the user chooses, with a number or a formula of the names before.
  virtual void constants(Spec const& spec, expression::Symbols& values) = 0;

  virtual void section(Spec const& spec, Body const& body) = 0;
  /// One of several forms; `chosen` is its place in `forms`, -1 when there is none.
  virtual void forms(Spec const& spec, Presence presence, std::span<Form const> forms,
                     int& chosen) = 0;
  /// A list of values of one kind; `element` declares one.
  template <class T>
  void items(Spec const& spec, std::vector<T>& list,
             std::function<void(Spec const&, T&)> const& element) {
    // Each by itself: copies of a source share what is known of its file.
    if (std::optional<std::size_t> const count = given_items(spec)) list = std::vector<T>(*count);
    T sample{};  // for visitors that ask what an item of an empty list would be
    visit_items(spec, list.size(), [&](Spec const& item, std::size_t i) {
      element(item, i < list.size() ? list[i] : sample);
    });
  }

  /// Names that the user chooses, as formulas may have them, each with a value of one kind, in the
  /// file's order; `element` declares one.
  template <class T>
  void named(Spec const& spec, Presence presence, std::vector<std::pair<std::string, T>>& entries,
             std::function<void(Spec const&, T&)> const& element) {
    if (auto const given = given_names(spec)) {
      entries.clear();
      for (std::string const& name : *given) entries.emplace_back(name, T{});
    }
    std::vector<std::string> names;
    for (auto const& entry : entries) names.push_back(entry.first);
    T sample{};  // as in `items`
    visit_named(spec, presence, names, [&](Spec const& item, std::size_t i) {
      element(item, i < entries.size() ? entries[i].second : sample);
    });
  }

  /// A key that must not be given here, and why.
  virtual void refuse(std::string_view, std::string const&) {}
  /// A fault between values; `key` is below the present section.
  virtual void fault(std::string_view, std::string const&) {}
  /// The same at a character of the value's text.
  virtual void fault(std::string_view, expression::ParseError const&) {}
  /// Where a value of the present section stands; `key` may be empty.
  virtual Location locate(std::string_view) const { return {}; }
  /// The same, kept as it is by visitors that do not know.
  void locate(std::string_view key, Location& location) const {
    if (Location found = locate(key); !found.path.empty()) location = std::move(found);
  }
  /// Whether the file gives a key below the present section.
  virtual bool given(std::string_view) const { return false; }
  /// How many axes the grid has: formulas may depend on no other.
  virtual void axes(int) {}
  /// What formulas may depend on, and under which names.
  virtual void variables(std::span<expression::Variable const>) {}

 protected:
  using Element = std::function<void(Spec const&, std::size_t)>;
  /// How many items the file gives; empty when it has no such list.
  virtual std::optional<std::size_t> given_items(Spec const&) { return std::nullopt; }
  virtual void visit_items(Spec const& spec, std::size_t count, Element const& element) = 0;
  /// The names that the file gives, without those that cannot be names; empty when it has no such
  /// mapping.
  virtual std::optional<std::vector<std::string>> given_names(Spec const&) { return std::nullopt; }
  virtual void visit_named(Spec const& spec, Presence presence, std::span<std::string const> names,
                           Element const& element) = 0;
};

}  // namespace gridstride::config
