// Kills and full disks while several threads write a result, its images and a checkpoint.

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <vtkDataArray.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkXMLImageDataReader.h>

#include <array>
#include <csignal>
#include <cstring>
#include <span>

#include "io/checkpoint.hpp"
#include "io/packing.hpp"
#include "io/result.hpp"
#include "io/slabs.hpp"
#include "io/vti.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

constexpr int moments = 2;
constexpr std::size_t block = packed_block / sizeof(float);

/// Three slabs of float32, the last one short.
Grid slabs_grid() {
  Grid grid;
  grid.dims = 2;
  grid.points = {2051, 2053, 1};
  return grid;
}

/// Other values at each moment: of each block that is packed a quarter that hardly gets smaller, so that
/// blocks have lengths that count, and the rest the same again and again, which is packed soon.
std::vector<float> const& pattern(int moment) {
  static auto const all = [] {
    std::array<std::vector<float>, moments + 1> made;
    for (std::uint32_t seed = 12345U; auto& values : made) {
      values.resize(static_cast<std::size_t>(slabs_grid().size()));
      std::uint32_t state = seed++;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % block < block / 4) state = state * 1664525U + 1013904223U;
        values[i] = static_cast<float>(state >> 8);
      }
    }
    return made;
  }();
  return all.at(static_cast<std::size_t>(moment));
}

template <class T>
bool are_pattern(std::span<T const> found, int moment) {
  static auto const all = [] {
    std::array<std::vector<T>, moments> made;
    for (int m = 0; m < moments; ++m)
      made.at(static_cast<std::size_t>(m)).assign(pattern(m).begin(), pattern(m).end());
    return made;
  }();
  auto const& values = all.at(static_cast<std::size_t>(moment));
  return found.size() == values.size() &&
         std::memcmp(found.data(), values.data(), found.size_bytes()) == 0;
}

std::string image_of(int moment) { return "run_" + std::to_string(moment) + ".vti"; }

/// What this process wrote whole, in its order: the result of a moment and its image, and last the
/// checkpoint.
void write_all(TemporaryFolder const& folder, int compression, int& done) {
  Stream stream(Device::open(Backend::cpu));
  Grid const grid = slabs_grid();
  std::vector<FieldInfo> const infos = {{"u", "1", Precision::float32}};
  ResultContents contents{grid, infos, {}, {}};
  contents.compression = compression;
  std::size_t const bytes = static_cast<std::size_t>(grid.size()) * sizeof(float);
  Slabs slabs(stream, {.largest_array = bytes, .packs = compression > 0});
  ResultWriter result(folder / "run.h5", contents);
  for (int moment = 0; moment < moments; ++moment) {
    auto const& values = pattern(moment);
    ImageFile image(folder / image_of(moment), grid, infos, moment, moment, compression);
    Slabs::Output output{reinterpret_cast<std::byte const*>(values.data()), bytes, {}};
    output.sinks = {image.sinks().front(), result.begin_step().front()};
    slabs.write(std::span(&output, 1));
    image.commit();
    ++done;
    result.commit_step(moment, moment, {});
    ++done;
  }
  auto const& state = pattern(moments);
  write_checkpoint(
      folder / "run.checkpoint", {"problem", moments, 1},
      [&](CheckpointSink& sink) { sink.put_array("u", std::span<float const>(state), stream); },
      slabs);
  ++done;
}

/// What has its name is whole: all that was done, and at most one thing more.
void expect_whole(TemporaryFolder const& folder, int done) {
  int there = 0;
  for (int moment = 0; moment < moments; ++moment) {
    if (!std::filesystem::exists(folder / image_of(moment))) continue;
    ++there;
    vtkNew<vtkXMLImageDataReader> reader;
    reader->SetFileName((folder / image_of(moment)).c_str());
    reader->Update();
    auto* const u = reader->GetOutput()->GetPointData()->GetArray("u");
    EXPECT_EQ(u->GetDataType(), VTK_FLOAT);
    EXPECT_TRUE(are_pattern(std::span(static_cast<float const*>(u->GetVoidPointer(0)),
                                      static_cast<std::size_t>(u->GetNumberOfValues())),
                            moment));
  }
  if (std::filesystem::exists(folder / "run.h5")) {
    ResultFile const result(folder / "run.h5");
    there += static_cast<int>(result.times().size());
    for (std::size_t moment = 0; moment < result.times().size(); ++moment) {
      auto const u = result.read("u", moment);
      EXPECT_TRUE(are_pattern(std::span<double const>(u), static_cast<int>(moment)));
    }
  }
  if (std::filesystem::exists(folder / "run.checkpoint")) {
    ++there;
    EXPECT_EQ(CheckpointFile(folder / "run.checkpoint").inspect().size(), 1U);
  }
  EXPECT_TRUE(there == done || there == done + 1) << there << " of " << done;
}

