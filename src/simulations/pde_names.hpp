#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/system/system.hpp"

/// Names under `let` that have sides of their own.
namespace gridstride::pde {

/// A program for each of a stencil's names, in their order: it reads the unknowns, which come first,
/// and the names before it.
std::vector<equations::StencilProgram> name_programs(equations::Stencil const& stencil, int dims);

/// The arrays of names, and what fills them before a stage. Instantiated for float and double.
template <class T>
class SidedNames {
 public:
  /// `components`: of the unknowns, which come before them.
  SidedNames(Stream const& stream, Grid const& grid,
             std::vector<equations::StencilProgram> programs, int components);

  std::vector<equations::StencilProgram> const& programs() const { return programs_; }
  /// Of all names, component after component.
  T* values(int component) { return arrays_[static_cast<std::size_t>(component)].data(); }
  bool depends_on_time() const;
  /// Queues the values of all names, one after the other, from a step's grid, clock and inputs,
  /// theirs among them: on sides where they are given they are those of the sides.
  void fill(system::Step<T> step, std::string_view variant);

 private:
  Stream stream_;
  std::vector<equations::StencilProgram> programs_;
  std::vector<system::Prepared> prepared_;
  std::vector<Buffer<T>> arrays_;
  int components_;
};

}  // namespace gridstride::pde
