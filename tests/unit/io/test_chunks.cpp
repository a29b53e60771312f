// Datasets in chunks, read around HDF5, against what HDF5 itself reads.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>

#include "io/dataset.hpp"
#include "io/dataset_numbers.hpp"
#include "io/hdf5.hpp"
#include "numbers.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;
using hdf5::Handle;
using hdf5::Object;
using hdf5::Shape;

enum Filter { none = 0, deflate = 1, shuffle = 2, fletcher = 4, sum_first = 8, offset = 16 };

class Chunks : public testing::Test {
 protected:
  static Handle creation_of(Shape const& chunk, int filters) {
    Handle creation = hdf5::properties(H5P_DATASET_CREATE);
    H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data());
    if ((filters & offset) != 0) H5Pset_scaleoffset(creation.id(), H5Z_SO_INT, 0);
    if ((filters & sum_first) != 0) H5Pset_fletcher32(creation.id());
    if ((filters & shuffle) != 0) H5Pset_shuffle(creation.id());
    if ((filters & deflate) != 0) H5Pset_deflate(creation.id(), 4);
    if ((filters & fletcher) != 0) H5Pset_fletcher32(creation.id());
    return creation;
  }

  /// Writes numbers that do not compress away, and returns them.
  std::vector<double> write(Shape const& shape, Shape const& chunk, int filters, hid_t type,
                            hsize_t user_block = 0) {
    std::size_t const size = std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                                             [](std::size_t a, hsize_t b) { return a * b; });
    std::vector<double> values(size);
    std::mt19937 generator(7);
    for (double& value : values) value = static_cast<double>(generator() % 113);
    Handle const own = hdf5::properties(H5P_FILE_CREATE);
    H5Pset_userblock(own.id(), user_block);
    hdf5::silence();
    Object const file(
        path, Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, own.id(), H5P_DEFAULT), H5Fclose));
    Handle const creation = creation_of(chunk, filters);
    file.create_dataset("u", type, hdf5::growing_space(shape), creation.id())
        .write(values.data(), H5T_NATIVE_DOUBLE);
    return values;
  }

  void expect_same(Shape const& shape, Shape const& chunk, int filters,
                   hid_t type = H5T_IEEE_F32LE) {
    auto const expected = write(shape, chunk, filters, type);
    auto const numbers = open_dataset(path, "u");
    EXPECT_EQ(values_of(*numbers), expected) << fmt::format(
        "[{}] in [{}], filters {}", fmt::join(shape, "]["), fmt::join(chunk, "]["), filters);
  }

  TemporaryFolder const folder;
  std::filesystem::path const path = folder / "data.h5";
};

TEST_F(Chunks, OfEveryShape) {
  for (int const filters : {int(none), int(deflate | shuffle)}) {
    expect_same({1}, {1}, filters);
    expect_same({1}, {8}, filters);
    expect_same({3, 5}, {8, 2}, filters);
    expect_same({101}, {7}, filters);
    expect_same({101}, {101}, filters);
    expect_same({17, 23}, {17, 23}, filters);
    expect_same({17, 23}, {4, 23}, filters);
    expect_same({16, 23}, {1, 23}, filters);
    expect_same({17, 23}, {17, 5}, filters);
    expect_same({17, 23}, {4, 6}, filters);
    expect_same({5, 24}, {1, 8}, filters);
    expect_same({7, 11, 13}, {3, 4, 5}, filters);
    expect_same({7, 11, 13}, {1, 4, 13}, filters);
    expect_same({7, 12, 13}, {1, 4, 13}, filters);
    expect_same({7, 11, 13}, {2, 11, 13}, filters);
    expect_same({2, 3, 1, 5}, {1, 2, 1, 2}, filters);
    expect_same({1, 3, 4, 5}, {1, 2, 3, 2}, filters);
    expect_same({2, 3, 4, 5}, {1, 2, 3, 2}, filters);  // four axes: by HDF5
  }
}

TEST_F(Chunks, OfEveryTypeAndFilter) {
  for (hid_t const type :
       {H5T_STD_I8LE, H5T_STD_U8BE, H5T_STD_I16BE, H5T_STD_U16LE, H5T_STD_I32LE, H5T_STD_U32BE,
        H5T_STD_I64BE, H5T_STD_U64LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE})
    for (int const filters :
         {int(none), int(deflate), int(shuffle), int(fletcher), deflate | shuffle | fletcher,
          sum_first | deflate, sum_first | shuffle | deflate | fletcher})
      expect_same({9, 14}, {4, 5}, filters, type);
}

TEST_F(Chunks, WhatOnlyHdf5KnowsIsReadByIt) {
  expect_same({9, 14}, {4, 5}, offset, H5T_STD_I32LE);
  expect_same({9, 14}, {4, 5}, offset | deflate, H5T_STD_U16LE);
  EXPECT_EQ(open_dataset(path, "u")->type(), number_type_of<double>());
  // Integers of 12 bits in 16.
  Handle const odd(H5Tcopy(H5T_STD_U16LE), H5Tclose);
  H5Tset_precision(odd.id(), 12);
  expect_same({9, 14}, {4, 5}, shuffle, odd.id());
}