class WritingLanes : public testing::TestWithParam<int> {};

TEST_P(WritingLanes, AKillAtAnyWriteLeavesWholeFiles) {
  SharedCount calls;
  {
    TemporaryFolder const folder;
    SharedCount done;
    run_in_child([&] {
      constexpr int many = std::numeric_limits<int>::max();
      skips_fsync = true;
      calls_to_live = many;
      write_all(folder, GetParam(), *done);
      *calls = many - calls_to_live;
    });
    EXPECT_EQ(*done, 2 * moments + 1);
    expect_whole(folder, *done);
  }
  ASSERT_GT(*calls, 40);
  int killed = 0;
  for (int survived = 0; survived<*calls; survived += GetParam()> 0 ? 17 : 5) {
    SCOPED_TRACE(survived);
    TemporaryFolder const folder;
    SharedCount done;
    int const status = run_in_child([&] {
      skips_fsync = true;
      calls_to_live = survived;
      write_all(folder, GetParam(), *done);
    });
    killed += WIFSIGNALED(status) ? 1 : 0;
    expect_whole(folder, *done);
  }
  EXPECT_GT(killed, 10);
}

/// The length of a file is bounded, at some place in each slab.
TEST_P(WritingLanes, AFullDiskIsAnErrorAndLeavesWholeFiles) {
  std::uintmax_t const step = GetParam() > 0 ? 900'000 : 3'700'000;
  for (std::uintmax_t limit = step; limit < 10 * step; limit += step) {
    SCOPED_TRACE(limit);
    TemporaryFolder const folder;
    SharedCount done, told;
    int const status = run_in_child([&] {
      skips_fsync = true;
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const most = {limit, limit};
      setrlimit(RLIMIT_FSIZE, &most);
      try {
        write_all(folder, GetParam(), *done);
      } catch (IoError const& error) {
        std::string const message = error.what();
        *told = message.find("run") != message.npos && message.find("too large") != message.npos;
      }
    });
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(*told == 1 || *done == 2 * moments + 1);
    expect_whole(folder, *done);
    for (auto const& entry : std::filesystem::directory_iterator(folder.path()))
      EXPECT_NE(entry.path().extension(), ".part");
  }
}

/// The result of one moment fits, and its image does not, or both do and no more.
TEST_P(WritingLanes, ADiskThatFillsUpWhileTheyWrite) {
  bool const packed = GetParam() > 0;
  for (char const* size : {packed ? "size=5m" : "size=21m", packed ? "size=10m" : "size=40m"}) {
    TemporaryFolder const folder;
    SharedCount mounted, done, told;
    run_in_child([&] {
      if (unshare(CLONE_NEWNS) != 0 ||
          mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount("none", folder.path().c_str(), "tmpfs", 0, size) != 0)
        return;
      *mounted = 1;
      try {
        write_all(folder, GetParam(), *done);
      } catch (IoError const& error) {
        *told = std::string(error.what()).find("No space left on device") != std::string::npos;
      }
      *told += 10 * testing::Test::HasFailure();
      expect_whole(folder, *done);
      *told += 10 * testing::Test::HasFailure();
    });
    if (*mounted == 0) GTEST_SKIP() << "no file system can be mounted";
    EXPECT_EQ(*told, 1) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Compression, WritingLanes, testing::Values(0, 1));

}  // namespace
}  // namespace gridstride::io
