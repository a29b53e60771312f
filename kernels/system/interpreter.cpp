#include "kernels/system/interpreter.hpp"

#include <fmt/format.h>

#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "equations/source.hpp"
#include "kernels/system/slots.hpp"

namespace gridstride::system {

namespace {

using equations::Kind;
using equations::Node;
using expression::Operation;

std::size_t place(std::int32_t value) { return static_cast<std::size_t>(value); }

Code code_of(Node const& node, int fused) {
  switch (node.kind) {
    case Kind::unknown:
      return Code::unknown;
    case Kind::coordinate:
      return Code::coordinate;
    case Kind::on_side:
      return Code::on_side;
    case Kind::uniform:
      return Code::uniform;
    case Kind::normal:
      return Code::normal;
    case Kind::noise:
      return Code::noise;
    default:
      if (fused < 0) return static_cast<Code>(node.operation);
      return node.operation == Operation::add ? Code::product_plus
             : fused == 0                     ? Code::product_minus
                                              : Code::minus_product;
  }
}

/// The operands of each value, those of fused products in their place.
std::vector<SlotValue> values_of(equations::StencilProgram const& program,
                                 std::vector<int> const& fused) {
  std::vector<SlotValue> values;
  for (std::size_t n = 0; n < program.code.size(); ++n) {
    Node const& node = program.code[n];
    SlotValue value = {node.operands, is_lasting(node)};
    if (int const which = fused[n]; which >= 0) {
      auto const& product = program.code[place(node.operands[place(which)])];
      value.operands = {product.operands[0], product.operands[1], node.operands[place(1 - which)]};
    }
    values.push_back(value);
  }
  return values;
}

/// Operands of an operation are slots, those of the others distances to another point.
void set_operands(Instruction& in, Node const& node, SlotValue const& value, Slots const& slots) {
  std::array<std::uint16_t*, 3> const targets = {&in.a, &in.b, &in.c};
  int const axis = node.kind == Kind::coordinate ? node.index
                   : node.kind == Kind::on_side  ? node.index / 2
                                                 : -1;  // what lies along one alone
  for (std::size_t i = 0; i < 3; ++i)
    if (node.kind == Kind::operation)
      *targets[i] = static_cast<std::uint16_t>(
          slots.of_value[place(value.operands[i] < 0 ? value.operands[0] : value.operands[i])]);
    else
      *targets[i] =
          static_cast<std::uint16_t>(axis >= 0 ? node.orders[place(axis)] : node.orders[i]);
}

}  // namespace

InterpretedProgram interpreted(equations::StencilProgram const& program) {
  auto const fused = equations::fused_operands(program);
  auto const values = values_of(program, fused);
  // Products that stand in sums need no slot.
  std::vector<char> is_part(values.size(), 0);
  for (std::size_t n = 0; n < values.size(); ++n)
    if (fused[n] >= 0) is_part[place(program.code[n].operands[place(fused[n])])] = 1;
  std::vector<SlotValue> own;
  std::vector<std::int32_t> number(values.size(), -1);
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (is_part[n] != 0) continue;
    number[n] = static_cast<std::int32_t>(own.size());
    auto& value = own.emplace_back(values[n]);
    for (auto& operand : value.operands)
      if (operand >= 0) operand = number[place(operand)];
  }
  std::vector<std::int32_t> results;
  for (std::int32_t const result : program.results) results.push_back(number[place(result)]);
  Slots const slots(own, results);
  if (slots.count > std::numeric_limits<std::uint16_t>::max())
    throw Error(
        fmt::format("system: a program that keeps {} values at a time is too long for the "
                    "interpreter",
                    slots.count));
  InterpretedProgram result = {.slots = slots.count};
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (number[n] < 0) continue;
    Node const& node = program.code[n];
    if (is_lasting(node)) {
      result.lasting.push_back({.kind = node.kind, .index = node.index, .value = node.value});
      continue;
    }
    Instruction in = {.code = code_of(node, fused[n]), .index = node.index};
    in.target = static_cast<std::uint16_t>(slots.of_value[place(number[n])]);
    set_operands(in, node, own[place(number[n])], slots);
    result.code.push_back(in);
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    auto const slot = static_cast<std::uint16_t>(slots.of_value[place(results[r])]);
    result.code.push_back({.code = Code::result,
                           .index = static_cast<std::int32_t>(r),
                           .a = slot,
                           .b = slot,
                           .c = slot});
  }
  return result;
}

InterpreterBlock interpreter_block(int lasting, int slots, std::size_t value_bytes,
                                   std::size_t shared_bytes) {
  constexpr int warp = 32;
  for (int threads = most_interpreter_threads; threads >= warp; threads /= 2) {
    auto const values =
        static_cast<std::size_t>(lasting) +
        static_cast<std::size_t>(slots - lasting) * static_cast<std::size_t>(threads);
    if (values * value_bytes <= shared_bytes) return {threads, values * value_bytes};
  }
  throw Error(
      fmt::format("system: 'interpreter' keeps {} values at a time for each point of these "
                  "equations, and about "
                  "{} fit the chip ('points', which needs NVRTC, takes them)",
                  slots - lasting, shared_bytes / value_bytes / warp));
}

namespace {

template <class Value>
std::string_view bytes_of(std::vector<Value> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(Value)};
}

InterpreterCode on_device(Device const& device, InterpretedProgram const& program) {
  Stream stream(device);
  InterpreterCode code = {{stream, MemorySpace::device, program.code.size()},
                          {stream, MemorySpace::device, program.lasting.size()},
                          program.slots};
  copy_async(code.code.span(), program.code, stream);
  copy_async(code.lasting.span(), program.lasting, stream);
  stream.synchronize();
  return code;
}

}  // namespace

std::shared_ptr<InterpreterCode const> interpreter_code(Device const& device,
                                                        equations::StencilProgram const& program) {
  // Never released: kernels may be under way that read it.
  static auto& kept = *new std::map<std::pair<int, std::string>, std::shared_ptr<InterpreterCode>>;
  static std::mutex mutex;
  auto const what = interpreted(program);
  auto key =
      std::pair(device.ordinal(), fmt::format("{} {}", what.code.size(), bytes_of(what.code)));
  key.second += bytes_of(what.lasting);
  std::lock_guard const lock(mutex);
  auto& code = kept[std::move(key)];
  // By another thread, since this one may record a graph, in which nothing can be allocated.
  if (code == nullptr)
    code = std::make_shared<InterpreterCode>(
        std::async(std::launch::async, [&] { return on_device(device, what); }).get());
  return code;
}

}  // namespace gridstride::system
