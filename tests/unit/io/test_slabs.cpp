#include "io/slabs.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "core/error.hpp"
#include "io/result.hpp"
#include "io/vti.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

/// Keeps what it is given, and fails from some byte on.
class MemorySink final : public FieldSink {
 public:
  explicit MemorySink(std::size_t size, std::uint64_t end = std::uint64_t(-1))
      : FieldSink(size), memory(size), end_(end) {}
  std::vector<std::byte> memory;
  std::atomic<bool> slabs_are_whole = true;

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    if (first_byte + bytes.size() > end_) throw IoError("sink", "is full");
    if (first_byte % Slabs::bytes != 0 ||
        bytes.size() != std::min<std::size_t>(Slabs::bytes, memory.size() - first_byte))
      slabs_are_whole = false;
    std::ranges::copy(bytes, memory.begin() + static_cast<std::ptrdiff_t>(first_byte));
  }
  std::uint64_t end_;
};

std::vector<std::byte> slab_pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  return bytes;
}

constexpr std::size_t slab_sizes[] = {
    0, 1, 4099, Slabs::bytes - 1, Slabs::bytes, Slabs::bytes + 1, 5 * Slabs::bytes + 12345};

TEST(SlabsOnHost, EverySinkGetsEveryByte) {
  Stream stream(Device::open(Backend::cpu));
  Slabs slabs(stream, std::ranges::max(slab_sizes));
  std::vector<std::vector<std::byte>> arrays;
  std::vector<std::unique_ptr<MemorySink>> sinks;
  std::vector<Slabs::Output> outputs;
  for (std::size_t const size : slab_sizes) {
    arrays.push_back(slab_pattern(size));
    auto& output = outputs.emplace_back(arrays.back().data(), size);
    for (int i = 0; i < 2; ++i)
      output.sinks.push_back(sinks.emplace_back(std::make_unique<MemorySink>(size)).get());
  }
  slabs.write(outputs);
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    EXPECT_NO_THROW(sinks[i]->require_whole());
    EXPECT_EQ(sinks[i]->memory, arrays[i / 2]);
    EXPECT_TRUE(sinks[i]->slabs_are_whole);
  }
}

TEST(SlabsOnHost, ReadsEveryByte) {
  Stream stream(Device::open(Backend::cpu));
  for (std::size_t const size : slab_sizes) {
    auto const expected = slab_pattern(size);
    std::vector<std::byte> array(size);
    Slabs(stream, size).read(array, [&](std::uint64_t first, std::span<std::byte> slab) {
      std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(first), slab.size(), slab.begin());
    });
    EXPECT_EQ(array, expected) << size;
  }
}

TEST(SlabsOnHost, WhatASinkThrowsIsThrown) {
  Stream stream(Device::open(Backend::cpu));
  auto const array = slab_pattern(6 * Slabs::bytes);
  Slabs slabs(stream, array.size());
  MemorySink sink(array.size(), 3 * Slabs::bytes);
  Slabs::Output const output = {array.data(), array.size(), {&sink}};
  expect_io_error([&] { slabs.write(std::span(&output, 1)); }, {"is full"});
  EXPECT_THROW(sink.require_whole(), std::logic_error);
}

TEST(FieldSinks, TakeNothingBeyondTheirEnd) {
  MemorySink sink(10);
  auto const bytes = slab_pattern(11);
  EXPECT_THROW(sink.write(0, bytes), std::out_of_range);
  EXPECT_THROW(sink.write(5, std::span(bytes).first(6)), std::out_of_range);
  EXPECT_THROW(sink.write(11, {}), std::out_of_range);
  EXPECT_NO_THROW(sink.write(10, {}));
}

/// Fields that files cut into chunks: along one axis, along two, with chunks that reach beyond the
/// field, and of vectors.
TEST(FieldSinks, PlacesOfAResultHoldWhatIsWrittenInAnyPieces) {
  struct Case {
    Grid grid;
    FieldInfo field;
  };
  auto const grid = [](int dims, std::array<std::int64_t, 3> points) {
    Grid made;
    made.dims = dims;
    made.points = points;
    return made;
  };
  for (auto const& [g, field] :
       {Case{grid(1, {4500001, 1, 1}), {"u", "K", Precision::float64}},
        Case{grid(2, {2003, 2999, 1}), {"u", "", Precision::float32}},
        Case{grid(3, {1501, 1499, 2}), {"u", "", Precision::float64}},
        Case{grid(2, {1009, 701, 1}), {"u", "m/s", Precision::float64, 3}}}) {
    TemporaryFolder const folder;
    ResultContents contents = sample_contents(g);
    contents.fields = {field};
    ResultWriter writer(folder / "run.h5", contents);
    std::size_t const count = static_cast<std::size_t>(g.size() * field.components);
    std::vector<std::byte> bytes(count * size_of(field.precision));
    auto const value = [](std::size_t i) { return static_cast<double>(i % 1000003); };
    for (std::size_t i = 0; i < count; ++i) {
      if (field.precision == Precision::float32)
        reinterpret_cast<float*>(bytes.data())[i] = static_cast<float>(value(i));
      else
        reinterpret_cast<double*>(bytes.data())[i] = value(i);
    }
    for (std::int64_t step = 0; step < 2; ++step) {
      auto const sinks = writer.begin_step();
      ASSERT_EQ(sinks.size(), 1U);
      ASSERT_EQ(sinks[0]->bytes(), bytes.size());
      constexpr std::size_t piece = 3000017;  // from the end to the start
      for (std::size_t first = (bytes.size() - 1) / piece * piece;; first -= piece) {
        sinks[0]->write(first,
                        std::span(bytes).subspan(first, std::min(piece, bytes.size() - first)));
        if (first == 0) break;
      }
      writer.commit_step(step, static_cast<double>(step), {});
    }
    writer.finish({});
    ResultFile const file(folder / "run.h5");
    ASSERT_EQ(file.times().size(), 2U);
    for (std::size_t step = 0; step < 2; ++step) {
      auto const read = file.read("u", step);
      ASSERT_EQ(read.size(), count);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(read[i], value(i)) << i;
    }
  }
}

TEST(FieldSinks, WhatIsNotWholeIsNotCommitted) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2);
  auto const contents = sample_contents(grid);
  ResultWriter writer(folder / "run.h5", contents);
  std::vector<std::byte> const zeros(1024);
  EXPECT_THROW(writer.commit_step(0, 0, {}), std::logic_error);
  auto const sinks = writer.begin_step();
  sinks[0]->write(0, std::span(zeros).first(sinks[0]->bytes()));
  EXPECT_THROW(writer.commit_step(0, 0, {}), std::logic_error);
  expect_io_error([&] { writer.begin_step(); }, {"takes no more"});
  writer.stop("another file failed");
  EXPECT_EQ(ResultFile(folder / "run.h5").times().size(), 0U);
  EXPECT_EQ(ResultFile(folder / "run.h5").ended(), "another file failed");
  {
    ImageFile image(folder / "a.vti", grid, contents.fields, 0, 0);
    image.sinks()[0]->write(0, std::span(zeros).first(8));
    EXPECT_THROW(image.commit(), std::logic_error);
  }
  EXPECT_EQ(folder.files(), 1U);
}

}  // namespace
}  // namespace gridstride::io