TEST_F(Chunks, OfAFileWithAUserBlock) {
  for (int const filters : {int(none), int(deflate)}) {
    auto const expected = write({9, 14}, {4, 5}, filters, H5T_IEEE_F64LE, 512);
    EXPECT_EQ(values_of(*open_dataset(path, "u")), expected);
  }
}

TEST_F(Chunks, PartialOnesMayBeUnfiltered) {
  Shape const shape = {9, 14}, chunk = {4, 5};
  std::vector<double> values(9 * 14);
  std::iota(values.begin(), values.end(), 1.0);
  {
    Handle const access = hdf5::properties(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_LATEST);
    hdf5::silence();
    Object const file(
        path, Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose));
    Handle const creation = creation_of(chunk, deflate);
    H5Pset_chunk_opts(creation.id(), H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    file.create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space(shape), creation.id())
        .write(values.data(), H5T_NATIVE_DOUBLE);
  }
  EXPECT_EQ(values_of(*open_dataset(path, "u")), values);
}

/// A chunk may leave out a filter that would not make it smaller.
TEST_F(Chunks, TheirMasksCount) {
  std::vector<double> const values = {1, 2, 3, 4, 5, 6, 7, 8};
  {
    Object const file = create_plain_file(path);
    Handle const creation = creation_of({4}, deflate | shuffle);
    Object const dataset =
        file.create_dataset("u", H5T_IEEE_F64LE, hdf5::simple_space({8}), creation.id());
    dataset.write(values.data(), H5T_NATIVE_DOUBLE);
    hsize_t const start = 4;
    ASSERT_GE(H5Dwrite_chunk(dataset.id(), H5P_DEFAULT, 3, &start, 32, &values[4]), 0);
  }
  EXPECT_EQ(values_of(*open_dataset(path, "u")), values);
}

/// HDF5 has another index for each way in which a dataset may grow, or may not.
class IndexedChunks : public Chunks {
 protected:
  static constexpr hsize_t lines = 9, columns = 15, length = 4, width = 5;

  struct Index {
    std::string name;
    Shape most = {lines, columns};
    H5F_libver_t format = H5F_LIBVER_V110;
    H5D_alloc_time_t allocated = H5D_ALLOC_TIME_INCR;
  };
  static std::vector<Index> indices() {
    constexpr hsize_t any = H5S_UNLIMITED;
    return {{"tree", {any, any}, H5F_LIBVER_EARLIEST},
            {"later tree", {any, any}},
            {"array"},
            {"extensible array", {any, columns}},
            {"extensible array, other axis", {lines, any}},
            {"extensible array, other axis, some more", {2 * lines, any}}};
  }

  /// Writes all chunks but the one that begins at `left_out`.
  std::vector<double> write(Index const& index, int filters, Shape const& left_out = {}) {
    std::vector<double> values(lines * columns);
    std::iota(values.begin(), values.end(), 1.0);
    Handle const access = hdf5::properties(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access.id(), index.format, H5F_LIBVER_LATEST);
    hdf5::silence();
    Object const file(
        path, Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose));
    Handle const creation = creation_of({length, width}, filters);
    H5Pset_alloc_time(creation.id(), index.allocated);
    Shape const shape = {lines, columns};
    Handle const space(H5Screate_simple(2, shape.data(), index.most.data()), H5Sclose);
    Object const dataset = file.create_dataset("u", H5T_IEEE_F64LE, space, creation.id());
    for (hsize_t line = 0; line < lines; line += length)
      for (hsize_t column = 0; column < columns; column += width) {
        if (Shape{line, column} == left_out) continue;
        hsize_t const count = std::min(length, lines - line);
        std::vector<double> block;
        for (hsize_t row = line; row < line + count; ++row)
          block.insert(block.end(), &values[row * columns + column],
                       &values[row * columns + column] + width);
        dataset.write(block.data(), H5T_NATIVE_DOUBLE, {line, column}, {count, width});
      }
    return values;
  }
};

TEST_F(IndexedChunks, AreAllFound) {
  auto all = indices();
  all.push_back({"none", {lines, columns}, H5F_LIBVER_V110, H5D_ALLOC_TIME_EARLY});
  for (auto const& index : all)
    for (int const filters : {int(none), deflate | shuffle}) {
      SCOPED_TRACE(fmt::format("{}, filters {}", index.name, filters));
      auto const expected = write(index, filters);
      auto const numbers = open_dataset(path, "u");
      EXPECT_TRUE(numbers->order());  // not by HDF5
      EXPECT_EQ(values_of(*numbers), expected);
    }
}

TEST_F(IndexedChunks, OneThatIsMissingIsNamed) {
  for (auto const& index : indices())
    for (int const filters : {int(none), deflate | shuffle}) {
      SCOPED_TRACE(fmt::format("{}, filters {}", index.name, filters));
      write(index, filters, {4, 10});
      expect_io_error([&] { open_dataset(path, "u"); }, {"data.h5", "'u'", "8 of its 9 chunks"});
      Object const dataset = hdf5::open_file(path).open_dataset("u");
      expect_io_error([&] { numbers_of(dataset, "u"); },
                      {"data.h5", "'u'", "its chunk at [4][10] is not there"});
    }
}

