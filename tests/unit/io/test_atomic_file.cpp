#include "io/atomic_file.hpp"

#include "io/removal.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

TEST(AtomicFile, IsThereOnlyAfterTheCommit) {
  TemporaryFolder const folder;
  {
    AtomicFile file(folder / "a.txt");
    write_bytes(file.temporary(), "new");
    EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
    file.commit();
    EXPECT_EQ(read_bytes(folder / "a.txt"), "new");
  }
  EXPECT_EQ(read_bytes(folder / "a.txt"), "new");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(AtomicFile, LeavesTheOldFileAndNothingElseWithoutACommit) {
  TemporaryFolder const folder;
  write_bytes(folder / "a.txt", "old");
  {
    AtomicFile const file(folder / "a.txt");
    write_bytes(file.temporary(), "half of the n");
  }
  EXPECT_EQ(read_bytes(folder / "a.txt"), "old");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(AtomicFile, NamesItsTargetInErrors) {
  TemporaryFolder const folder;
  expect_io_error([&] { AtomicFile file(folder.path()); }, {folder.path().string(), "folder"});
  expect_io_error([&] { AtomicFile(folder / "never_written.txt").commit(); },
                  {"never_written.txt: writing failed", "No such file"});
}

TEST(AtomicFile, LeavesLinksAndReplacesFilesAlone) {
  TemporaryFolder const folder;
  write_bytes(folder / "a.txt", "old");
  std::filesystem::create_symlink("a.txt", folder / "link.txt");
  {
    AtomicFile file(folder / "link.txt");
    write_bytes(file.temporary(), "new");
    file.commit();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
  EXPECT_EQ(read_bytes(folder / "a.txt"), "new");
  std::filesystem::create_symlink("nothing", folder / "loose.txt");
  expect_io_error([&] { AtomicFile file(folder / "loose.txt"); }, {"loose.txt", "link to nothing"});
  expect_io_error([] { AtomicFile file("/dev/null"); }, {"/dev/null", "no regular file"});
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(WriteTextFile, WritesToDevicesAsTheyAre) {
  write_text_file("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  expect_io_error([] { write_text_file("/dev/full", "text"); },
                  {"/dev/full: writing failed", "No space left"});
  testing::internal::CaptureStdout();
  write_text_file("-", "one\n");
  write_text_file("/dev/stdout", "two\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "one\ntwo\n");
}

TEST(WriteTextFile, WritesAllOrNothing) {
  TemporaryFolder const folder;
  write_text_file(folder / "a.txt", "one");
  write_text_file(folder / "a.txt", "two");
  EXPECT_EQ(read_bytes(folder / "a.txt"), "two");
  EXPECT_EQ(folder.files(), 1U);
  expect_io_error([&] { write_text_file(folder / "none" / "a.txt", "text"); },
                  {"none/a.txt", "No such file"});
}

TEST(Removal, TakesNamesAtOnce) {
  TemporaryFolder const folder;
  Removal removal;
  for (auto const* name : {"a", "b", "c"}) {
    write_bytes(folder / name, std::string(1 << 20, 'x'));
    removal.remove(folder / name);
    EXPECT_FALSE(std::filesystem::exists(folder / name));
  }
  EXPECT_NO_THROW(removal.remove(folder / "a"));
  std::filesystem::create_directory(folder / "d");
  expect_io_error([&] { removal.remove(folder / "d"); }, {"/d: cannot be removed ("});
}

}  // namespace
}  // namespace gridstride::io
