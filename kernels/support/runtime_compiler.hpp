#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/stream.hpp"

/// Kernels that are compiled while the program runs, by NVRTC, for the GPU at hand.
namespace gridstride {

namespace gpu {
struct Kernel;
}

/// How many blocks, or threads of a block, along x, y and z.
struct Extent {
  unsigned x = 1, y = 1, z = 1;
  constexpr Extent(unsigned along_x = 1, unsigned along_y = 1, unsigned along_z = 1)
      : x(along_x), y(along_y), z(along_z) {}
};

/// How a kernel is launched.
struct LaunchShape {
  Extent grid;                   ///< blocks
  Extent block;                  ///< threads of a block
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
};

/// Compiled kernels, loaded for one GPU.
class RuntimeModule {
 public:
  /// Loads a cubin. Throws `CudaError` when the driver refuses it, which may be as late as the
  /// first launch.
  RuntimeModule(Device const& device, std::string const& cubin);

  /// Queues the `extern "C"` kernel of that name. The arguments are passed by value and must have
  /// exactly the types of its parameters; their number and sizes are checked
  /// (`std::invalid_argument`). Throws `CudaError` when there is no such kernel, or it cannot be
  /// launched. May be captured in a graph.
  template <class... Arguments>
  void launch(Stream& stream, char const* kernel, LaunchShape const& shape,
              Arguments const&... arguments) const {
    static_assert((std::is_trivially_copyable_v<Arguments> && ...));
    std::array<void const*, sizeof...(Arguments)> const addresses = {&arguments...};
    std::array<std::size_t, sizeof...(Arguments)> const sizes = {sizeof(Arguments)...};
    queue(stream, kernel, shape, addresses, sizes);
  }

  /// How many blocks of a kernel run on a multiprocessor at a time.
  int resident_blocks(char const* kernel, int block_threads, std::size_t shared_bytes = 0) const;
  /// What a thread of it has in local memory: registers that are spilled, arrays.
  std::size_t local_bytes(char const* kernel) const;

 private:
  struct Kernels;  // those that were asked for

  void queue(Stream& stream, char const* kernel, LaunchShape const& shape,
             std::span<void const* const> arguments, std::span<std::size_t const> sizes) const;
  gpu::Kernel const& kernel(char const* name) const;

  std::shared_ptr<void> library_;
  std::shared_ptr<Kernels> kernels_;
};

/// Nothing can be compiled here, because NVRTC is missing.
class RuntimeCompilerMissing : public Error {
 public:
  using Error::Error;
};

/// Whether NVRTC is there.
bool has_runtime_compiler();

/// What to compile. `text` may include the project's embedded files (`runtime_files()`) by their
/// path; there is no other header, the standard library's included.
struct RuntimeSource {
  std::string name;  ///< stands in the compiler's messages
  std::string text;
  std::vector<std::string> options;  ///< beside the language and the architecture
};

/// The kernels of a source on a device. What was compiled before comes from the memory of the
/// process or from the cache on disk (`cache_folder`), which takes neither NVRTC nor much time.
/// Throws `RuntimeCompilerMissing`, or `Error` with NVRTC's messages when it refuses the source;
/// `std::invalid_argument` when the device is not a GPU.
std::shared_ptr<RuntimeModule const> compile(Device const& device, RuntimeSource const& source);

/// The cubin of a source for GPUs of a compute capability (90 is 9.0), by NVRTC. It needs no GPU,
/// and looks into no cache. Throws `Error` as `compile` does.
std::string compile_cubin(RuntimeSource const& source, int compute_capability);

}  // namespace gridstride
