// Files into which others than their writers put bytes.

#include "io/shared_places.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "io/placed_file.hpp"
#include "io/result.hpp"
#include "io/vti.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

/// Two chunks of float32, of which the last one reaches beyond the field, and a single one.
std::vector<FieldInfo> infos() {
  Grid line;
  line.points = {1001, 1, 1};
  return {{"u", "1", Precision::float32}, {"v", "m", Precision::float64, 1, line}};
}

Grid plane() {
  Grid grid;
  grid.dims = 2;
  grid.points = {2051, 2053, 1};
  return grid;
}

/// Copies of a part whose length no page or chunk is a multiple of.
std::vector<std::byte> pattern(std::uint64_t bytes) {
  std::vector<std::byte> all(bytes);
  std::size_t const part = std::min<std::size_t>(all.size(), 7919);
  for (std::size_t i = 0; i < part; ++i) all[i] = static_cast<std::byte>(i * 37 % 251);
  for (std::size_t i = part; i < all.size(); i += part)
    std::memcpy(all.data() + i, all.data(), std::min(part, all.size() - i));
  return all;
}

ResultContents contents(int compression = 0) {
  ResultContents contents{plane(), infos(), {}, {}};
  contents.provenance.created = "now";
  contents.compression = compression;
  return contents;
}

/// In three parts that no page or chunk begins with, the middle one by somebody else.
void write_shared(FieldSink& sink) {
  auto const all = pattern(sink.bytes());
  std::size_t const first = all.size() / 3 + 1, last = all.size() / 5 * 4 + 1;
  auto const other = open_places(sink.share());
  EXPECT_EQ(other->bytes(), sink.bytes());
  sink.write(0, std::span(all).first(first));
  other->write(first, std::span(all).subspan(first, last - first));
  sink.write(last, std::span(all).subspan(last));
  EXPECT_THROW(sink.require_whole(), std::logic_error);
  sink.settle(other->written(), other->has_failed());
  sink.require_whole();
}

void write_alone(FieldSink& sink) { sink.write(0, pattern(sink.bytes())); }

void write_result(std::filesystem::path const& path, void (*write)(FieldSink&)) {
  ResultWriter result(path, contents());
  for (int moment = 0; moment < 2; ++moment) {
    for (FieldSink* sink : result.begin_step()) write(*sink);
    result.commit_step(moment, moment, {});
  }
}

void write_image(std::filesystem::path const& path, void (*write)(FieldSink&)) {
  std::vector<FieldInfo> const both = {infos()[0], {"w", "1", Precision::float64}};
  ImageFile image(path, plane(), both, 0, 0);
  for (FieldSink* sink : image.sinks()) write(*sink);
  image.commit();
}

std::vector<std::byte> bytes_of(std::filesystem::path const& path) {
  PlacedFile const file(path, path, PlacedFile::How::read);
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  return bytes;
}

void expect_same_bytes(TemporaryFolder const& folder) {
  auto const alone = bytes_of(folder / "alone"), shared = bytes_of(folder / "shared");
  EXPECT_GT(alone.size(), 16U << 20);
  EXPECT_TRUE(alone == shared);
}

/// In memory, where large parts go by mappings and small ones do not.
TEST(SharedPlaces, TheSameFiles) {
  TemporaryFolder const results{"/dev/shm"}, images{"/dev/shm"};
  write_result(results / "alone", write_alone);
  write_result(results / "shared", write_shared);
  expect_same_bytes(results);
  write_image(images / "alone", write_alone);
  write_image(images / "shared", write_shared);
  expect_same_bytes(images);
}

TEST(SharedPlaces, NoneOfWhatIsPacked) {
  TemporaryFolder const folder;
  ResultWriter result(folder / "run.h5", contents(1));
  EXPECT_TRUE(result.begin_step()[0]->share().file.empty());
  std::vector<FieldInfo> const first = {infos()[0]};
  ImageFile image(folder / "run.vti", plane(), first, 0, 0, 1);
  EXPECT_TRUE(image.sinks()[0]->share().file.empty());
}

TEST(SharedPlaces, AnotherFileIsRefused) {
  TemporaryFolder const folder;
  ResultWriter result(folder / "run.h5", contents());
  auto const places = result.begin_step()[0]->share();
  std::filesystem::rename(folder / "run.h5", folder / "moved.h5");
  expect_io_error([&] { open_places(places); }, {"run.h5", "opening failed"});
  std::ofstream(folder / "run.h5") << "another";
  expect_io_error([&] { open_places(places); }, {"run.h5", "is another file there"});
}

/// The file stays long until all are done: then it is what was committed.
TEST(SharedPlaces, WhereOthersFailNothingIsSeen) {
  TemporaryFolder const folder;
  auto const path = folder / "run.h5";
  ResultWriter result(path, contents());
  auto const committed = std::filesystem::file_size(path);
  auto const sinks = result.begin_step();
  for (FieldSink* sink : sinks) EXPECT_FALSE(sink->share().file.empty());
  for (FieldSink* sink : sinks) write_alone(*sink);
  EXPECT_GT(std::filesystem::file_size(path), committed);
  sinks[1]->settle(0, false);
  sinks[0]->settle(0, true);
  EXPECT_LE(std::filesystem::file_size(path), committed);
  expect_io_error([&] { result.commit_step(0, 0, {}); }, {"run.h5", "another process failed"});
  EXPECT_TRUE(ResultFile(path).steps().empty());
}

}  // namespace
}  // namespace gridstride::io
