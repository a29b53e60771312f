#include "equations/source.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "equations/patterns.hpp"
#include "expression/source.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

std::size_t index(std::int32_t value) { return static_cast<std::size_t>(value); }
std::int32_t operand(Node const& node, int i) { return node.operands[index(i)]; }

class CudaPrinter {
 public:
  CudaPrinter(StencilProgram const& program, std::vector<int> const& fused, Precision precision)
      : program_(program),
        precision_(precision),
        fused_operands_(fused),
        is_fused_away_(program.code.size(), 0) {
    for (std::size_t i = 0; i < program.code.size(); ++i)
      if (int const which = fused_operands_[i]; which >= 0)
        is_fused_away_[index(operand(program.code[i], which))] = 1;
  }

  std::string print() {
    std::string body;
    for (std::size_t i = 0; i < program_.code.size(); ++i)
      if (is_line(i)) body += line(i);
    return body + result_lines();
  }

  ColumnText print_along_columns() {
    find_columns();
    ColumnText text;
    for (std::size_t i = 0; i < program_.code.size(); ++i) {
      if (!is_line(i)) continue;
      if (!of_column_[i]) {
        text.body += line_of_point(i, text.divides);
        continue;
      }
      text.columns += line(i);
      if (!kept_[i]) continue;
      text.columns += fmt::format("kept[{}] = v{};\n", text.kept, i);
      text.body += fmt::format("Real const v{} = at.template kept<{}>();\n", i, text.kept++);
    }
    text.body += result_lines();
    return text;
  }

 private:
  /// Whether a value has a line of its own.
  bool is_line(std::size_t i) const {
    return program_.code[i].kind != Kind::number && is_fused_away_[i] == 0;
  }
  std::string line(std::size_t i) const {
    return fmt::format("Real const v{} = {};\n", i, value(i));
  }
  /// A line of the body of a kernel that goes along columns.
  std::string line_of_point(std::size_t i, bool& divides) {
    Node const& node = program_.code[i];
    bool const is_operation = node.kind == Kind::operation;
    if (is_operation && node.operation == Operation::sqrt) {
      divides = true;
      return fmt::format("Real const v{} = at.root({});\n", i, name(operand(node, 0)));
    }
    if (!is_operation || node.operation != Operation::divide) return line(i);
    divides = true;
    std::int32_t const by = operand(node, 1);
    std::string text;
    if (divisors_.insert(by).second)
      text = fmt::format("auto const d{} = at.divisor({});\n", by, name(by));
    Node const& of = program_.code[index(operand(node, 0))];
    if (of.kind == Kind::number && of.value == 1)
      return text + fmt::format("Real const v{} = at.reciprocal(d{});\n", i, by);
    return text +
           fmt::format("Real const v{} = at.quotient({}, d{});\n", i, name(operand(node, 0)), by);
  }
  std::string result_lines() const {
    std::string lines;
    for (std::size_t r = 0; r < program_.results.size(); ++r)
      lines += fmt::format("result[{}] = {};\n", r, name(program_.results[r]));
    return lines;
  }

  /// Which values are those of a column, and which of them other lines use.
  void find_columns() {
    auto const& code = program_.code;
    of_column_.assign(code.size(), 0);
    kept_.assign(code.size(), 0);
    auto const is_known = [&](std::int32_t of) {
      return code[index(of)].kind == Kind::number || of_column_[index(of)] != 0;
    };
    for (std::size_t i = 0; i < code.size(); ++i) {
      Node const& node = code[i];
      bool known = node.kind == Kind::operation;
      for (int n = 0; n < operand_count(node); ++n) known = known && is_known(operand(node, n));
      of_column_[i] = known || (node.kind == Kind::coordinate && node.index == 0);
    }
    for (std::size_t i = 0; i < code.size(); ++i)
      if (is_line(i) && !of_column_[i]) keep_operands(code[i]);
    for (std::int32_t const result : program_.results) keep(result);
  }
  void keep(std::int32_t value) { kept_[index(value)] = of_column_[index(value)]; }
  void keep_operands(Node const& node) {
    for (int n = 0; n < operand_count(node); ++n)
      if (is_fused_away_[index(operand(node, n))] != 0)
        keep_operands(program_.code[index(operand(node, n))]);
      else
        keep(operand(node, n));
  }

