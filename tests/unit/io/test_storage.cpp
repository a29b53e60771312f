// Datasets whose values are not where HDF5 looks for them, which it reads as zeros without a word.

#include "io/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "io/dataset.hpp"
#include "io/result.hpp"
#include "numbers.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;
using hdf5::Handle;
using hdf5::Object;
using hdf5::Shape;

constexpr hsize_t rows = 4, columns = 6;

std::vector<double> numbers() {
  std::vector<double> values(rows * columns);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

Handle creation_of(std::function<herr_t(hid_t)> const& set) {
  Handle creation = hdf5::properties(H5P_DATASET_CREATE);
  EXPECT_GE(set(creation.id()), 0);
  return creation;
}

class Storage : public testing::Test {
 protected:
  /// A file with the dataset `u` of so many rows.
  void write_source(std::string const& name, hsize_t count = rows) {
    create_plain_file(folder / name)
        .create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({count, columns}))
        .write(numbers().data(), H5T_NATIVE_DOUBLE);
  }

  /// The virtual dataset `u`, whose mappings are of `count` rows each, from equal rows of `u` in
  /// each of the files.
  void write_virtual(std::vector<std::string> const& files, hsize_t count,
                     hsize_t source_rows = rows) {
    Handle const all = hdf5::simple_space({rows, columns});
    Handle const source = hdf5::simple_space({source_rows, columns});
    Shape start = {0, 0};
    Shape const block = {count, columns};
    Handle const creation = hdf5::properties(H5P_DATASET_CREATE);
    for (auto const& file : files) {
      for (auto const* space : {&all, &source})
        H5Sselect_hyperslab(space->id(), H5S_SELECT_SET, start.data(), nullptr, block.data(),
                            nullptr);
      EXPECT_GE(H5Pset_virtual(creation.id(), all.id(), file.c_str(), "/u", source.id()), 0);
      start[0] += count;
    }
    create_plain_file(path).create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({rows, columns}),
                                           creation.id());
  }

  void expect_values() { EXPECT_EQ(values_of(*open_dataset(path, "u")), numbers()); }

  void expect_refusal(std::vector<std::string> const& parts) {
    expect_io_error([&] { open_dataset(path, "u"); }, parts);
    expect_io_error([&] { inspect_dataset(path, "u"); }, parts);
  }

  TemporaryFolder const folder;
  std::filesystem::path const path = folder / "data.h5";
};

TEST_F(Storage, VirtualDatasetsAreReadFromTheirSources) {
  write_source("a.h5");
  write_source("b.h5");
  write_virtual({"a.h5"}, rows);
  expect_values();
  write_virtual({"a.h5", "b.h5"}, 2);
  expect_values();
  write_virtual({(folder / "a.h5").string(), "b.h5", "a.h5", "b.h5"}, 1);
  expect_values();
  // The file of an absolute name that has moved beside the virtual dataset.
  write_virtual({"/nowhere/a.h5"}, rows);
  expect_values();
}

TEST_F(Storage, AVirtualDatasetWithoutItsSourceIsRefused) {
  write_source("a.h5");
  write_virtual({"a.h5", "b.h5"}, 2);
  expect_refusal({"data.h5", "'u' is virtual", "'b.h5'", "is missing"});
  write_virtual({"elsewhere/a.h5"}, rows);
  expect_refusal({"'elsewhere/a.h5'", "is missing"});
  create_plain_file(folder / "b.h5");
  write_virtual({"a.h5", "b.h5"}, 2);
  expect_refusal({"its source '/u' is missing in", "b.h5"});
  write_bytes(folder / "b.h5", "not HDF5");
  expect_refusal({"b.h5", "is no HDF5 file"});
}

TEST_F(Storage, AVirtualDatasetWithHolesIsRefused) {
  write_source("a.h5");
  write_virtual({"a.h5", "a.h5", "a.h5"}, 1);
  expect_refusal({"some of its values have no source"});
  write_source("b.h5", 3);
  write_virtual({"a.h5", "b.h5"}, 2);
  expect_refusal({"takes more from its source '/u'", "b.h5"});
}

