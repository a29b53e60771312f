#include "kernels/support/runtime_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "core/console.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/vendor_library.hpp"
#include "core/version.hpp"
#include "kernels/support/remembered_library.hpp"
#include "kernels/support/runtime_cache.hpp"
#include "kernels/support/runtime_files.hpp"
#include "kernels/support/without_runtime_compiler.hpp"
#ifdef GRIDSTRIDE_WITH_CUDA
#include "kernels/support/launch.cuh"
#endif

namespace gridstride {

namespace {

/// Part of a key in the cache: code of another release of NVRTC is another code. It stands for the
/// library without opening it, since that takes longer than all else.
constexpr char const* nvrtc_release = GRIDSTRIDE_NVRTC_RELEASE;

constexpr char const* nvrtc_name = "libnvrtc.so.13";

/// The functions of NVRTC that are called, with their signatures of nvrtc.h. 0 means success.
class Nvrtc {
 public:
  using Program = void*;

  std::string const& missing() const { return library_.reason(); }
  std::string file() const { return library_.file(); }

  template <class... Arguments>
  int call(char const* name, Arguments... arguments) const {
    return library_.function<int(Arguments...)>(name)(arguments...);
  }

  /// Throws what NVRTC calls the fault.
  void check(char const* name, int status) const {
    if (status == 0) return;
    auto const text = library_.function<char const*(int)>("nvrtcGetErrorString")(status);
    throw Error(fmt::format("{} failed: {}", name, text));
  }

  template <class... Arguments>
  void require(char const* name, Arguments... arguments) const {
    check(name, call(name, arguments...));
  }

 private:
  VendorLibrary library_{nvrtc_name};
};

std::atomic<int> hidden = 0;  // how many hide NVRTC

/// Throws where it is missing, and says why.
void require_compiler(std::string const& missing) {
  if (missing.empty()) return;
  throw RuntimeCompilerMissing(
      fmt::format("formulas cannot be compiled for the GPU: libnvrtc.so.13 cannot be used ({}); "
                  "install NVRTC of the CUDA toolkit, or run with 'device: cpu'",
                  missing));
}
void require_visible_compiler() { require_compiler(hidden > 0 ? "it is hidden for a test" : ""); }

Nvrtc const& nvrtc() {
  require_visible_compiler();
  static Nvrtc const library;
  require_compiler(library.missing());
  return library;
}

/// A program that NVRTC holds.
class Program {
 public:
  explicit Program(RuntimeSource const& source) {
    std::vector<char const*> paths, texts;
    for (RuntimeFile const& file : runtime_files()) {
      paths.push_back(file.path.data());  // string literals, so they end in 0
      texts.push_back(file.text.data());
    }
    nvrtc().require("nvrtcCreateProgram", &program_, source.text.c_str(), source.name.c_str(),
                    static_cast<int>(paths.size()), std::as_const(texts).data(),
                    std::as_const(paths).data());
  }
  ~Program() { nvrtc().call("nvrtcDestroyProgram", &program_); }
  Program(Program const&) = delete;
  Program& operator=(Program const&) = delete;

  int compile(std::vector<std::string> const& options) {
    std::vector<char const*> texts;
    for (auto const& option : options) texts.push_back(option.c_str());
    return nvrtc().call("nvrtcCompileProgram", program_, static_cast<int>(texts.size()),
                        std::as_const(texts).data());
  }

