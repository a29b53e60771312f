#include "io/packing.hpp"

#include <vtkDataArray.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkXMLImageDataReader.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "io/result.hpp"
#include "io/vti.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

/// Keeps the blocks that it is handed.
class KeptBlocks final : public BlockSink {
 public:
  using BlockSink::block_count;
  using BlockSink::BlockSink;
  std::map<std::uint64_t, std::vector<std::byte>> blocks;

 private:
  void take(std::uint64_t block, std::span<std::byte const> bytes) override {
    std::lock_guard const lock(mutex_);
    EXPECT_TRUE(blocks.emplace(block, std::vector(bytes.begin(), bytes.end())).second) << block;
  }
  std::mutex mutex_;
};

std::vector<std::byte> pattern_of(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761U >> 11);
  return bytes;
}

/// Two groups of 25 bytes, in blocks of 10: the third of each is shorter.
TEST(BlockSink, HandsOnWholeBlocksHoweverTheyCome) {
  auto const bytes = pattern_of(50);
  std::mt19937 generator(5);
  for (std::size_t const piece : {1, 3, 10, 17, 25, 50}) {
    KeptBlocks sink(50, 10, 25);
    EXPECT_EQ(sink.block_count(), 6U);
    std::vector<std::size_t> starts;
    for (std::size_t first = 0; first < bytes.size(); first += piece) starts.push_back(first);
    std::ranges::shuffle(starts, generator);
    std::vector<std::thread> threads;
    for (std::size_t const first : starts)
      threads.emplace_back([&, first] {
        sink.write(first, std::span(bytes).subspan(first, std::min(piece, bytes.size() - first)));
      });
    for (auto& thread : threads) thread.join();
    EXPECT_NO_THROW(sink.require_whole());
    std::size_t const places[] = {0, 10, 20, 25, 35, 45, 50};
    ASSERT_EQ(sink.blocks.size(), 6U) << piece;
    for (std::size_t block = 0; block < 6; ++block)
      EXPECT_TRUE(std::ranges::equal(
          sink.blocks[block],
          std::span(bytes).subspan(places[block], places[block + 1] - places[block])))
          << piece << ", block " << block;
  }
}

TEST(BlockSink, AMissingByteIsTold) {
  KeptBlocks sink(50, 10, 25);
  sink.write(0, pattern_of(49));
  EXPECT_EQ(sink.blocks.size(), 5U);
  EXPECT_THROW(sink.require_whole(), std::logic_error);
}

/// Fields in one block, in several, and in whole ones; smooth, and beyond packing.
struct PackedCase {
  Grid grid;
  int components;
  bool smooth;
};

Grid points_of(std::array<std::int64_t, 3> points) {
  Grid grid;
  grid.points = points;
  grid.dims = points[2] > 1 ? 3 : points[1] > 1 ? 2 : 1;
  return grid;
}

std::vector<PackedCase> packed_cases() {
  return {{points_of({1, 1, 1}), 1, true},       {points_of({7, 5, 3}), 3, true},
          {points_of({131072, 2, 1}), 1, false}, {points_of({131071, 3, 1}), 2, true},
          {points_of({400, 501, 3}), 1, true},   {points_of({1000003, 1, 1}), 1, false},
          {points_of({3, 300000, 2}), 1, true}};
}

template <class T>
std::vector<T> packed_values(PackedCase const& one, unsigned seed) {
  std::vector<T> values(static_cast<std::size_t>(one.grid.size() * one.components));
  std::mt19937_64 generator(seed);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = one.smooth ? static_cast<T>(i % 1000 / 8 + seed)
                           : static_cast<T>(static_cast<double>(generator()) / 0x1p64);
  return values;
}

TEST(PackedImage, VtkReadsBackEveryValue) {
  TemporaryFolder const folder;
  for (PackedCase const& one : packed_cases())
    for (int const level : {1, 9}) {
      if (level == 9 && !one.smooth) continue;
      auto const u = packed_values<double>(one, 1);
      auto const v = packed_values<float>(one, 2), w = packed_values<float>(one, 3);
      std::vector<Field> const fields = {
          {"u", "K", one.grid, Precision::float64, u.data(), one.components},
          {"v", "1", one.grid, Precision::float32, v.data(), one.components},
          {"w", "1", one.grid, Precision::float32, w.data(), one.components}};
      write_vti(folder / "a.vti", one.grid, fields, 0.5, 3, level);
      std::uint64_t const plain = (8 + 4 + 4) * static_cast<std::uint64_t>(one.grid.size()) *
                                  static_cast<std::uint64_t>(one.components);
      if (one.smooth && plain > 100000) {
        EXPECT_LT(std::filesystem::file_size(folder / "a.vti"), plain / 4);
      }
      EXPECT_LT(std::filesystem::file_size(folder / "a.vti"), plain + plain / 100 + 16384);

      vtkNew<vtkXMLImageDataReader> reader;
      reader->SetFileName((folder / "a.vti").c_str());
      reader->Update();
      auto* const data = reader->GetOutput()->GetPointData();
      auto const expect = [&](char const* name, auto const& values) {
        auto* const array = data->GetArray(name);
        ASSERT_EQ(array->GetNumberOfValues(), std::ssize(values));
        EXPECT_EQ(
            std::memcmp(array->GetVoidPointer(0), values.data(), values.size() * sizeof values[0]),
            0)
            << name << ", " << one.grid.points[0] << ", level " << level;
      };
      expect("u", u);
      expect("v", v);
      expect("w", w);
    }
  EXPECT_EQ(folder.files(), 1U);
}