TEST_F(Chunks, OfOneLayer) {
  Shape const shape = {3, 9, 14};
  auto const expected = write(shape, {1, 4, 5}, deflate, H5T_IEEE_F64LE);
  constexpr std::ptrdiff_t size = 9 * 14;
  for (std::ptrdiff_t layer = 0; layer < 3; ++layer) {
    auto const first = expected.begin() + layer * size;
    Object const dataset = hdf5::open_file(path).open_dataset("u");
    auto const numbers = numbers_of(dataset, "u", static_cast<hsize_t>(layer));
    EXPECT_EQ(values_of(*numbers), std::vector<double>(first, first + size));
  }
  {
    Object const file(path, Handle(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose));
    file.open_dataset("u").resize({4, 9, 14});
  }
  Object const dataset = hdf5::open_file(path).open_dataset("u");
  EXPECT_NO_THROW(numbers_of(dataset, "u", 2));
  expect_io_error([&] { numbers_of(dataset, "u", 3); }, {"its chunk at [3][0][0] is not there"});
}

/// HDF5 1.10 would go through all of them for each, for minutes.
TEST_F(Chunks, ManyTakeNoLongTime) {
  Shape const shape = {512, 512};
  auto const expected = write(shape, {1, 4}, none, H5T_STD_I8LE);
  auto const start = std::chrono::steady_clock::now();
  auto const numbers = open_dataset(path, "u");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
  std::vector<std::int8_t> values(expected.size());
  numbers->read(0, numbers->size(), values.data());
  EXPECT_TRUE(std::ranges::equal(values, expected));
}

TEST_F(Chunks, LargeOnesAreUnpackedForAllReaders) {
  Shape const shape = {3, 1200, 2000};  // chunks of 19 MB
  expect_same(shape, {1, 1200, 2000}, deflate, H5T_IEEE_F64LE);
  EXPECT_EQ(open_dataset(path, "u")->granule(), 1);
}

TEST_F(Chunks, DamageIsNamed) {
  for (int const filters : {int(fletcher), deflate | fletcher, int(deflate)}) {
    write({40, 50}, {40, 25}, filters, H5T_IEEE_F64LE);
    haddr_t address = 0;
    hsize_t bytes = 0;
    {
      Object const file = hdf5::open_file(path);
      Object const dataset = file.open_dataset("u");
      hsize_t const place[] = {0, 25};
      unsigned mask = 0;
      ASSERT_GE(H5Dget_chunk_info_by_coord(dataset.id(), place, &mask, &address, &bytes), 0);
    }
    auto whole = read_bytes(path);
    whole[address + bytes / 2] = static_cast<char>(whole[address + bytes / 2] ^ 0x5a);
    write_bytes(path, whole);
    auto const numbers = open_dataset(path, "u");
    std::vector<double> values(2000);
    expect_io_error([&] { numbers->read(0, 2000, values.data()); },
                    {"data.h5", "'u' is damaged: chunk 2 of 2"});
  }
}

TEST_F(Chunks, AFileThatIsCutMeanwhileIsNamed) {
  for (int const filters : {int(none), int(deflate), int(offset)}) {
    write({40, 50}, {40, 25}, filters, H5T_STD_I32LE);
    auto const numbers = open_dataset(path, "u");
    auto const bytes = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, bytes / 2);
    std::vector<double> values(2000);
    expect_io_error(
        [&] {
          numbers->read(0, 2000, values.data());
          numbers->check_unchanged();
        },
        {"data.h5"});
  }
}

TEST_F(Chunks, ALinkIntoAnotherFileIsFollowed) {
  auto const expected = write({9, 14}, {4, 5}, deflate, H5T_IEEE_F64LE);
  {
    Object const file = create_plain_file(folder / "links.h5");
    ASSERT_GE(H5Lcreate_external("data.h5", "/u", file.id(), "there", H5P_DEFAULT, H5P_DEFAULT), 0);
  }
  EXPECT_EQ(values_of(*open_dataset(folder / "links.h5", "there")), expected);
}

TEST_F(Chunks, TellWhatUnpackingTakes) {
  auto const of_threads = [&](Shape const& shape, Shape const& chunk, int filters) {
    write(shape, chunk, filters, H5T_IEEE_F64LE);
    return open_dataset(path, "u")->unpacking_bytes(6);
  };
  EXPECT_EQ(of_threads({9, 14}, {4, 5}, none), 0U);
  EXPECT_EQ(of_threads({9, 14}, {4, 5}, deflate), 2U * 6 * 4 * 5 * 8);
  EXPECT_EQ(of_threads({2, 1200, 2000}, {1, 1200, 2000}, deflate), 4U * 1200 * 2000 * 8);
}

}  // namespace
}  // namespace gridstride::io