  std::string log() const { return text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog"); }
  std::string cubin() const { return text("nvrtcGetCUBINSize", "nvrtcGetCUBIN"); }

 private:
  std::string text(char const* size_function, char const* text_function) const {
    std::size_t size = 0;
    nvrtc().require(size_function, program_, &size);
    std::string result(size, '\0');
    nvrtc().require(text_function, program_, result.data());
    return result;
  }

  Nvrtc::Program program_ = nullptr;
};

std::vector<std::string> options_for(RuntimeSource const& source, int compute_capability) {
  // Hopper's own instructions, such as those of its tensor cores, need the architecture's suffix.
  std::vector<std::string> options = {fmt::format("--gpu-architecture=sm_{}{}", compute_capability,
                                                  compute_capability == 90 ? "a" : ""),
                                      "--std=c++20", "--minimal"};
  options.insert(options.end(), source.options.begin(), source.options.end());
  return options;
}

/// Of all that the compiled code depends on.
std::string key_of(RuntimeSource const& source, std::vector<std::string> const& options) {
  static Digest const common = [] {
    Digest digest;
    digest.add(version());
    digest.add(nvrtc_release);
    for (RuntimeFile const& file : runtime_files()) {
      digest.add(file.path);
      digest.add(file.text);
    }
    return digest;
  }();
  Digest digest = common;
  for (auto const& option : options) digest.add(option);
  digest.add(source.text);
  return digest.text();
}

/// The cubin from the cache, or compiled and put there.
std::string cubin_of(std::string const& key, RuntimeSource const& source, int compute_capability) {
  RuntimeCache const cache(cache_folder());
  if (auto found = cache.find(key)) return *std::move(found);
  std::string cubin = compile_cubin(source, compute_capability);
  if (std::string const fault = cache.store(key, cubin); !fault.empty()) {
    static std::once_flag said;
    std::call_once(said, [&] {
      tell(
          fmt::format("gridstride: compiled formulas are not kept for the next run ({})\n", fault));
    });
  }
  return cubin;
}

}  // namespace

WithoutRuntimeCompiler::WithoutRuntimeCompiler() { ++hidden; }
WithoutRuntimeCompiler::~WithoutRuntimeCompiler() { --hidden; }

bool has_runtime_compiler() try {
  require_visible_compiler();
  static bool const is_known = [] {
    RuntimeCache const cache(cache_folder());
    if (is_remembered(cache, nvrtc_name)) return true;
    remember_library(cache, nvrtc_name, nvrtc().file());
    return true;
  }();
  return is_known;
} catch (RuntimeCompilerMissing const&) {
  return false;
}

std::string compile_cubin(RuntimeSource const& source, int compute_capability) {
  Program program(source);
  int const status = program.compile(options_for(source, compute_capability));
  if (status != 0)
    throw Error(fmt::format("NVRTC refused {} ({}):\n{}", source.name, status, program.log()));
  return program.cubin();
}

std::shared_ptr<RuntimeModule const> compile(Device const& device, RuntimeSource const& source) {
  if (device.backend() != Backend::cuda)
    throw std::invalid_argument("compile: code is compiled at run time for GPUs only");
  require_visible_compiler();
  struct Loaded {
    std::mutex mutex;
    std::shared_ptr<RuntimeModule const> module;
  };
  static std::mutex mutex;
  static std::map<std::pair<int, std::string>, Loaded> modules;  // which stay where they are
  int const capability = device.compute_capability();
  std::string const key = key_of(source, options_for(source, capability));
  // Threads compile side by side, but none what another one compiles.
  std::unique_lock finding(mutex);
  Loaded& loaded = modules[{device.ordinal(), key}];
  finding.unlock();
  std::lock_guard const loading(loaded.mutex);
  if (loaded.module == nullptr)
    loaded.module =
        std::make_shared<RuntimeModule const>(device, cubin_of(key, source, capability));
  return loaded.module;
}

struct RuntimeModule::Kernels {
  std::mutex mutex;
  std::map<std::string, gpu::Kernel, std::less<>> found;
};

RuntimeModule::RuntimeModule(Device const& device, std::string const& cubin)
    : library_(gpu::load_library(device.ordinal(), cubin)), kernels_(std::make_shared<Kernels>()) {}

gpu::Kernel const& RuntimeModule::kernel(char const* name) const {
  std::lock_guard const lock(kernels_->mutex);
  auto const known = kernels_->found.find(std::string_view(name));
  if (known != kernels_->found.end()) return known->second;
  return kernels_->found.emplace(name, gpu::find_kernel(library_.get(), name)).first->second;
}

void RuntimeModule::queue(Stream& stream, char const* name, LaunchShape const& shape,
                          std::span<void const* const> arguments,
                          std::span<std::size_t const> sizes) const {
  gpu::Kernel const& found = kernel(name);
  if (!std::ranges::equal(found.parameter_bytes, sizes))
    throw std::invalid_argument(fmt::format("{}: its parameters have {} bytes, the arguments {}",
                                            name, fmt::join(found.parameter_bytes, ", "),
                                            fmt::join(sizes, ", ")));
  gpu::launch(found, {shape.grid.x, shape.grid.y, shape.grid.z},
              {shape.block.x, shape.block.y, shape.block.z}, shape.shared_bytes, arguments,
              stream.native());
#ifdef GRIDSTRIDE_WITH_CUDA
  check_launch(stream, name, __FILE__, __LINE__);
#endif
}

int RuntimeModule::resident_blocks(char const* name, int block_threads,
                                   std::size_t shared_bytes) const {
  return gpu::resident_blocks(kernel(name), block_threads, shared_bytes);
}

std::size_t RuntimeModule::local_bytes(char const* name) const {
  return gpu::local_bytes(kernel(name));
}

}  // namespace gridstride
