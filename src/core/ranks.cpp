#include "core/ranks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "core/ranks_module.hpp"

namespace gridstride {

namespace {

namespace fs = std::filesystem;

/// This process alone.
class One final : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  std::span<int const> machines() const override { return machine_; }
  std::string transport() const override { return "none"; }
  void broadcast(std::span<std::byte>) override {}
  void exchange(std::span<RankMessage const> sent, std::span<RankMessage const> received) override {
    if (!sent.empty() || !received.empty()) throw std::logic_error("messages to no process");
  }
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }
  void finish() override {}

 private:
  std::array<int, 1> machine_ = {};
};

std::unique_ptr<Ranks>& joined() {
  static std::unique_ptr<Ranks> all = std::make_unique<One>();
  return all;
}

int number_of(char const* variable) {
  char const* const text = std::getenv(variable);
  if (text == nullptr) return 1;
  std::string_view const digits(text);
  int number = 1;
  auto const [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return fault == std::errc() && end == digits.data() + digits.size() ? std::max(number, 1) : 1;
}

/// Beside the program where it was built, and where `cmake --install` puts it.
fs::path module_path() {
  std::error_code error;
  fs::path const folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (fs::path const& place : {folder, folder.parent_path() / GRIDSTRIDE_MODULES})
    if (fs::exists(place / ranks_module_file, error)) return place / ranks_module_file;
  return {};
}

}  // namespace

bool Ranks::is_here(int rank) const {
  auto const all = machines();
  return all[static_cast<std::size_t>(rank)] == all[static_cast<std::size_t>(this->rank())];
}

int Ranks::local_rank() const {
  int place = 0;
  for (int other = 0; other < rank(); ++other) place += is_here(other) ? 1 : 0;
  return place;
}

int Ranks::local_count() const {
  int found = 0;
  for (int other = 0; other < count(); ++other) found += is_here(other) ? 1 : 0;
  return found;
}

Ranks& ranks() { return *joined(); }

/// Open MPI's mpirun; MPICH's and others; srun.
int launched_ranks() {
  for (char const* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (int const count = number_of(variable); count > 1) return count;
  return 1;
}

std::string ranks_lacking() {
  if (!module_path().empty()) return {};
  return fmt::format("{} is not beside it: it was built without MPI", ranks_module_file);
}

void join_ranks() {
  int const count = launched_ranks();
  if (count == 1) return;
  auto const refuse = [count](std::string const& why) {
    return Error(
        fmt::format("a launcher has started {} processes of this program, and {}", count, why));
  };
  if (auto const lack = ranks_lacking(); !lack.empty()) throw refuse(lack);
  fs::path const path = module_path();
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // what MPI loads looks here
  if (module == nullptr) throw refuse(fmt::format("MPI cannot be loaded ({})", dlerror()));
  auto* const open = reinterpret_cast<OpenRanks*>(dlsym(module, open_ranks_name));
  if (open == nullptr) throw refuse(fmt::format("{} is of another version", path.string()));
  std::unique_ptr<Ranks> all(open());
  if (all->count() != count) {
    auto const found = all->count();
    all->finish();
    throw refuse(
        fmt::format("MPI ({}) finds {} of them; use the launcher of that MPI, or under Slurm "
                    "srun --mpi=pmix",
                    all->transport(), found));
  }
  joined() = std::move(all);
}

}  // namespace gridstride
