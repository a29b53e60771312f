#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/support/remembered_library.hpp"
#include "kernels/support/runtime_cache.hpp"
#include "support/environment.hpp"

namespace gridstride {
namespace {

namespace fs = std::filesystem;

class RuntimeCacheTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (auto const& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }

  static std::string read(fs::path const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static void write(fs::path const& path, std::string const& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  fs::path const folder_ =
      fs::temp_directory_path() / ("gridstride_cache_test_" + std::to_string(getpid()));
  RuntimeCache const cache_{folder_ / "inner"};
};

TEST(RuntimeDigest, IsOfTextsAndTheirLengths) {
  EXPECT_EQ(Digest().text(), "6c62272e07bb014262b821756295c58d");
  auto const of = [](std::vector<std::string> const& texts) {
    Digest digest;
    for (auto const& text : texts) digest.add(text);
    return digest.text();
  };
  EXPECT_EQ(of({"ab", "c"}), of({"ab", "c"}));
  EXPECT_NE(of({"ab", "c"}), of({"a", "bc"}));
  EXPECT_NE(of({"abc"}), of({"abc", ""}));
  EXPECT_NE(of({""}), of({}));
  EXPECT_EQ(of({std::string(1000, 'x')}).size(), 32u);
  EXPECT_NE(of({"abc"}), of({std::string("abc\0", 4)}));
  // Each bit of a long text counts, and in half of the digest's bits or thereabouts: 64 and four
  // times the deviation of 128 fair coins.
  std::string const text(64, 'x');
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    auto const half = [&](std::string const& digest, std::size_t first) {
      return std::stoull(digest.substr(first, 16), nullptr, 16);
    };
    int differing = 0;
    for (std::size_t const first : {0u, 16u})
      differing += std::popcount(half(of({text}), first) ^ half(of({other}), first));
    EXPECT_GT(differing, 64 - 23) << bit;
  }
}

TEST_F(RuntimeCacheTest, RemembersLibrariesAsLongAsTheyStayTheSame) {
  fs::path const file = folder_ / "libsome.so.1";
  fs::create_directories(folder_);
  write(file, "a library");
  EXPECT_FALSE(is_remembered(cache_, "libsome.so.1"));
  remember_library(cache_, "libsome.so.1", file);
  EXPECT_TRUE(is_remembered(cache_, "libsome.so.1"));
  EXPECT_FALSE(is_remembered(cache_, "libsome.so.2"));
  {
    test::KeptVariable const kept("LD_LIBRARY_PATH");
    setenv("LD_LIBRARY_PATH", "/another/folder", 1);
    EXPECT_FALSE(is_remembered(cache_, "libsome.so.1"));
  }
  write(file, "another one");
  EXPECT_FALSE(is_remembered(cache_, "libsome.so.1"));
  remember_library(cache_, "libsome.so.1", file);
  EXPECT_TRUE(is_remembered(cache_, "libsome.so.1"));
  fs::remove(file);
  EXPECT_FALSE(is_remembered(cache_, "libsome.so.1"));
  remember_library(cache_, "libother.so.1", folder_ / "libother.so.1");
  EXPECT_FALSE(is_remembered(cache_, "libother.so.1")) << "there is no such file";
}

TEST_F(RuntimeCacheTest, KeepsWhatIsStored) {
  EXPECT_EQ(cache_.find("key"), std::nullopt);
  std::string content = "not text: ";
  for (int i = 0; i < 256; ++i) content.push_back(static_cast<char>(i));
  EXPECT_EQ(cache_.store("key", content), "");
  EXPECT_EQ(cache_.find("key"), content);
  EXPECT_EQ(cache_.find("other"), std::nullopt);
  EXPECT_EQ(cache_.store("key", ""), "");
  EXPECT_EQ(cache_.find("key"), "");
  for (auto const& entry : fs::directory_iterator(folder_ / "inner"))
    EXPECT_NE(entry.path().extension(), ".partial");
  struct stat status {};
  ASSERT_EQ(stat((folder_ / "inner").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u) << "code that runs is nobody else's to change";
}

TEST_F(RuntimeCacheTest, TrustsNothingThatIsDamaged) {
  RuntimeCache const cache(folder_);
  ASSERT_EQ(cache.store("key", "the content"), "");
  ASSERT_EQ(files().size(), 1u);
  fs::path const file = files()[0];
  std::string const whole = read(file);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(file, whole.substr(0, length));
    ASSERT_EQ(cache.find("key"), std::nullopt) << length;
  }
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string changed = whole;
    changed[place] ^= 1;
    write(file, changed);
    ASSERT_EQ(cache.find("key"), std::nullopt) << place;
  }
  write(file, whole + "x");
  EXPECT_EQ(cache.find("key"), std::nullopt);
  write(file, whole);
  EXPECT_EQ(cache.find("key"), "the content");
  fs::rename(file, folder_ / "another.kernels");
  EXPECT_EQ(cache.find("another"), std::nullopt) << "it holds the kernels of another key";
}

TEST_F(RuntimeCacheTest, RemovesWhatWasNotUsedForLongest) {
  std::string const content(1000, 'x');
  RuntimeCache const large(folder_);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(large.store(std::to_string(i), content), "");
    fs::last_write_time(folder_ / (std::to_string(i) + ".kernels"),
                        fs::file_time_type::clock::now() - std::chrono::hours(5 - i));
  }
  write(folder_ / "old.partial", "of a process that died");
  fs::last_write_time(folder_ / "old.partial",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  write(folder_ / "new.partial", "of a process at work");
  write(folder_ / "notes.txt", std::string(10'000, 'x'));
  EXPECT_TRUE(large.find("0")) << "and now it is the one used last";
  RuntimeCache const small(folder_, 3500);
  ASSERT_EQ(small.store("5", content), "");
  for (auto const& [key, kept] :
       {std::pair{"0", true}, {"1", false}, {"2", false}, {"3", false}, {"4", true}, {"5", true}})
    EXPECT_EQ(small.find(key).has_value(), kept) << key;
  EXPECT_FALSE(fs::exists(folder_ / "old.partial"));
  EXPECT_TRUE(fs::exists(folder_ / "new.partial"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

TEST_F(RuntimeCacheTest, SaysWhyNothingIsKept) {
  EXPECT_NE(RuntimeCache({}).store("key", "x"), "");
  EXPECT_EQ(RuntimeCache({}).find("key"), std::nullopt);
  write(folder_, "a file where the folder should be");
  RuntimeCache const blocked(folder_);
  EXPECT_NE(blocked.store("key", "x").find(folder_.string()), std::string::npos);
  EXPECT_EQ(blocked.find("key"), std::nullopt);
}

TEST_F(RuntimeCacheTest, ServesManyAtOnce) {
  RuntimeCache const cache(folder_, 4000);
  auto const content = [](int key) { return std::string(500, static_cast<char>('a' + key)); };
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      for (int i = 0; i < 60; ++i) {
        int const key = (i * (user + 1)) % 12;
        if (auto const found = cache.find(std::to_string(key)))
          EXPECT_EQ(*found, content(key));
        else
          EXPECT_EQ(cache.store(std::to_string(key), content(key)), "");
      }
    });
  for (auto& user : users) user.join();
}

TEST(RuntimeCacheFolder, IsWhereTheEnvironmentSays) {
  test::KeptVariable const cache("GRIDSTRIDE_CACHE"), xdg("XDG_CACHE_HOME"), home("HOME");
  setenv("GRIDSTRIDE_CACHE", "/a", 1);
  setenv("XDG_CACHE_HOME", "/b", 1);
  setenv("HOME", "/c", 1);
  EXPECT_EQ(cache_folder(), "/a");
  unsetenv("GRIDSTRIDE_CACHE");
  EXPECT_EQ(cache_folder(), "/b/gridstride");
  setenv("XDG_CACHE_HOME", "", 1);
  EXPECT_EQ(cache_folder(), "/c/.cache/gridstride");
  unsetenv("HOME");
  EXPECT_EQ(cache_folder(), "");
}

}  // namespace
}  // namespace gridstride