TEST_F(Storage, VirtualDatasetsTakeWholeSources) {
  constexpr hsize_t some = rows / 2;
  write_source("a.h5", some);
  write_source("b.h5", some);
  Handle const all = hdf5::simple_space({rows, columns});
  Handle const source = hdf5::simple_space({some, columns});  // all of which is selected
  Shape const block = {some, columns};
  Handle const creation = creation_of([&](hid_t list) {
    herr_t failed = 0;
    for (auto const& [file, first] : {std::pair("a.h5", hsize_t{0}), std::pair("b.h5", some)}) {
      Shape const start = {first, 0};
      H5Sselect_hyperslab(all.id(), H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr);
      failed = std::min(failed, H5Pset_virtual(list, all.id(), file, "/u", source.id()));
    }
    return failed;
  });
  create_plain_file(path).create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({rows, columns}),
                                         creation.id());
  auto twice = numbers();
  std::copy_n(twice.begin(), some * columns, twice.begin() + some * columns);
  EXPECT_EQ(values_of(*open_dataset(path, "u")), twice);
  for (hsize_t const other : {some - 1, some + 1}) {
    write_source("b.h5", other);
    expect_refusal({"takes 12 values from its source '/u' in", "b.h5",
                    fmt::format("which has {}", other * columns)});
  }
}

TEST_F(Storage, AVirtualDatasetOfWhatWasNeverWrittenIsRefused) {
  create_plain_file(folder / "a.h5")
      .create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({rows, columns}));
  write_virtual({"a.h5"}, rows);
  expect_refusal({"a.h5", "'/u' was created, but no values were ever written"});
  write_virtual({"data.h5"}, rows);
  expect_refusal({"in a circle"});
}

TEST_F(Storage, AVirtualDatasetThatGrowsIsRefused) {
  write_source("a.h5");
  Shape const most = {H5S_UNLIMITED, columns};
  Shape const extents = {rows, columns}, start = {0, 0}, once = {1, 1};
  Shape const count = {H5S_UNLIMITED, 1}, block = {1, columns};
  Handle const space(H5Screate_simple(2, extents.data(), most.data()), H5Sclose);
  Handle const selected(H5Scopy(space.id()), H5Sclose);
  H5Sselect_hyperslab(selected.id(), H5S_SELECT_SET, start.data(), once.data(), count.data(),
                      block.data());
  Handle const creation = creation_of(
      [&](hid_t list) { return H5Pset_virtual(list, selected.id(), "a.h5", "/u", selected.id()); });
  create_plain_file(path).create_dataset("u", H5T_IEEE_F64LE, space, creation.id());
  expect_refusal({"grows with its sources"});
}

TEST_F(Storage, ExternalFilesHaveToHoldAllValues) {
  auto const raw = folder / "raw.bin";
  Handle const creation =
      creation_of([&](hid_t list) { return H5Pset_external(list, raw.c_str(), 8, H5F_UNLIMITED); });
  Object(create_plain_file(path))
      .create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({rows, columns}), creation.id())
      .write(numbers().data(), H5T_NATIVE_DOUBLE);
  expect_values();
  std::filesystem::resize_file(raw, 8 + rows * columns * 8 - 1);
  expect_refusal({"raw.bin", "has 199 bytes, not 200"});
  std::filesystem::remove(raw);
  expect_refusal({"raw.bin", "which is missing"});
}

