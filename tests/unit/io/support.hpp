#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "grid/grid.hpp"
#include "io/hdf5.hpp"
#include "io/vtkhdf.hpp"

namespace gridstride::io::test {

/// A folder of its own that goes with the test.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(
      std::filesystem::path const& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "gridstride_io_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(std::string const& name) const { return path_ / name; }
  std::filesystem::path const& path() const { return path_; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

/// Expects `work` to throw an `IoError` whose text contains each of `parts`.
inline void expect_io_error(std::function<void()> const& work,
                            std::vector<std::string> const& parts) {
  try {
    work();
    ADD_FAILURE() << "no error";
  } catch (IoError const& error) {
    for (auto const& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "'" << part << "' is not in: " << error.what();
  }
}

inline Grid make_grid(int dims) {
  Grid grid;
  grid.dims = dims;
  constexpr std::array<std::int64_t, 3> points = {7, 5, 3};
  for (int axis = 0; axis < dims; ++axis) {
    grid.points[axis] = points[axis];
    grid.origin[axis] = axis + 0.5;
    grid.spacing[axis] = 0.1 * (axis + 1);
  }
  return grid;
}

/// A value that tells its field, step and point.
inline double sample(int field, std::int64_t step, std::int64_t point) {
  return 1000.0 * static_cast<double>(step) + static_cast<double>(point) / 8 + 0.25 * field;
}

/// Two fields, `u` in float64 and `v` in float32, with the memory they view.
class SampleFields {
 public:
  explicit SampleFields(Grid const& grid)
      : u_(static_cast<std::size_t>(grid.size())), v_(u_.size()), grid_(grid) {}

  std::vector<Field> at(std::int64_t step) {
    for (std::size_t i = 0; i < u_.size(); ++i) {
      u_[i] = sample(0, step, static_cast<std::int64_t>(i));
      v_[i] = static_cast<float>(sample(1, step, static_cast<std::int64_t>(i)));
    }
    return fields();
  }
  std::vector<Field> fields() const {
    return {{"u", "K", grid_, Precision::float64, u_.data()},
            {"v", "m/s", grid_, Precision::float32, v_.data()}};
  }
  std::vector<double>& u() { return u_; }
  std::vector<float>& v() { return v_; }

 private:
  std::vector<double> u_;
  std::vector<float> v_;
  Grid grid_;
};

inline ResultContents sample_contents(Grid const& grid) {
  Provenance provenance;
  provenance.config = "simulation: heat\n";
  provenance.resolved_config = "simulation: heat\ndevice: cpu\n";
  provenance.version = "1.2.3";
  provenance.git_hash = "abc";
  provenance.device = "a CPU";
  provenance.precision = "float64";
  provenance.fallbacks = {"ran on the host"};
  return {grid,
          {{"u", "K", Precision::float64}, {"v", "m/s", Precision::float32}},
          {"norm", "energy"},
          provenance,
          {{"u.histogram", 3}}};
}

/// Counts and edges that tell their step.
inline Histogram sample_histogram(std::int64_t step) {
  auto const start = static_cast<double>(step);
  return {"u.histogram", {step, step + 1, step + 2}, {start, start + 0.5, start + 1, start + 1.5}};
}

/// Writes `steps` steps (numbered 0, 10, 20, …, at times step/16) and ends the file.
inline void write_sample(std::filesystem::path const& path, Grid const& grid, int steps) {
  ResultWriter writer(path, sample_contents(grid));
  SampleFields fields(grid);
  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<NamedValue> const diagnostics = {{"norm", 0.5 * static_cast<double>(step)}};
    std::vector<Histogram> const histograms = {sample_histogram(step)};
    writer.append(10 * step, static_cast<double>(step) / 16, fields.at(step), diagnostics,
                  histograms);
  }
  std::vector<NamedValue> const wall_times = {{"total", 1.5}};
  writer.finish({wall_times});
}

/// An HDF5 file as other programs make it.
inline hdf5::Object create_plain_file(std::filesystem::path const& path) {
  hdf5::silence();
  return {path,
          hdf5::Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose)};
}

inline std::string read_bytes(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

inline void write_bytes(std::filesystem::path const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// How many more calls of `pwrite` this process survives, and of the one after them how many bytes
/// reach the file; negative for all. `test_durability.cpp` puts itself in front of the C library's.
extern std::atomic<int> calls_to_live;
extern int last_bytes;
/// So many pages of the file instead, the first of which may be begun before: a system that ends a process
/// looks for it between two pages of a write.
extern int last_pages;
/// A kill, unlike a power cut, takes nothing back that was written.
extern bool skips_fsync;

/// A number that a forked child leaves for its parent.
class SharedCount {
 public:
  SharedCount()
      : value_(static_cast<int*>(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  SharedCount(SharedCount const&) = delete;
  SharedCount& operator=(SharedCount const&) = delete;
  ~SharedCount() { munmap(value_, sizeof(int)); }
  int& operator*() const { return *value_; }

 private:
  int* value_;
};

/// Runs `work` in a child process, which then ends as programs do; its wait status.
inline int run_in_child(std::function<void()> const& work) {
  std::fflush(nullptr);
  pid_t const child = fork();
  if (child == 0) {
    work();
    std::exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

}  // namespace gridstride::io::test
