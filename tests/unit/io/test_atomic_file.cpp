#include "io/atomic_file.hpp"

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

TEST(WriteTextFile, WritesAllOrNothing) {
  TemporaryFolder const folder;
  write_text_file(folder / "a.txt", "one");
  write_text_file(folder / "a.txt", "two");
  EXPECT_EQ(read_bytes(folder / "a.txt"), "two");
  EXPECT_EQ(folder.files(), 1U);
  expect_io_error([&] { write_text_file(folder / "none" / "a.txt", "text"); },
                  {"none/a.txt", "No such file"});
}

}  // namespace
}  // namespace gridstride::io
