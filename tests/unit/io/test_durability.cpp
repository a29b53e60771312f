// Kills and full disks at every point of a result file's life.

#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "io/hdf5.hpp"
#include "io/result.hpp"
#include "support.hpp"

namespace gridstride::io::test {

std::atomic<int> calls_to_live = -1;
std::atomic<int> calls_to_cut = -1;
int last_bytes = 0;
int last_pages = 0;
bool skips_fsync = false;

}  // namespace gridstride::io::test

using gridstride::io::test::calls_to_cut;
using gridstride::io::test::calls_to_live;
using gridstride::io::test::last_bytes;
using gridstride::io::test::last_pages;
using gridstride::io::test::skips_fsync;

/// Stands in for the C library's in this program, to kill it or to cut the file between any two
/// writes.
extern "C" ssize_t pwrite(int descriptor, void const* bytes, size_t size, off_t offset) {
  bool const counts = calls_to_live >= 0;
  if (counts && calls_to_live.fetch_sub(1) == 0) {
    constexpr off_t page = 4096;
    auto const pages = static_cast<size_t>(last_pages * page - offset % page);
    auto const torn = std::min(size, last_pages > 0 ? pages : static_cast<size_t>(last_bytes));
    syscall(SYS_pwrite64, descriptor, bytes, torn, offset);
    kill(getpid(), SIGKILL);
  }
  if (calls_to_cut >= 0 && calls_to_cut.fetch_sub(1) == 0) {
    EXPECT_EQ(ftruncate(descriptor, 100), 0);
  }
  return syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

extern "C" int fsync(int descriptor) {
  return skips_fsync ? 0 : static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace gridstride::io {
namespace {

using namespace test;

constexpr std::int64_t all_steps = 5;

/// Writes a whole result and counts the steps whose `append` returned; stops at an `IoError`, whose
/// text it returns.
std::string write_and_count(std::filesystem::path const& path, Grid const& grid, int& done) {
  try {
    ResultWriter writer(path, sample_contents(grid));
    SampleFields fields(grid);
    for (std::int64_t step = 0; step < all_steps; ++step) {
      try {
        std::vector<Histogram> const histograms = {sample_histogram(step)};
        writer.append(step, static_cast<double>(step), fields.at(step), {}, histograms);
      } catch (IoError const& error) {
        expect_io_error([&] { writer.append(step, 0, fields.at(step), {}); }, {"takes no more"});
        return error.what();
      }
      ++done;
    }
    writer.finish({.wall_times = {{"total", 1}}});
    ++done;
  } catch (IoError const& error) {
    return error.what();
  }
  return {};
}

/// The file holds the steps that were done, or one more, in full; and is safe for VTK's reader.
void expect_consistent(std::filesystem::path const& path, Grid const& grid, int done) {
  if (!std::filesystem::exists(path)) {
    EXPECT_EQ(done, 0);
    return;
  }
  ResultFile const file(path);
  auto const steps = file.times().size();
  EXPECT_TRUE(static_cast<int>(steps) == std::min(done, static_cast<int>(all_steps)) ||
              static_cast<int>(steps) == done + 1);
  EXPECT_TRUE(!file.complete() || steps == all_steps);
  for (std::size_t step = 0; step < steps; ++step) {
    EXPECT_EQ(file.steps()[step], static_cast<std::int64_t>(step));
    EXPECT_EQ(file.times()[step], static_cast<double>(step));
    auto const histogram = file.read_histogram("u.histogram", step);
    EXPECT_EQ(histogram.counts, sample_histogram(file.steps()[step]).counts);
    EXPECT_EQ(histogram.edges, sample_histogram(file.steps()[step]).edges);
    auto const u = file.read("u", step);
    auto const v = file.read("v", step);
    for (std::size_t i = 0; i < u.size(); i += 3) {
      EXPECT_EQ(u[i], sample(0, file.steps()[step], static_cast<std::int64_t>(i)));
      EXPECT_EQ(v[i],
                static_cast<float>(sample(1, file.steps()[step], static_cast<std::int64_t>(i))));
    }
  }
  EXPECT_EQ(file.grid(), grid);
  auto const home = hdf5::open_file(path).open_group("gridstride");
  for (auto const* list : {"diagnostics/norm", "diagnostics/energy",
                           "diagnostics/u.histogram/counts", "diagnostics/u.histogram/edges"})
    EXPECT_EQ(home.open_dataset(list).shape().at(0), home.open_dataset("step").shape().at(0));
  auto const group = hdf5::open_file(path).open_group("VTKHDF/Steps");
  EXPECT_EQ(group.open_dataset("Values").shape().at(0),
            static_cast<hsize_t>(group.read_attribute<std::int64_t>("NSteps").at(0)));
}

class Durability : public testing::TestWithParam<int> {};

TEST_P(Durability, AKillBetweenAnyTwoWritesLeavesTheStepsBefore) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(GetParam());
  int killed = 0;
  for (int survived = 0;; ++survived) {
    SCOPED_TRACE(survived);
    std::filesystem::remove(folder / "run.h5");
    SharedCount done;
    int const status = run_in_child([&] {
      skips_fsync = true;
      calls_to_live = survived;
      write_and_count(folder / "run.h5", grid, *done);
    });
    expect_consistent(folder / "run.h5", grid, *done);
    if (WIFEXITED(status)) {
      EXPECT_EQ(*done, all_steps + 1);
      break;
    }
    ++killed;
  }
  EXPECT_GT(killed, 4 * all_steps);
}

TEST_P(Durability, AFullDiskLeavesTheStepsBefore) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(GetParam());
  write_sample(folder / "whole.h5", grid, static_cast<int>(all_steps));
  auto const whole = std::filesystem::file_size(folder / "whole.h5");
  for (std::uintmax_t limit = 0; limit < whole + 512; limit += 509) {
    SCOPED_TRACE(limit);
    std::filesystem::remove(folder / "run.h5");
    SharedCount done;
    SharedCount named;
    int const status = run_in_child([&] {
      skips_fsync = true;
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const most = {limit, limit};
      setrlimit(RLIMIT_FSIZE, &most);
      auto const message = write_and_count(folder / "run.h5", grid, *done);
      *named = message.find("run.h5: ") != std::string::npos &&
               message.find("File too large") != std::string::npos;
    });
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(*named == 1 || *done == all_steps + 1);
    expect_consistent(folder / "run.h5", grid, *done);
    EXPECT_EQ(folder.files(), std::filesystem::exists(folder / "run.h5") ? 2U : 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Dimensions, Durability, testing::Values(1, 2, 3));

/// As many diagnostics as take several pages of headers, some of which are written and others not.
TEST(DurabilityOfManyLists, AKillWithinAWriteLeavesTheStepsBefore) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(1);
  auto contents = sample_contents(grid);
  std::vector<NamedValue> numbers;
  for (int i = 0; i < 40; ++i) {
    contents.diagnostics.push_back(fmt::format("number {}", i));
    numbers.push_back({contents.diagnostics.back(), 39});
  }
  SharedCount done, first;  // calls of the first step
  auto const write = [&](int pages, int calls) {
    std::filesystem::remove(folder / "run.h5");
    *done = 0;
    return run_in_child([&] {
      skips_fsync = true;
      last_pages = pages;
      calls_to_live = calls;
      ResultWriter writer(folder / "run.h5", contents);
      SampleFields fields(grid);
      std::vector<Histogram> const histograms = {sample_histogram(0)};
      for (std::int64_t step = 0; step < 3; ++step, ++*done) {
        if (step == 1) *first = calls - calls_to_live;
        writer.append(step, static_cast<double>(step), fields.at(step), numbers, histograms);
      }
    });
  };
  write(0, std::numeric_limits<int>::max());
  int torn = 0;
  for (int const pages : {1, 3})
    for (int survived = *first; WIFSIGNALED(write(pages, survived)); ++survived) {
      SCOPED_TRACE(fmt::format("{} pages, {} calls", pages, survived));
      ResultFile const file(folder / "run.h5");
      auto const steps = file.times().size();
      auto const whole = static_cast<std::size_t>(*done);
      EXPECT_TRUE(steps == whole || steps == whole + 1) << steps;
      for (std::size_t step = 0; step < steps; ++step) {
        EXPECT_EQ(file.read("u", step).back(),
                  sample(0, static_cast<std::int64_t>(step), grid.size() - 1));
        EXPECT_EQ(file.diagnostics().back().values.at(step), 39);
      }
      auto const home = hdf5::open_file(folder / "run.h5").open_group("gridstride");
      torn +=
          home.open_dataset("step").shape() != home.open_dataset("diagnostics/number 39").shape()
              ? 1
              : 0;
    }
  EXPECT_GT(torn, 0);
}

/// The index of a field's chunks splits its nodes on the way.
TEST(DurabilityOfManySteps, AKillAmongThemLeavesTheStepsBefore) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(1);
  constexpr int steps = 140;
  constexpr int many = std::numeric_limits<int>::max();
  SharedCount calls;
  run_in_child([&] {
    skips_fsync = true;
    calls_to_live = many;
    write_sample(folder / "whole.h5", grid, steps);
    *calls = many - calls_to_live;
  });
  for (int survived = *calls * 2 / 5; survived < *calls; survived += 7) {
    SCOPED_TRACE(survived);
    std::filesystem::remove(folder / "run.h5");
    run_in_child([&] {
      skips_fsync = true;
      calls_to_live = survived;
      write_sample(folder / "run.h5", grid, steps);
    });
    ResultFile const file(folder / "run.h5");
    EXPECT_GT(file.times().size(), 40U);
    for (std::size_t step = 0; step < file.times().size(); ++step)
      ASSERT_EQ(file.read("u", step).back(),
                sample(0, static_cast<std::int64_t>(step), grid.size() - 1));
  }
}

TEST(DurabilityAmongOthers, AFileThatIsTakenAwayOrCutIsTold) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2);
  auto const path = folder / "run.h5";
  auto const fails = [&](std::function<void()> const& meddle, bool at_the_end,
                         std::string const& why) {
    ResultWriter writer(path, sample_contents(grid));
    SampleFields fields(grid);
    for (std::int64_t step = 0; step < 3; ++step)
      writer.append(step, static_cast<double>(step), fields.at(step), {});
    meddle();
    expect_io_error(
        [&] {
          if (at_the_end)
            writer.finish({});
          else
            writer.append(3, 3, fields.at(3), {});
        },
        {"run.h5", why});
  };
  for (bool const at_the_end : {false, true}) {
    fails([&] { std::filesystem::remove(path); }, at_the_end, "removed or replaced");
    fails(
        [&] {
          write_bytes(folder / "other", "mine");
          std::filesystem::rename(folder / "other", path);
        },
        at_the_end, "removed or replaced");
    EXPECT_EQ(read_bytes(path), "mine");
    for (std::uintmax_t const left : {0, 3000})
      fails([&] { std::filesystem::resize_file(path, left); }, at_the_end, "was cut");
    EXPECT_EQ(std::filesystem::file_size(path), 3000U);
  }
}

