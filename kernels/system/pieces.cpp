#include "kernels/system/pieces.hpp"

#include <utility>

#include "kernels/support/vector_widths.hpp"
#include "kernels/system/rows.hpp"
#include "kernels/system/slots.hpp"

namespace gridstride::system {

namespace {

using equations::Kind;
using equations::Node;
using equations::StencilProgram;
using expression::Operation;

/// Whether loops of an operation become vectors.
constexpr bool is_quick(Operation operation) {
  switch (operation) {
    case Operation::negate:
    case Operation::add:
    case Operation::subtract:
    case Operation::multiply:
    case Operation::divide:
    case Operation::less:
    case Operation::less_equal:
    case Operation::greater:
    case Operation::greater_equal:
    case Operation::equal:
    case Operation::not_equal:
    case Operation::select:
    case Operation::sqrt:
    case Operation::abs:
    case Operation::min:
    case Operation::max:
      return true;
    default:
      return false;
  }
}

template <Operation operation, class T>
void careful_loop(T const* a, T const* b, T const* c, T* result, long long points) {
  for (long long i = 0; i < points; ++i) result[i] = apply_in(operation, a[i], b[i], c[i]);
}

template <Operation operation, class T>
GRIDSTRIDE_VECTOR_WIDTHS void quick_loop(T const* a, T const* b, T const* c, T* result,
                                         long long points) {
#pragma omp simd
  for (long long i = 0; i < points; ++i) result[i] = apply_in(operation, a[i], b[i], c[i]);
}

/// (a inner b) outer c, or c outer (a inner b) where `which` is 1.
template <Operation inner, Operation outer, int which, class T>
GRIDSTRIDE_VECTOR_WIDTHS void pair_loop(T const* a, T const* b, T const* c, T* result,
                                        long long points) {
#pragma omp simd
  for (long long i = 0; i < points; ++i) {
    T const part = apply_in(inner, a[i], b[i], T(0));
    result[i] = which == 0 ? apply_in(outer, part, c[i], T(0)) : apply_in(outer, c[i], part, T(0));
  }
}

constexpr std::array paired = {Operation::add, Operation::subtract, Operation::multiply,
                               Operation::divide};
constexpr int pair_count = static_cast<int>(2 * paired.size() * paired.size());

/// The place of an operation among those that stand in each other; −1 of others.
constexpr int place_in_pairs(Node const& node) {
  for (std::size_t p = 0; p < paired.size(); ++p)
    if (node.kind == Kind::operation && node.operation == paired[p]) return static_cast<int>(p);
  return -1;
}

constexpr int pair_number(int inner, int outer, int which) {
  return expression::operation_count + (inner * static_cast<int>(paired.size()) + outer) * 2 +
         which;
}

template <class T>
constexpr auto loops = [] {
  std::array<PieceLoop<T>, expression::operation_count + pair_count> all{};
  [&]<int... n>(std::integer_sequence<int, n...>) {
    ((all[n] =
          is_quick(Operation(n)) ? quick_loop<Operation(n), T> : careful_loop<Operation(n), T>),
     ...);
  }
  (std::make_integer_sequence<int, expression::operation_count>());
  [&]<int... n>(std::integer_sequence<int, n...>) {
    constexpr int count = static_cast<int>(paired.size());
    ((all[expression::operation_count + n] =
          pair_loop<paired[n / 2 / count], paired[n / 2 % count], n % 2, T>),
     ...);
  }
  (std::make_integer_sequence<int, pair_count>());
  return all;
}();

/// For each node the operand that stands in it, or −1: one that nothing else is made of, and in which
/// no other stands.
std::vector<int> parts_of(StencilProgram const& program) {
  std::vector<int> uses(program.code.size(), 0), parts(program.code.size(), -1);
  for (Node const& node : program.code)
    for (std::int32_t const operand : node.operands)
      if (operand >= 0) ++uses[static_cast<std::size_t>(operand)];
  for (std::int32_t const result : program.results) ++uses[static_cast<std::size_t>(result)];
  for (std::size_t n = 0; n < program.code.size(); ++n) {
    if (place_in_pairs(program.code[n]) < 0) continue;
    for (int which = 0; which < 2 && parts[n] < 0; ++which) {
      auto const operand =
          static_cast<std::size_t>(program.code[n].operands[static_cast<std::size_t>(which)]);
      if (uses[operand] == 1 && parts[operand] < 0 && place_in_pairs(program.code[operand]) >= 0)
        parts[n] = which;
    }
  }
  return parts;
}

/// Where the values of a program differ.
std::vector<Varies> variations_of(StencilProgram const& program) {
  std::vector<int> axes(program.code.size(), 0);  // a bit for each that a value differs along
  std::vector<Varies> result;
  for (std::size_t n = 0; n < program.code.size(); ++n) {
    Node const& node = program.code[n];
    if (node.kind == Kind::coordinate)
      axes[n] = 1 << node.index;
    else if (node.kind == Kind::on_side)
      axes[n] = 1 << node.index / 2;
    else if (node.kind != Kind::operation && !is_lasting(node))
      axes[n] = 7;
    for (std::int32_t const operand : node.operands)
      if (operand >= 0) axes[n] |= axes[static_cast<std::size_t>(operand)];
    result.push_back(axes[n] == 0         ? Varies::nowhere
                     : axes[n] == 1       ? Varies::along_rows
                     : (axes[n] & 1) == 0 ? Varies::across_rows
                                          : Varies::everywhere);
  }
  return result;
}

/// Whether it is v², as v·v has the same bits.
bool is_square(StencilProgram const& program, Node const& node) {
  if (node.kind != Kind::operation || node.operation != Operation::power) return false;
  Node const& exponent = program.code[static_cast<std::size_t>(node.operands[1])];
  return exponent.kind == Kind::number && exponent.value == 2;
}

}  // namespace

template <class T>
PieceLoop<T> piece_loop(int number) {
  return loops<T>[static_cast<std::size_t>(number)];
}

template PieceLoop<float> piece_loop(int);
template PieceLoop<double> piece_loop(int);

PieceProgram::PieceProgram(StencilProgram const& program) {
  auto const parts = parts_of(program);
  auto const variations = variations_of(program);
  std::vector<char> stands_in(program.code.size(), 0);
  std::vector<SlotValue> values;
  std::vector<std::int32_t> number(program.code.size(), -1);
  for (std::size_t n = 0; n < program.code.size(); ++n)
    if (parts[n] >= 0)
      stands_in[static_cast<std::size_t>(
          program.code[n].operands[static_cast<std::size_t>(parts[n])])] = 1;
  for (std::size_t n = 0; n < program.code.size(); ++n) {
    if (stands_in[n] != 0) continue;
    Node const& node = program.code[n];
    PieceInstruction in = {.node = node, .operands = node.operands, .varies = variations[n]};
    if (node.kind == Kind::operation) in.loop = static_cast<int>(node.operation);
    if (is_square(program, node)) {
      in.loop = static_cast<int>(Operation::multiply);
      in.operands = {node.operands[0], node.operands[0], -1};
    }
    if (int const which = parts[n]; which >= 0) {
      auto const other = node.operands[static_cast<std::size_t>(1 - which)];
      Node const& part =
          program.code[static_cast<std::size_t>(node.operands[static_cast<std::size_t>(which)])];
      in.loop = pair_number(place_in_pairs(part), place_in_pairs(node), which);
      in.operands = {part.operands[0], part.operands[1], other};
    }
    for (auto& operand : in.operands)
      if (operand >= 0) operand = number[static_cast<std::size_t>(operand)];
    number[n] = static_cast<std::int32_t>(code.size());
    // What differs along rows alone is kept from row to row.
    values.push_back({in.operands, in.varies <= Varies::along_rows});
    for (auto& operand : in.operands)
      if (operand < 0) operand = std::max(in.operands[0], 0);
    code.push_back(in);
  }
  for (std::int32_t const result : program.results)
    results.push_back(number[static_cast<std::size_t>(result)]);
  Slots const slots(values, results);
  for (std::size_t n = 0; n < code.size(); ++n) code[n].target = slots.of_value[n];
  places = slots.count;
}

}  // namespace gridstride::system
