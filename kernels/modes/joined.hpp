#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "equations/discretise.hpp"
#include "grid/grid.hpp"
#include "kernels/evaluate/points.hpp"
#include "kernels/modes/symbols.hpp"
#include "kernels/support/runtime_compiler.hpp"

namespace gridstride::modes {

/// Products at the points of a plane of waves, from modes and back to modes, in three passes on a GPU
/// that read and write each number once:
///
///   columns  sums of modes, transformed along y to the points
///   rows     transformed along x to the points; there the program, whose results go back along x
///   columns  along y to the modes that are kept, where sums are made of them
///
/// Values at points are in no memory, and modes that are not kept are nowhere. T is float or double.
template <class T>
class Joined {
 public:
  struct Parts {
    Grid grid;
    equations::BeyondSides sides;  ///< of all arrays
    Layout layout;
    equations::StencilProgram const* program;
    int arrays;  ///< that the program reads

    int products() const { return static_cast<int>(program->results.size()); }
  };
  /// Whether it takes these: a GPU with NVRTC; two axes that are periodic, whose lengths have prime
  /// factors up to 7 and are even along x; a program of each point's own values; and rows of all
  /// arrays that a multiprocessor holds.
  static bool takes(Device const& device, Parts const& parts);
  /// The same for a GPU whose blocks may have so much shared memory.
  static bool takes(std::size_t shared_bytes, Parts const& parts);
  /// Of device memory.
  static std::size_t bytes(Parts const& parts);
  /// What is compiled for parts that it takes: columns back, which make these sums, rows, and columns
  /// forward for the products as they are.
  static std::vector<RuntimeSource> sources(std::size_t shared_bytes, Parts const& parts,
                                            SumList const& arrays);

  /// `arrays`: sums of unknowns alone. Begins to compile the kernels. Throws `std::invalid_argument`
  /// where it does not take the parts.
  Joined(Stream const& stream, Parts const& parts, SumList const& arrays);

  /// Whether such sums can be made of the products on their way: `SumList::has_own_products`.
  bool takes(SumList const& sums) const { return sums.has_own_products(parts_.products()); }
  /// Begins to compile what makes them.
  void prepare(SumList const& sums);
  /// Waits for what is being compiled. The first call that needs it does so too.
  void wait() const;

  /// Queues the products of the unknowns, at `fraction` of the clock's step, or sums of them and of
  /// the unknowns: kept modes one after the other. The clock may be null where the program needs none.
  void make_products(T const* unknowns, evaluate::DeviceClock const* clock, double fraction,
                     T* out);
  void make_sums(SumList const& sums, T const* unknowns, evaluate::DeviceClock const* clock,
                 double fraction, T* out);

 private:
  using Module = std::shared_future<std::shared_ptr<RuntimeModule const>>;
  struct Plans;
  struct Roots;
  struct Columns;

  Module const& forward(std::string const& sums);
  void make(Module const& forward, Sums const& sums, T const* unknowns,
            evaluate::DeviceClock const* clock, double fraction, T* out);

  Stream stream_;
  Parts parts_;
  std::shared_ptr<Plans const> plans_;
  std::shared_ptr<Roots const> roots_;
  Sums arrays_;
  Module back_, rows_;
  std::map<std::string, Module> forward_;  // by their sums
  Buffer<T> columns_;
};

}  // namespace gridstride::modes