/// As after a look whether the file is whole: the write makes it long again.
TEST(DurabilityAmongOthers, ACutRightBeforeAnyWriteIsTold) {
  TemporaryFolder const folder;
  for (int dimensions : {1, 3}) {
    for (int writes = 1;; ++writes) {
      SCOPED_TRACE(writes);
      int done = 0;
      calls_to_cut = writes;
      auto const message = write_and_count(folder / "run.h5", make_grid(dimensions), done);
      if (calls_to_cut.exchange(-1) >= 0) {
        EXPECT_EQ(message, "");
        EXPECT_GT(writes, 4 * all_steps);
        break;
      }
      EXPECT_NE(message.find("was cut while the run wrote it"), std::string::npos) << message;
    }
  }
}

TEST(DurabilityOfANewRun, LeavesTheOldResultUntilTheNewOneOpens) {
  TemporaryFolder const folder;
  write_sample(folder / "run.h5", make_grid(2), 3);
  run_in_child([&] {
    calls_to_live = 2;
    write_sample(folder / "run.h5", make_grid(2), 1);
  });
  EXPECT_EQ(ResultFile(folder / "run.h5").times().size(), 3U);
  write_sample(folder / "run.h5", make_grid(2), 2);
  EXPECT_EQ(ResultFile(folder / "run.h5").times().size(), 2U);
}

}  // namespace
}  // namespace gridstride::io
