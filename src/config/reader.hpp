#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"
#include "config/faults.hpp"
#include "config/visitor.hpp"

namespace gridstride::config {

/// Fills values in from a document. What is wrong goes to `faults`; the value then keeps its
/// default, and reading goes on.
class Reader : public Visitor {
 public:
  /// `all_paths` are the keys of the whole document, for suggestions.
  Reader(Node const& root, std::vector<std::string> all_paths, Faults& faults);

  /// Reports the keys of the document that nothing has asked for.
  void finish() { leave(); }

  void visit(Spec const& spec, double& value) override;
  void visit(Spec const& spec, std::int64_t& value) override;
  void visit(Spec const& spec, bool& value) override;
  void visit(Spec const& spec, Formula& value) override;
  void visit(Spec const& spec, std::optional<double>& value, std::string_view word) override;
  void optional_formula(Spec const& spec, Formula& value) override;
  void text(Spec const& spec, TextForm const& form, std::string& value) override;
  void source(Spec const& spec, SourceText& value) override;
  void choice(Spec const& spec, std::span<Choice const> choices, std::string& value) override;
  void subset(Spec const& spec, std::span<Choice const> choices,
              std::vector<std::string>& value) override;
  bool list(Spec const& spec, ListShape const& shape, std::vector<double>& value) override;
  bool list(Spec const& spec, ListShape const& shape, std::vector<std::int64_t>& value) override;
  void constants(Spec const& spec, expression::Symbols& values) override;
  void section(Spec const& spec, Body const& body) override;
  void forms(Spec const& spec, Presence presence, std::span<Form const> forms,
             int& chosen) override;
  void refuse(std::string_view name, std::string const& reason) override;
  void fault(std::string_view key, std::string const& message) override;
  void fault(std::string_view key, expression::ParseError const& error) override;
  using Visitor::locate;
  Location locate(std::string_view key) const override;
  bool given(std::string_view key) const override { return locate_node(key).node != nullptr; }
  void axes(int count) override { axes_ = count; }
  void variables(std::span<expression::Variable const> names) override { variables_ = names; }

 private:
  /// A mapping or list whose keys are being read.
  struct Scope {
    Node const* node = nullptr;  // null: left out
    Place place;
    std::string path;
    bool single = false;  // a list of one, written without brackets
    std::vector<std::string> known = {};
    std::vector<std::string> refused = {};
  };
  /// A node below the present scope, or the place where it would be.
  struct Found {
    Node const* node;
    Place place;
    std::string path;
  };

  std::optional<std::size_t> given_items(Spec const& spec) override;
  void visit_items(Spec const& spec, std::size_t count, Element const& element) override;
  std::optional<std::vector<std::string>> given_names(Spec const& spec) override;
  void visit_named(Spec const& spec, Presence presence, std::span<std::string const> names,
                   Element const& element) override;

  Node const* find(Spec const& spec);
  Node const* require(Spec const& spec, bool required);
  Node const* scalar(Spec const& spec, bool required, std::string_view expected);
  std::optional<double> number(Spec const& spec, Node const& node, std::string const& path,
                               std::string_view word = "");
  std::optional<std::int64_t> integer(Spec const& spec, Node const& node, std::string const& path);
  template <class T, class Parse>
  bool read_list(Spec const& spec, ListShape const& shape, std::vector<T>& value,
                 std::string_view expected, Parse const& parse);
  void read_formula(Spec const& spec, Node const& node, Formula& value);
  std::string formula_problem(Spec const& spec, expression::Expression const& formula) const;
  void read_word(Spec const& spec, std::span<Choice const> choices, Node const& node,
                 std::string const& path, std::string& value);
  void read_constant(Node const& key, Node const& value, std::string const& path);
  std::string name_problem(std::string_view name) const;
  void choose_by_word(Spec const& spec, std::span<Form const> forms, Node const& node, int& chosen);
  void choose_by_keys(Spec const& spec, std::span<Form const> forms, Node const& node, int& chosen);

  void enter(Scope scope) { scopes_.push_back(std::move(scope)); }
  void leave();
  std::string const* shortest_path_to(std::string_view key) const;
  std::string unknown_key(Scope const& scope, std::string_view key) const;
  bool in_range(Spec const& spec, double value, Node const& node, std::string const& path);
  void report(Node const& node, std::string const& path, std::string message);
  /// Notes what a `ValueError` says, at the character in the text where it is.
  void report_at(Node const& node, std::string const& path, expression::ParseError const& error);
  std::string path(std::string_view key) const;
  Found locate_node(std::string_view key) const;

  std::vector<std::string> all_paths_;
  Faults& faults_;
  std::vector<Scope> scopes_;
  expression::Symbols constants_;
  std::vector<std::string_view> words_;  // that may stand in the place of the present value
  std::span<expression::Variable const> variables_ = expression::space_and_time;
  int axes_ = 3;
};

}  // namespace gridstride::config
