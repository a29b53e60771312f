#include "io/pvd.hpp"

#include <sys/resource.h>
#include <vtkNew.h>
#include <vtkXMLDataElement.h>
#include <vtkXMLDataParser.h>

#include <csignal>

#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

SeriesEntry entry_of(int i) { return {i / 7.0, "run & \"co\"_" + std::to_string(i) + ".vti"}; }

std::vector<SeriesEntry> entries_to(int count) {
  std::vector<SeriesEntry> entries;
  for (int i = 0; i < count; ++i) entries.push_back(entry_of(i));
  return entries;
}

/// What a reader of XML, which ParaView's own is, finds.
std::vector<SeriesEntry> read(std::filesystem::path const& path) {
  vtkNew<vtkXMLDataParser> parser;
  parser->SetFileName(path.c_str());
  EXPECT_EQ(parser->Parse(), 1) << read_bytes(path);
  auto* const root = parser->GetRootElement();
  if (root == nullptr || root->FindNestedElementWithName("Collection") == nullptr) {
    ADD_FAILURE() << read_bytes(path);
    return {};
  }
  auto* const list = root->FindNestedElementWithName("Collection");
  std::vector<SeriesEntry> entries;
  for (int i = 0; i < list->GetNumberOfNestedElements(); ++i) {
    auto* const element = list->GetNestedElement(i);
    EXPECT_STREQ(element->GetName(), "DataSet");
    entries.push_back(
        {std::stod(element->GetAttribute("timestep")), element->GetAttribute("file")});
  }
  return entries;
}

void expect_entries(std::filesystem::path const& path, int count) {
  auto const found = read(path);
  ASSERT_EQ(std::ssize(found), count);
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    auto const& entry = found[static_cast<std::size_t>(i)];
    EXPECT_EQ(entry.time, entry_of(i).time);
    EXPECT_EQ(entry.file, entry_of(i).file);
    times.push_back(entry.time);
  }
  EXPECT_EQ(read_pvd_times(path), times);
}

TEST(Pvd, ListsEveryEntryWithItsExactTimeAtEveryMoment) {
  TemporaryFolder const folder;
  Collection collection(folder / "run.pvd", {});
  expect_entries(folder / "run.pvd", 0);
  for (int i = 0; i < 200; ++i) {
    collection.append(entry_of(i));
    expect_entries(folder / "run.pvd", i + 1);
  }
  EXPECT_EQ(collection.size(), 200U);
  EXPECT_EQ(folder.files(), 1U);
}

TEST(Pvd, EndsAsIfItHadBeenWrittenAtOnce) {
  TemporaryFolder const folder;
  Collection collection(folder / "run.pvd", entries_to(3));
  for (int i = 3; i < 60; ++i) collection.append(entry_of(i));
  collection.finish();
  Collection const at_once(folder / "once.pvd", entries_to(60));
  EXPECT_EQ(read_bytes(folder / "run.pvd"), read_bytes(folder / "once.pvd"));
  EXPECT_EQ(read_bytes(folder / "run.pvd").find("\n\n"), std::string::npos);
  collection.append(entry_of(60));
  expect_entries(folder / "run.pvd", 61);
}

TEST(Pvd, AKillAnywhereInAWriteLeavesTheEntriesBefore) {
  TemporaryFolder const folder;
  auto const path = folder / "run.pvd";
  SeriesEntry const plain{0.1, "run_000003.vti"};
  for (int survived = 0; survived < 2; ++survived)
    for (int bytes = 0; bytes < 90; ++bytes) {
      SCOPED_TRACE(bytes);
      run_in_child([&] {
        Collection collection(path, entries_to(2));
        collection.append(entry_of(2));
        skips_fsync = true;
        calls_to_live = survived;
        last_bytes = bytes;
        collection.append(plain);
      });
      auto const found = read(path);
      ASSERT_EQ(found.size(), survived == 1 && bytes > 0 ? 4U : 3U);
      EXPECT_EQ(read_pvd_times(path).size(), found.size());
      EXPECT_EQ(found[2].file, entry_of(2).file);
      EXPECT_EQ(found.back().file, found.size() == 4 ? plain.file : entry_of(2).file);
    }
}

TEST(Pvd, ManyEntriesCostWhatTheyAre) {
  TemporaryFolder const folder;
  skips_fsync = true;
  Collection collection(folder / "run.pvd", {});
  constexpr int count = 20'000;
  std::uintmax_t written = 0;
  for (int i = 0, rewrites = 0; i < count; ++i) {
    auto const before = std::filesystem::file_size(folder / "run.pvd");
    collection.append(entry_of(i));
    auto const after = std::filesystem::file_size(folder / "run.pvd");
    written += after == before ? 100 : after;
    rewrites += after == before ? 0 : 1;
    ASSERT_LE(rewrites, 50);
  }
  skips_fsync = false;
  expect_entries(folder / "run.pvd", count);
  EXPECT_LT(written, 8 * std::filesystem::file_size(folder / "run.pvd"));
}

TEST(Pvd, AFullDiskLeavesTheEntriesBefore) {
  TemporaryFolder const folder;
  auto const path = folder / "run.pvd";
  SharedCount done, named;
  int const status = run_in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit const most = {6000, 6000};
    setrlimit(RLIMIT_FSIZE, &most);
    Collection collection(path, {});
    try {
      for (;; ++*done) collection.append(entry_of(*done));
    } catch (IoError const& error) {
      *named = std::string(error.what()).find("run.pvd: writing failed (File too large)") !=
               std::string::npos;
    }
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*named, 1);
  EXPECT_GT(*done, 30);
  expect_entries(path, *done);
  EXPECT_EQ(folder.files(), 1U);
}

TEST(Pvd, SaysThatItWasTakenAwayOrChanged) {
  TemporaryFolder const folder;
  Collection collection(folder / "run.pvd", {});
  collection.append(entry_of(0));
  write_bytes(folder / "run.pvd", "mine");
  expect_io_error([&] { collection.append(entry_of(1)); }, {"run.pvd", "another program"});
  std::filesystem::remove(folder / "run.pvd");
  expect_io_error([&] { collection.append(entry_of(1)); },
                  {"run.pvd", "opening failed (No such file or directory)"});
  expect_io_error([&] { Collection(folder / "none" / "run.pvd", {}); }, {"none/run.pvd"});
}

TEST(Pvd, RefusesWhatIsNotWhole) {
  TemporaryFolder const folder;
  expect_io_error([&] { read_pvd_times(folder / "none.pvd"); }, {"none.pvd"});
  Collection const collection(folder / "run.pvd", entries_to(2));
  auto const whole = read_bytes(folder / "run.pvd");
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    write_bytes(folder / "cut.pvd", whole.substr(0, length));
    expect_io_error([&] { read_pvd_times(folder / "cut.pvd"); }, {"cut.pvd"});
  }
}

}  // namespace
}  // namespace gridstride::io
