#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/visitor.hpp"

namespace gridstride::config {

/// What a key accepts, as data: the base of `describe`, the schema and the resolved config.
struct Declaration {
  enum class Kind {
    number,
    integer,
    truth,
    formula,
    text,
    word,
    choice,
    subset,
    list,
    items,
    named,
    constants,
    section,
    forms,
  };
  struct Word {
    std::string name, documentation;
    bool any_name = false;  ///< stands for words that are not known
  };

  Kind kind = Kind::section;
  std::string name;
  std::string unit;
  std::string documentation;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;
  std::vector<std::string> variables;  ///< that a formula may depend on
  bool required = false;
  bool any_name = false;  ///< stands for keys whose names are not known
  std::string word;       ///< accepted in place of a number
  std::string beside;     ///< a key beside names
  std::string pattern;    ///< regular expression for all of a text; empty: any
  std::string meaning;    ///< of a text
  std::vector<Word> words;
  ListShape shape;
  std::vector<Declaration>
      children;  ///< keys of a section, forms, or the one element of a list or of named values
  nlohmann::ordered_json value;  ///< the present value, which is the default before reading
};

/// The declarations that `declare` makes, as a section without a name.
Declaration collect(std::function<void(Visitor&)> const& declare);

/// The present values of a section; null when it has none.
nlohmann::ordered_json section_value(Declaration const& section);

/// Whether a section beside others in `parent` has no keys but such as its parent has, too: the
/// sides of one field in `boundary`, beside those of all.
bool repeats(Declaration const& parent, Declaration const& section);

/// `> 0`, `>= 0 and <= 1`; empty when there are no bounds.
std::string format_range(Declaration const& declaration);
std::string format_range(Spec const& spec);

}  // namespace gridstride::config