/// Arrays in turns and from their ends: blocks wait for those before them.
TEST(PackedImage, ArraysComeInAnyOrder) {
  TemporaryFolder const folder;
  PackedCase const one{points_of({131071, 5, 1}), 1, false};
  auto const u = packed_values<double>(one, 1), v = packed_values<double>(one, 2);
  std::vector<Field> const fields = {{"u", "1", one.grid, Precision::float64, u.data()},
                                     {"v", "1", one.grid, Precision::float64, v.data()}};
  std::vector<FieldInfo> const infos = {{"u", "1", Precision::float64},
                                        {"v", "1", Precision::float64}};
  write_vti(folder / "whole.vti", one.grid, fields, 0, 0, 1);
  ImageFile file(folder / "a.vti", one.grid, infos, 0, 0, 1);
  auto const sinks = file.sinks();
  std::size_t const bytes = u.size() * sizeof(double), piece = 300000;
  for (std::size_t last = bytes; last > 0; last -= std::min(last, piece)) {
    std::size_t const first = last - std::min(last, piece);
    sinks[1]->write(first, std::as_bytes(std::span(v)).subspan(first, last - first));
    sinks[0]->write(first, std::as_bytes(std::span(u)).subspan(first, last - first));
  }
  file.commit();
  EXPECT_TRUE(read_bytes(folder / "a.vti") == read_bytes(folder / "whole.vti"));
}

TEST(PackedResult, EveryReaderReadsBackEveryValue) {
  TemporaryFolder const folder;
  for (PackedCase const& one : packed_cases()) {
    auto const path = folder / "a.h5";
    ResultContents contents{one.grid,
                            {{"u", "K", Precision::float64, one.components},
                             {"v", "1", Precision::float32, one.components}},
                            {},
                            {}};
    contents.compression = 2;
    ResultWriter writer(path, contents);
    for (unsigned step = 0; step < 2; ++step) {
      auto const u = packed_values<double>(one, step);
      auto const v = packed_values<float>(one, step + 7);
      std::vector<Field> const fields = {
          {"u", "K", one.grid, Precision::float64, u.data(), one.components},
          {"v", "1", one.grid, Precision::float32, v.data(), one.components}};
      writer.append(step, step, fields, {});
    }
    writer.finish({});
    ResultFile const file(path);
    ASSERT_EQ(file.times().size(), 2U);
    for (unsigned step = 0; step < 2; ++step) {
      auto const u = packed_values<double>(one, step);
      auto const v = packed_values<float>(one, step + 7);
      EXPECT_TRUE(file.read("u", step) == u) << one.grid.points[0];
      EXPECT_TRUE(std::ranges::equal(file.read("v", step), v)) << one.grid.points[0];
      std::vector<float> stored(v.size());
      file.open("v", step)->read(0, std::ssize(v), stored.data());
      EXPECT_TRUE(stored == v) << one.grid.points[0];
    }
    std::uint64_t const plain = 2 * 12 * static_cast<std::uint64_t>(one.grid.size()) *
                                static_cast<std::uint64_t>(one.components);
    if (one.smooth && plain > 1000000) {
      EXPECT_LT(std::filesystem::file_size(path), plain / 4) << one.grid.points[0];
    }
  }
}

TEST(ImageLikeOthers, NamesAndTheEndAreTold) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2);
  std::vector<double> values(static_cast<std::size_t>(grid.size()), 1);
  std::vector<Field> const fields = {{"w", "K", grid, Precision::float64, values.data()},
                                     {"a<b", "1", grid, Precision::float64, values.data()}};
  std::vector<FieldInfo> const infos = {{"w", "K", Precision::float64},
                                        {"a<b", "1", Precision::float64}};
  for (int const compression : {0, 3}) {
    auto const path = folder / "a.vti";
    write_vti(path, grid, fields, 0.5, 1, compression);
    EXPECT_EQ(names_in_image(path), (std::vector<std::string>{"a&lt;b", "w"}));
    EXPECT_EQ(names_in_image(path), xml_names(infos));
    EXPECT_EQ(step_in_image(path), 1);
    EXPECT_NO_THROW(require_whole(path));
    for (std::uintmax_t const size : {std::filesystem::file_size(path) - 1, std::uintmax_t{0}}) {
      std::filesystem::resize_file(path, size);
      expect_io_error([&] { require_whole(path); }, {"a.vti", "has lost its end"});
    }
  }
  expect_io_error([&] { require_whole(folder / "b.vti"); }, {"b.vti", "is missing"});
}

TEST(ImageLikeOthers, OtherPointsAndTypesAreTold) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2);
  SampleFields sample(grid);
  write_vti(folder / "a.vti", grid, sample.at(0), 0, 0);
  write_vti(folder / "b.vti", grid, sample.at(0), 0, 0, 3);
  std::vector<FieldInfo> infos = {{"u", "K", Precision::float64}, {"new", "1", Precision::float32}};
  for (auto const* name : {"a.vti", "b.vti"}) {
    EXPECT_NO_THROW(require_like(folder / name, grid, infos));
    auto const refused = [&](Grid const& other, std::vector<FieldInfo> const& fields) {
      expect_io_error([&] { require_like(folder / name, other, fields); },
                      {name,
                       "holds other points, or values of another type, than this run writes "
                       "(output.every_nth_point, output.precision)"});
    };
    Grid other = grid;
    other.points[1] = 4;
    refused(other, infos);
    other = grid;
    other.spacing[0] *= 2;
    refused(other, infos);
    refused(grid, {{"u", "K", Precision::float32}});
  }
}

}  // namespace
}  // namespace gridstride::io