TEST_F(Storage, WhatWasNeverWrittenIsRefused) {
  create_plain_file(path).create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({rows, columns}));
  expect_refusal({"data.h5", "'u' was created, but no values were ever written to it"});

  Handle const creation = creation_of([](hid_t list) {
    hsize_t const chunk[] = {1, columns};
    H5Pset_deflate(list, 1);
    return H5Pset_chunk(list, 2, chunk);
  });
  auto const write_rows = [&](hsize_t count) {
    create_plain_file(path)
        .create_dataset("u", H5T_IEEE_F64LE, hdf5::growing_space({rows, columns}), creation.id())
        .write(numbers().data(), H5T_NATIVE_DOUBLE, {0, 0}, {count, columns});
  };
  write_rows(rows);
  expect_values();
  write_rows(rows - 1);
  expect_refusal({"'u' was written in part only", "3 of its 4 chunks"});
}

TEST_F(Storage, SmallAndEmptyDatasetsAreNotMistaken) {
  Handle const compact = creation_of([](hid_t list) { return H5Pset_layout(list, H5D_COMPACT); });
  {
    Object const file = create_plain_file(path);
    file.create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({rows, columns}), compact.id())
        .write(numbers().data(), H5T_NATIVE_DOUBLE);
    file.create_dataset("none", H5T_IEEE_F64LE, hdf5::simple_space({0}));
  }
  expect_values();
  EXPECT_EQ(inspect_dataset(path, "none").shape, (std::vector<std::int64_t>{0}));
}

TEST_F(Storage, AFilterThatIsMissingIsNamed) {
  // The filter is there while the file is written; it leaves the bytes as they are.
  H5Z_class2_t const filter = {H5Z_CLASS_T_VERS,
                               32001,
                               1,
                               1,
                               "as it is",
                               nullptr,
                               nullptr,
                               [](unsigned, std::size_t, unsigned const*, std::size_t bytes,
                                  std::size_t*, void**) { return bytes; }};
  ASSERT_GE(H5Zregister(&filter), 0);
  {
    Handle const creation = creation_of([](hid_t list) {
      hsize_t const chunk[] = {rows, columns};
      H5Pset_chunk(list, 2, chunk);
      return H5Pset_filter(list, 32001, H5Z_FLAG_MANDATORY, 0, nullptr);
    });
    Object(create_plain_file(path))
        .create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({rows, columns}), creation.id())
        .write(numbers().data(), H5T_NATIVE_DOUBLE);
  }
  expect_values();
  ASSERT_GE(H5Zunregister(32001), 0);
  expect_refusal({"data.h5", "'u' is packed by a filter", "32001, blosc", "h5repack -f NONE"});
}

TEST_F(Storage, WhatALaterFormatWroteIsNotCalledAType) {
  create_plain_file(path)
      .create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({rows, columns}))
      .write(numbers().data(), H5T_NATIVE_DOUBLE);
  // A message that describes float64, in the object's header: its first byte tells the version.
  std::string bytes = read_bytes(path);
  auto const type = bytes.find(std::string("\x11\x20\x3f\x00\x08\x00\x00\x00", 8));
  ASSERT_NE(type, std::string::npos);
  bytes[type] = '\x51';
  write_bytes(path, bytes);
  expect_refusal({"'u' cannot be opened by HDF5 1.", "bad version number", "h5repack --high=1"});
}

TEST_F(Storage, ResultsWithoutTheirValuesAreRefused) {
  Grid const grid = make_grid(2);
  write_sample(path, grid, 2);
  {
    Object const file(path, Handle(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose));
    Object const data = file.open_group("VTKHDF/PointData");
    ASSERT_GE(H5Ldelete(data.id(), "u", H5P_DEFAULT), 0);
    Handle const space = hdf5::simple_space({2, 5, 7});
    Handle const creation = creation_of(
        [&](hid_t list) { return H5Pset_virtual(list, space.id(), "gone.h5", "/u", space.id()); });
    data.create_dataset("u", H5T_IEEE_F64LE, space, creation.id())
        .write_text_attribute("unit", "K");
  }
  expect_io_error([&] { ResultFile const result(path); }, {"data.h5", "'gone.h5'", "is missing"});
}

}  // namespace
}  // namespace gridstride::io