  std::string name(std::int32_t value) const {
    Node const& node = program_.code[index(value)];
    return node.kind == Kind::number ? expression::number_in_cuda(node.value, precision_)
                                     : fmt::format("v{}", value);
  }

  std::string value(std::size_t number) const {
    Node const& node = program_.code[number];
    if (node.kind == Kind::time) return "at.time()";
    if (node.kind == Kind::coordinate)
      return fmt::format("at.template coordinate<{}, {}>()", node.index,
                         node.orders[index(node.index)]);
    if (node.kind == Kind::on_side)
      return fmt::format("at.template on_side<{}, {}, {}>()", node.index / 2, node.index % 2,
                         node.orders[index(node.index / 2)]);
    if (node.kind == Kind::unknown)
      return fmt::format("at.template unknown<{}, {}, {}, {}>()", node.index, node.orders[0],
                         node.orders[1], node.orders[2]);
    if (node.kind == Kind::found) return fmt::format("at.template found<{}>()", node.index);
    if (is_random(node.kind))
      return fmt::format("at.template {}<{}, {}, {}, {}>()",
                         node.kind == Kind::uniform  ? "uniform"
                         : node.kind == Kind::normal ? "normal"
                                                     : "noise",
                         node.index, node.orders[0], node.orders[1], node.orders[2]);
    if (int const which = fused_operands_[number]; which >= 0) return fused(node, which);
    std::array<std::string, 3> operands;
    int const count = operand_count(node);
    for (int i = 0; i < count; ++i) operands[index(i)] = name(operand(node, i));
    if (node.operation == Operation::divide)
      return fmt::format("quotient({}, {})", operands[0], operands[1]);
    return expression::operation_in_cuda(node.operation, std::span(operands).first(index(count)));
  }

  std::string fused(Node const& node, int which) const {
    Node const& product = program_.code[index(operand(node, which))];
    std::string const a = name(operand(product, 0)), b = name(operand(product, 1));
    std::string const other = name(operand(node, 1 - which));
    if (node.operation == Operation::add) return fmt::format("fma({}, {}, {})", a, b, other);
    return which == 0 ? fmt::format("fma({}, {}, -{})", a, b, other)
                      : fmt::format("fma(-{}, {}, {})", a, b, other);
  }

  StencilProgram const& program_;
  Precision precision_;
  std::vector<int> const& fused_operands_;
  std::vector<char> is_fused_away_;
  std::vector<char> of_column_, kept_;
  std::set<std::int32_t> divisors_;  // that have a line of their own
};

}  // namespace

std::vector<int> fused_operands(StencilProgram const& program) {
  Patterns const patterns(program);
  auto const is = [](Node const& node, Operation operation) {
    return node.kind == Kind::operation && node.operation == operation;
  };
  auto const is_lone_product = [&](std::int32_t value) {
    return is(program.code[index(value)], Operation::multiply) &&
           patterns.uses[index(patterns.values[index(value)].pattern)] == 1;
  };
  std::vector<int> fused(program.code.size(), -1);
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    Node const& node = program.code[i];
    if (!is(node, Operation::add) && !is(node, Operation::subtract)) continue;
    for (int which = 1; which >= 0; --which)
      if (is_lone_product(operand(node, which))) fused[i] = which;
  }
  return fused;
}

std::string to_cuda(StencilProgram const& program, Precision precision) {
  auto const fused = fused_operands(program);
  return CudaPrinter(program, fused, precision).print();
}

ColumnText to_cuda_along_columns(StencilProgram const& program, std::vector<int> const& fused,
                                 Precision precision) {
  return CudaPrinter(program, fused, precision).print_along_columns();
}

}  // namespace gridstride::equations
