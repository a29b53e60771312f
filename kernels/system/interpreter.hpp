#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "core/host_device.hpp"
#include "equations/discretise.hpp"
#include "expression/operations.hpp"
#include "kernels/system/quotient.cuh"

/// Programs of differences as code for a machine of slots: what the row `interpreter` runs.
namespace gridstride::system {

/// What an instruction does: the operations of expression/operations.hpp by their numbers, then
/// these. a, b and c are the values of its operands.
enum class Code : std::uint16_t {
  divide = static_cast<std::uint16_t>(expression::Operation::divide),  ///< as compiled programs do
  unknown = expression::operation_count,  ///< of component `index`, (a, b, c) points off
  coordinate,                             ///< along axis `index`, a points off
  on_side,  ///< 1 where the point a off lies on side `index`, 2·axis + end, and 0 elsewhere
  uniform,  ///< by seed `index`, (a, b, c) points off
  normal,
  noise,
  product_plus,   ///< a·b + c, rounded once
  product_minus,  ///< a·b − c
  minus_product,  ///< c − a·b
  result,         ///< a is result number `index`; has no target
};

/// One instruction. Operands and the target are slots; what an operation lacks is its first operand.
struct alignas(16) Instruction {
  Code code = Code::result;
  std::uint16_t target = 0;
  std::int32_t index = 0;
  std::uint16_t a = 0, b = 0, c = 0;
  std::uint16_t unused = 0;
};
static_assert(sizeof(Instruction) == 16);

/// What one of the first slots holds at all points: a number, the time, or number `index` of those
/// that are found beforehand.
struct Lasting {
  equations::Kind kind = equations::Kind::number;
  std::uint8_t unused[3] = {};
  std::int32_t index = 0;
  double value = 0;
};

/// A program for the machine.
struct InterpretedProgram {
  std::vector<Instruction> code = {};
  std::vector<Lasting> lasting = {};  ///< in the order of their slots
  int slots = 0;                      ///< of all values
};

/// The instructions of a program, in its order, with the fused operations of
/// `equations::fused_operands`. Throws `Error` where it needs more slots than an instruction can name.
InterpretedProgram interpreted(equations::StencilProgram const& program);

inline constexpr int most_interpreter_threads = 128;

/// Threads of a block, a warp at least, and the bytes of shared memory that its slots take: a value
/// of each of the first `lasting`, and of all others one for each thread.
struct InterpreterBlock {
  int threads;
  std::size_t bytes;
};
/// The largest block that has no more than `shared_bytes`. Throws `Error` where there is none.
InterpreterBlock interpreter_block(int lasting, int slots, std::size_t value_bytes,
                                   std::size_t shared_bytes);

/// A program for the machine in the memory of a GPU.
struct InterpreterCode {
  Buffer<Instruction> code;
  Buffer<Lasting> lasting;
  int slots = 0;
};

/// That of a program, which stays as long as the process. Throws as `interpreted`.
std::shared_ptr<InterpreterCode const> interpreter_code(Device const& device,
                                                        equations::StencilProgram const& program);

/// An instruction from memory; on a GPU in one load for all threads of a warp.
GRIDSTRIDE_HOST_DEVICE inline Instruction fetched(Instruction const* at) {
#ifdef __CUDA_ARCH__
  int4 const words = __ldg(reinterpret_cast<int4 const*>(at));
  Instruction instruction;
  memcpy(&instruction, &words, sizeof instruction);
  return instruction;
#else
  return *at;
#endif
}

/// Runs a program at a point. `values[slot]` is what lies in a slot, `values.set(slot, value)` puts
/// it there. `point` knows `unknown(component, dx, dy, dz)`, `coordinate(axis, offset)`,
/// `lies_on(side, offset)`, `random(code, seed, dx, dy, dz)`, and takes what comes of it by
/// `take(result, value)`.
template <class T, class Values, class Point>
GRIDSTRIDE_HOST_DEVICE inline void run_program(Instruction const* code, int length, Values& values,
                                               Point const& point) {
  for (int n = 0; n < length; ++n) {
    Instruction const in = fetched(code + n);
    auto const offset = [](std::uint16_t bits) {
      return static_cast<int>(static_cast<short>(bits));
    };
    T value;
    switch (in.code) {
      case Code::unknown:
        value = point.unknown(in.index, offset(in.a), offset(in.b), offset(in.c));
        break;
      case Code::coordinate:
        value = point.coordinate(in.index, offset(in.a));
        break;
      case Code::on_side:
        value = point.lies_on(in.index, offset(in.a));
        break;
      case Code::uniform:
      case Code::normal:
      case Code::noise:
        value = point.random(in.code, in.index, offset(in.a), offset(in.b), offset(in.c));
        break;
      case Code::product_plus:
        value = ::fma(values[in.a], values[in.b], values[in.c]);
        break;
      case Code::product_minus:
        value = ::fma(values[in.a], values[in.b], -values[in.c]);
        break;
      case Code::minus_product:
        value = ::fma(-values[in.a], values[in.b], values[in.c]);
        break;
      case Code::result:
        point.take(in.index, values[in.a]);
        continue;
      case Code::divide:
        value = quotient(static_cast<T>(values[in.a]), static_cast<T>(values[in.b]));
        break;
      default:
        value = expression::apply_as<T>(static_cast<expression::Operation>(in.code), values[in.a],
                                        values[in.b], values[in.c]);
    }
    values.set(in.target, value);
  }
}

}  // namespace gridstride::system
