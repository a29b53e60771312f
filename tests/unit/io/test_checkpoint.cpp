#include "io/checkpoint.hpp"

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "io/hdf5.hpp"
#include "support.hpp"

/// HDF5 1.10 leaks when it reads damaged object headers, which a test here has it do.
extern "C" char const* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace gridstride::io {
namespace {

using namespace test;

Stream on_host(Device::open(Backend::cpu));
Slabs lanes(on_host, std::size_t{64} << 20);

struct Values {
  std::int64_t integer = -(std::int64_t{1} << 60) - 1;
  double real = 0.1;
  std::string text = "grün\nline";
  std::string empty;
  std::vector<float> floats = {1.5F, -0.0F, std::numeric_limits<float>::quiet_NaN()};
  std::vector<double> doubles = std::vector<double>(101, 0.3);
  std::vector<double> none;
};

void save(Values const& values, CheckpointSink& sink) {
  sink.put_integer("clock/step", values.integer);
  sink.put_real("clock/time", values.real);
  sink.put_text("text", values.text);
  sink.put_text("empty", values.empty);
  sink.put_array("floats", std::span<float const>(values.floats), on_host);
  sink.put_array("fields/u", std::span<double const>(values.doubles), on_host);
  sink.put_array("none", std::span<double const>(values.none), on_host);
}

Values load(CheckpointSource const& source) {
  Values values;
  values.integer = source.get_integer("clock/step");
  values.real = source.get_real("clock/time");
  values.text = source.get_text("text");
  values.empty = source.get_text("empty");
  source.get_array("floats", std::span<float>(values.floats), on_host);
  source.get_array("fields/u", std::span<double>(values.doubles), on_host);
  source.get_array("none", std::span<double>(values.none), on_host);
  return values;
}

/// Equal to the last bit.
bool same(Values const& a, Values const& b) {
  return a.integer == b.integer && a.real == b.real && a.text == b.text && a.empty == b.empty &&
         std::memcmp(a.floats.data(), b.floats.data(), a.floats.size() * sizeof(float)) == 0 &&
         a.doubles == b.doubles;
}

class Checkpoint : public testing::Test {
 protected:
  void write() {
    write_checkpoint(
        path, {"problem 1", 10, 0.25}, [&](auto& sink) { save(values, sink); }, lanes);
  }
  Values read(std::filesystem::path const& from) const {
    Values got;
    CheckpointFile const file(from);
    EXPECT_EQ(file.origin().problem, "problem 1");
    EXPECT_EQ(file.origin().step, 10);
    EXPECT_EQ(file.origin().time, 0.25);
    file.read([&](auto const& source) { got = load(source); });
    return got;
  }

  TemporaryFolder const folder;
  std::filesystem::path const path = folder / "run_000010.ckpt";
  Values const values;
};

// One thread writes a run's files, another its checkpoints.
TEST(Hdf5, OneThreadAtATimeWhereTheLibraryDoesNotSeeToIt) {
  EXPECT_FALSE(hdf5::exclusive(true).owns_lock());
  EXPECT_EQ(hdf5::exclusive().owns_lock(), !hdf5::is_safe_for_threads());
  int inside = 0, most = 0;
  auto const work = [&] {
    for (int i = 0; i < 200; ++i) {
      auto const alone = hdf5::exclusive(false);
      auto const again = hdf5::exclusive(false);  // by the thread that has it
      most = std::max(most, ++inside);
      std::this_thread::yield();
      --inside;
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(most, 1);
}

TEST_F(Checkpoint, GivesBackEveryBit) {
  write();
  EXPECT_TRUE(same(read(path), values));
  EXPECT_EQ(folder.files(), 1U);
  CheckpointFile(path).read([](auto const& source) {
    EXPECT_TRUE(source.contains("fields/u"));
    EXPECT_FALSE(source.contains("fields/v"));
  });
}

TEST_F(Checkpoint, ListsWhatItHolds) {
  write();
  std::string listed;
  for (auto const& value : CheckpointFile(path).inspect())
    listed += value.name + " " + std::to_string(value.size) + "\n";
  EXPECT_EQ(listed,
            "clock/step 1\nclock/time 1\nempty 1\nfields/u 101\nfloats 3\nnone 0\ntext 1\n");
}

/// Arrays of several parts, which are read one after the other.
TEST_F(Checkpoint, InspectsEveryPartOfALargeArray) {
  std::vector<double> array((std::size_t{1} << 20) + 12345, 0.125);
  array.back() = 17.25;
  write_checkpoint(
      path, {"problem 1", 10, 0.25},
      [&](auto& sink) { sink.put_array("u", std::span<double const>(array), on_host); }, lanes);
  EXPECT_EQ(CheckpointFile(path).inspect().at(0).size, std::ssize(array));
  auto bytes = read_bytes(path);
  double const mark = 17.25;
  auto const place = bytes.find(std::string(reinterpret_cast<char const*>(&mark), sizeof mark));
  ASSERT_NE(place, std::string::npos);
  bytes[place] ^= 1;
  write_bytes(path, bytes);
  expect_io_error([&] { CheckpointFile(path).inspect(); }, {"damaged ('u' fails its checksum)"});
}

/// What `write_checkpoint` did before arrays had a checksum for each slab.
void give_one_checksum(std::filesystem::path const& path, std::int64_t checksum) {
  hdf5::silence();
  hdf5::Object const file(path,
                          hdf5::Handle(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose));
  auto const u = file.open_group("values").open_dataset("u");
  ASSERT_GE(H5Adelete(u.id(), "checksum_of_slabs"), 0);
  u.write_attribute("checksum", checksum);
}

TEST_F(Checkpoint, GivesBackArraysOfSeveralSlabs) {
  std::vector<double> array(2 * Slabs::bytes / sizeof(double) + 12345);
  for (std::size_t i = 0; i < array.size(); ++i) array[i] = static_cast<double>(i) / 3;
  write_checkpoint(
      path, {"problem 1", 10, 0.25},
      [&](auto& sink) { sink.put_array("u", std::span<double const>(array), on_host); }, lanes);
  auto const get = [&] {
    std::vector<double> got(array.size());
    CheckpointFile(path).read(
        [&](auto const& source) { source.get_array("u", std::span<double>(got), on_host); });
    return got;
  };
  EXPECT_EQ(get(), array);
  auto const whole = read_bytes(path);
  double const mark = array[array.size() / 2];
  auto const place = whole.find(std::string(reinterpret_cast<char const*>(&mark), sizeof mark));
  ASSERT_NE(place, std::string::npos);
  auto damaged = whole;
  damaged[place] ^= 1;
  write_bytes(path, damaged);
  expect_io_error([&] { get(); }, {"damaged ('u' fails its checksum)"});
  write_bytes(path, whole);
  give_one_checksum(path, 0);
  expect_io_error([&] { get(); }, {"damaged ('u' fails its checksum)"});
  expect_io_error([&] { CheckpointFile(path).inspect(); }, {"damaged ('u' fails its checksum)"});
  write_bytes(path, whole);
  give_one_checksum(path, 8677595256427597235);
  EXPECT_EQ(get(), array);
  EXPECT_NO_THROW(CheckpointFile(path).inspect());
}

TEST_F(Checkpoint, RefusesAnotherNameTypeOrSize) {
  write();
  auto const get = [&](std::function<void(CheckpointSource const&)> const& what) {
    return [this, what] { CheckpointFile(path).read(what); };
  };
  std::vector<double> few(100);
  std::vector<float> floats(101);
  expect_io_error(get([](auto const& source) { source.get_real("time"); }), {"holds no 'time'"});
  expect_io_error(get([](auto const& source) { source.get_real("clock/step"); }),
                  {"'clock/step' has another type"});
  expect_io_error(get([](auto const& source) { source.get_text("clock/step"); }), {"no text"});
  expect_io_error(
      get([&](auto const& source) { source.get_array("fields/u", std::span(few), on_host); }),
      {"another type or size ([101], not [100])"});
  expect_io_error(
      get([&](auto const& source) { source.get_array("fields/u", std::span(floats), on_host); }),
      {"another type"});
}

TEST_F(Checkpoint, RefusesOtherFiles) {
  expect_io_error([&] { read(path); }, {"no such file"});
  expect_io_error([&] { read(folder.path()); }, {"folder"});
  write_bytes(path, "text");
  expect_io_error([&] { read(path); }, {"is no HDF5 file"});
  write_sample(folder / "run.h5", make_grid(1), 1);
  expect_io_error([&] { read(folder / "run.h5"); }, {"is no checkpoint"});
}

TEST_F(Checkpoint, KeepsTheOldOneWhenSavingFails) {
  write();
  EXPECT_THROW(write_checkpoint(
                   path, {"problem 3", 20, 0.5},
                   [](auto& sink) {
                     sink.put_real("x", 1);
                     throw std::runtime_error("stop");
                   },
                   lanes),
               std::runtime_error);
  EXPECT_TRUE(same(read(path), values));
  EXPECT_EQ(folder.files(), 1U);
}

TEST_F(Checkpoint, RefusesAFileThatIsCut) {
  write();
  auto const whole = read_bytes(path);
  for (std::size_t length = 0; length < whole.size(); length += 61) {
    write_bytes(folder / "cut.ckpt", whole.substr(0, length));
    expect_io_error([&] { read(folder / "cut.ckpt"); }, {"cut.ckpt"});
  }
}

TEST_F(Checkpoint, NoDamagedByteChangesAValueUnseen) {
  write();
  auto const whole = read_bytes(path);
  int refused = 0;
  int tried = 0;
  for (std::size_t place = 0; place < whole.size(); place += 5) {
    ++tried;
    auto damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << place % 8));
    write_bytes(folder / "damaged.ckpt", damaged);
    try {
      EXPECT_TRUE(same(read(folder / "damaged.ckpt"), values)) << "byte " << place;
      EXPECT_EQ(CheckpointFile(folder / "damaged.ckpt").inspect().size(), 7U);
    } catch (IoError const&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, tried / 2);
}

TEST_F(Checkpoint, AFullDiskIsAnErrorAndLeavesTheOldOne) {
  write();
  auto const whole = std::filesystem::file_size(path);
  for (std::uintmax_t limit = 0; limit < whole; limit += 251) {
    SharedCount failures;
    int const status = run_in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const most = {limit, limit};
      setrlimit(RLIMIT_FSIZE, &most);
      try {
        write();
      } catch (IoError const& error) {
        *failures += std::string(error.what()).find("File too large") != std::string::npos;
      }
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(*failures, 1) << limit;
    EXPECT_EQ(folder.files(), 1U);
  }
  EXPECT_TRUE(same(read(path), values));
}

}  // namespace
}  // namespace gridstride::io
