#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/processors.hpp"
#include "io/csr_group.hpp"
#include "io/matrix_market_coordinate.hpp"
#include "support.hpp"

namespace gridstride::io::test {
namespace {

using Rows = std::vector<std::vector<double>>;

/// A small matrix in full.
Rows full(Csr<double> const& matrix) {
  EXPECT_EQ(fault_of(matrix), "");
  Rows rows(static_cast<std::size_t>(matrix.rows),
            std::vector<double>(static_cast<std::size_t>(matrix.columns)));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[i].size(); ++j)
      rows[i][j] = element(matrix, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
  return rows;
}

class CoordinateFiles : public testing::Test {
 protected:
  std::filesystem::path put(std::string const& text) {
    write_bytes(folder_ / "a.mtx", text);
    return folder_ / "a.mtx";
  }
  Rows read(std::string const& kind, std::string const& body) {
    return full(
        read_coordinate_file(put("%%MatrixMarket matrix coordinate " + kind + "\n" + body)));
  }
  /// `LINE: message` of a file that is refused; the sizes are on line 2.
  std::string fault(std::string const& kind, std::string const& body) {
    auto const path = put("%%MatrixMarket matrix coordinate " + kind + "\n" + body);
    try {
      read_coordinate_file(path);
    } catch (IoError const& error) {
      std::string const what = error.what(), file = path.string() + ":";
      return what.starts_with(file) ? what.substr(file.size()) : what;
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(CoordinateFiles, AreReadInAnyOrder) {
  EXPECT_EQ(read("real general", "2 3 3\n2 3 -1.5\n1 2 +4e1\n2 1 .5\n"),
            (Rows{{0, 40, 0}, {0.5, 0, -1.5}}));
  EXPECT_EQ(read("integer general", "3 2 2\n3 1 -7\n1 1 8\n"), (Rows{{8, 0}, {0, 0}, {-7, 0}}));
  EXPECT_EQ(read("pattern general", "2 2 2\n2 1\n1 2"), (Rows{{0, 1}, {1, 0}}));
  EXPECT_EQ(read("real general", "2 2 0\n"), (Rows{{0, 0}, {0, 0}}));
}

TEST_F(CoordinateFiles, HalvesAreMirrored) {
  EXPECT_EQ(read("real symmetric", "3 3 3\n1 1 1\n3 1 2\n3 2 4\n"),
            (Rows{{1, 0, 2}, {0, 0, 4}, {2, 4, 0}}));
  EXPECT_EQ(read("pattern symmetric", "2 2 2\n1 1\n2 1\n"), (Rows{{1, 1}, {1, 0}}));
  EXPECT_EQ(read("integer skew-symmetric", "3 3 2\n2 1 5\n3 2 -6\n"),
            (Rows{{0, -5, 0}, {5, 0, 6}, {0, -6, 0}}));
}

TEST_F(CoordinateFiles, EntriesOfOnePlaceAreAddedUp) {
  EXPECT_EQ(read("real general", "2 2 4\n1 2 1\n2 2 8\n1 2 2\n1 2 4\n"), (Rows{{0, 7}, {0, 8}}));
  EXPECT_EQ(read("real symmetric", "2 2 3\n2 1 1\n2 1 2\n1 1 1\n"), (Rows{{1, 3}, {3, 0}}));
  // In the order of the file: 1 is lost beside 1e16, but not beside 1.
  EXPECT_EQ(read("real general", "1 1 3\n1 1 1\n1 1 1\n1 1 1e16\n"), (Rows{{1e16 + 2}}));
  EXPECT_EQ(read("real general", "1 1 3\n1 1 1e16\n1 1 1\n1 1 1\n"), (Rows{{1e16}}));
  expect_io_error(
      [&] {
        read_coordinate_file(
            put("%%MatrixMarket matrix coordinate real general\n3 3 2\n2 3 1e308\n2 3 1e308\n"));
      },
      {"a.mtx", "the entries of row 2, column 3 add up to more than float64 can hold"});
}

TEST_F(CoordinateFiles, WhatTheFormatAllowsIsTaken) {
  auto const path =
      put("%%matrixmarket MATRIX Coordinate Real GENERAL\r\n% a comment\r\n\r\n%\r\n  2\t2 2 \r\n"
          "\r\n 1 1 3 \r\n\r\n\t2 1 4\r\n\r\n");
  EXPECT_TRUE(is_coordinate_file(path));
  EXPECT_EQ(full(read_coordinate_file(path)), (Rows{{3, 0}, {4, 0}}));
  auto const extents = inspect_coordinate_file(path);
  EXPECT_EQ(extents.rows, 2);
  EXPECT_EQ(extents.columns, 2);
  EXPECT_EQ(extents.entries, 2);
  EXPECT_EQ(extents.elements, 2);
  EXPECT_FALSE(is_coordinate_file(put("%%MatrixMarket matrix array real general\n1 1\n1\n")));
  EXPECT_FALSE(is_coordinate_file(put("")));
  EXPECT_FALSE(is_coordinate_file(put(std::string(5000, 'x'))));
}

TEST_F(CoordinateFiles, OtherMatricesAreRefused) {
  EXPECT_EQ(fault("complex general", "1 1 1\n1 1 1 0\n"),
            "1: the field 'complex' is not read ('real', 'integer' or 'pattern' is)");
  EXPECT_EQ(fault("real hermitian", "1 1 1\n1 1 1\n"),
            "1: the symmetry 'hermitian' is not read ('general', 'symmetric' or 'skew-symmetric' "
            "is)");
  EXPECT_EQ(fault("pattern skew-symmetric", "2 2 1\n2 1\n"),
            "1: a pattern cannot be skew-symmetric (its values are all 1)");
  EXPECT_EQ(fault("real", "1 1 1\n1 1 1\n"),
            "1: the first line has to be '%%MatrixMarket matrix coordinate FIELD SYMMETRY'");
}

TEST_F(CoordinateFiles, ImpossibleSizesAreRefused) {
  auto const general = [&](std::string const& sizes, std::string const& body = "1 1 1\n") {
    return fault("real general", sizes + "\n" + body);
  };
  EXPECT_EQ(general("2 2"), "2: '2 2' stands where 'ROWS COLUMNS ENTRIES' is expected");
  EXPECT_EQ(general("0 2 1"), "2: 0 rows or columns (at least 1 is needed)");
  EXPECT_EQ(general("1000000000000000000 1 1"),
            "2: 1000000000000000000 rows or columns are too many (at most 2147483647 are "
            "possible)");
  EXPECT_EQ(general("10000000000000000000000 1 1"),
            "2: '10000000000000000000000' is not a number of rows or columns");
  EXPECT_EQ(general("2 2 -1"), "2: '-1' is not a number of entries");
  EXPECT_EQ(general("2 2 1e3"), "2: '1e3' is not a number of entries");
  EXPECT_EQ(general("2 2 1000000000000000000"),
            "2: 1000000000000000000 entries cannot be in a file of 76 bytes");
  EXPECT_EQ(general("2 2 3", "1 1 1\n2 2 2"), "2: 3 entries cannot be in a file of 63 bytes");
  EXPECT_EQ(fault("real symmetric", "2 3 1\n1 1 1\n"),
            "2: a symmetric matrix is square, not 2 x 3");
}

TEST_F(CoordinateFiles, EntriesThatAreNoneAreRefused) {
  auto const of_2x3 = [&](std::string const& entries, int count = 2) {
    return fault("real general", "2 3 " + std::to_string(count) + "\n" + entries);
  };
  EXPECT_EQ(of_2x3("1 1 1\n0 1 1\n"), "4: there is no row 0 (they are 1 to 2)");
  EXPECT_EQ(of_2x3("1 1 1\n\n3 1 1\n"), "5: there is no row 3 (they are 1 to 2)");
  EXPECT_EQ(of_2x3("1 4 1\n1 1 1\n"), "3: there is no column 4 (they are 1 to 3)");
  EXPECT_EQ(of_2x3("1 -1 1\n1 1 1\n"), "3: there is no column -1 (they are 1 to 3)");
  EXPECT_EQ(of_2x3("1 4294967297 1\n1 1 1\n"),
            "3: there is no column 4294967297 (they are 1 to 3)");
  EXPECT_EQ(of_2x3("99999999999999999999 1 1\n1 1 1\n"),
            "3: there is no row 99999999999999999999 (they are 1 to 2)");
  EXPECT_EQ(of_2x3("1.5 1 1\n1 1 1\n"), "3: '1.5' is not a number of a row");
  EXPECT_EQ(of_2x3("1 x 1\n1 1 1\n"), "3: 'x' is not a number of a column");
  EXPECT_EQ(of_2x3("1 1 nan\n1 1 1\n"), "3: 'nan' is not finite");
  EXPECT_EQ(of_2x3("1 1 1\n1 1 inf\n"), "4: 'inf' is not finite");
  EXPECT_EQ(of_2x3("1 1 1e999\n1 1 1\n"), "3: '1e999' is out of range");
  EXPECT_EQ(of_2x3("1 1 1d0\n1 1 1\n"),
            "3: '1d0' is not a number (its exponent is Fortran's; 1e0 is one)");
  EXPECT_EQ(of_2x3("1 1\n1 1 1 1\n"),
            "3: 2 words stand on a line (3 are expected: row, column and value)");
  EXPECT_EQ(of_2x3("1 1 1\n% late\n1 1 1\n"),
            "4: a comment stands behind the line of sizes (comments come before it)");
  EXPECT_EQ(of_2x3("1 1 1\n2 1 1\n% late\n"),
            "5: a comment stands behind the line of sizes (comments come before it)");
  EXPECT_EQ(of_2x3("1 1 -2.5D-3\n1 1 1\n"),
            "3: '-2.5D-3' is not a number (its exponent is Fortran's; -2.5e-3 is one)");
  EXPECT_EQ(of_2x3("1 1 1\n" + std::string(3000, ' ') + "1 2 1\n"),
            "4: the line is longer than 1024 characters");
  EXPECT_EQ(of_2x3("1 1 1.000000\n\n\n"), "5: the file ends after 1 of 2 entries");
  EXPECT_EQ(of_2x3("1 1 1\n1 2 1\n1 3 1\n"),
            "5: more than 2 entries stand up to here (the line of sizes says how many)");
  EXPECT_EQ(fault("pattern general", "2 2 1\n1 1 1\n"),
            "3: 3 words stand on a line (2 are expected: row, column)");
  EXPECT_EQ(fault("integer general", "2 2 1\n1 1 1.5\n"), "3: '1.5' is not a whole number");
  EXPECT_EQ(fault("real symmetric", "2 2 1\n1 2 1\n"),
            "3: row 1, column 2 is not below the diagonal (a symmetric matrix has its entries on "
            "and below it)");
  EXPECT_EQ(fault("real skew-symmetric", "2 2 1\n2 2 1\n"),
            "3: row 2, column 2 is not below the diagonal (a skew-symmetric matrix has its entries "
            "below it)");
  EXPECT_EQ(
      full(read_coordinate_file(put("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1" +
                                    std::string(1000, ' ')))),
      (Rows{{1}}));
}

/// Many parts, whose lines of many lengths end anywhere: the same matrix on any number of threads,
/// and the number of the line of a fault.
TEST_F(CoordinateFiles, LargeFilesAreReadInParts) {
  constexpr int n = 3000, entries = 600000;
  std::mt19937_64 random(1);
  std::string text = "%%MatrixMarket matrix coordinate real general\n3000 3000 600000\n";
  std::map<std::pair<std::int64_t, std::int64_t>, double> sums;
  std::size_t place_of_500000 = 0;
  for (int k = 0; k < entries; ++k) {
    auto const row = static_cast<std::int64_t>(random() % n);
    auto const column = static_cast<std::int64_t>(random() % n);
    auto const value = static_cast<double>(random() % 1000);
    if (k == 499999) place_of_500000 = text.size();
    text += std::to_string(row + 1) + std::string(1 + random() % 20, ' ') +
            std::to_string(column + 1) + " " + std::to_string(static_cast<int>(value)) + "\n";
    sums[{row, column}] += value;
  }
  ASSERT_GT(text.size(), std::size_t{9} << 20);
  auto const path = put(text);
  int const before = host_threads();
  for (int const threads : {1, 4}) {
    set_host_threads(threads);
    auto const matrix = read_coordinate_file(path);
    EXPECT_EQ(fault_of(matrix), "");
    ASSERT_EQ(static_cast<std::size_t>(matrix.nonzeros()), sums.size());
    auto expected = sums.begin();
    for (std::int64_t i = 0; i < n; ++i)
      for (auto k = static_cast<std::size_t>(matrix.offsets[static_cast<std::size_t>(i)]);
           k < static_cast<std::size_t>(matrix.offsets[static_cast<std::size_t>(i) + 1]);
           ++k, ++expected) {
        ASSERT_EQ(expected->first, std::pair(i, std::int64_t{matrix.column_indices[k]}));
        ASSERT_EQ(expected->second, matrix.values[k]);
      }
    char const digit = std::exchange(text[place_of_500000], 'x');
    put(text);
    expect_io_error([&] { read_coordinate_file(path); }, {"a.mtx:500002: 'x"});
    text[place_of_500000] = digit;
    put(text);
  }
  set_host_threads(before);
}

/// Elements above the diagonal belong to rows that other threads may have.
TEST_F(CoordinateFiles, LargeHalvesAreMirroredByAnyNumberOfThreads) {
  constexpr std::int64_t n = 5000, entries = 40000;
  std::mt19937_64 random(2);
  std::map<std::pair<std::int64_t, std::int64_t>, double> expected;
  std::string text = "%%MatrixMarket matrix coordinate integer skew-symmetric\n5000 5000 40000\n";
  for (std::int64_t k = 0; k < entries; ++k) {
    auto const row = static_cast<std::int64_t>(1 + random() % (n - 1));
    auto const column = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(row));
    text += fmt::format("{} {} {}\n", row + 1, column + 1, k);
    expected[{row, column}] += static_cast<double>(k);
    expected[{column, row}] -= static_cast<double>(k);
  }
  auto const path = put(text);
  int const before = host_threads();
  for (int const threads : {1, 4}) {
    set_host_threads(threads);
    auto const matrix = read_coordinate_file(path);
    EXPECT_EQ(fault_of(matrix), "");
    ASSERT_EQ(static_cast<std::size_t>(matrix.nonzeros()), expected.size());
    for (auto const& [place, value] : expected)
      ASSERT_EQ(element(matrix, place.first, place.second), value);
  }
  set_host_threads(before);
}

// ------------------------------------------------------------------------------ groups of HDF5

class CsrGroups : public testing::Test {
 protected:
  template <class T>
  static void put(hdf5::Object const& file, std::string const& name, std::vector<T> const& values,
                  hid_t type) {
    file.create_dataset(name, type, hdf5::simple_space({values.size()})).write(values.data(), type);
  }
  /// [1 0 2; 0 0 3], with its second row out of order where `columns` say so.
  hdf5::Object make(std::vector<int> const& columns = {0, 2, 2},
                    std::vector<std::int64_t> const& rows = {0, 2, 3},
                    std::vector<float> const& values = {1, 2, 3}) {
    hdf5::Object const file(
        path_, {H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose});
    auto group = file.create_group("A");
    put(file, "/A/indices", columns, H5T_NATIVE_INT);
    put(file, "/A/indptr", rows, H5T_NATIVE_INT64);
    put(file, "/A/data", values, H5T_NATIVE_FLOAT);
    return group;
  }
  std::string fault() {
    try {
      read_csr_group(path_, "/A");
    } catch (IoError const& error) {
      std::string const what = error.what(), file = path_.string() + ": ";
      return what.starts_with(file) ? what.substr(file.size()) : what;
    }
    return "";
  }
  static void set_shape(hdf5::Object const& group, std::int64_t rows, std::int64_t columns) {
    group.write_list_attribute<std::int64_t>("shape", std::vector{rows, columns});
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "a.h5";
};

TEST_F(CsrGroups, AreRead) {
  set_shape(make(), 2, 3);
  EXPECT_TRUE(is_group(path_, "/A"));
  EXPECT_FALSE(is_group(path_, "/A/data"));
  EXPECT_FALSE(is_group(path_, "/B"));
  EXPECT_FALSE(is_group(path_, ""));
  EXPECT_EQ(full(read_csr_group(path_, "/A")), (Rows{{1, 0, 2}, {0, 0, 3}}));
  EXPECT_EQ(inspect_csr_group(path_, "/A").elements, 3);
  // Out of order, and twice.
  set_shape(make({2, 0, 2}), 2, 3);
  EXPECT_EQ(full(read_csr_group(path_, "A")), (Rows{{2, 0, 1}, {0, 0, 3}}));
  set_shape(make({1, 1, 0}), 2, 3);
  EXPECT_EQ(full(read_csr_group(path_, "/A")), (Rows{{0, 3, 0}, {3, 0, 0}}));
  // Square without a shape.
  make({0, 1, 1});
  EXPECT_EQ(full(read_csr_group(path_, "/A")), (Rows{{1, 2}, {0, 3}}));
}

TEST_F(CsrGroups, OfColumnsAreTurned) {
  {
    auto const group = make();
    set_shape(group, 3, 2);
    group.write_text_attribute("encoding-type", "csc_matrix");
  }
  EXPECT_EQ(full(read_csr_group(path_, "/A")), (Rows{{1, 0}, {0, 0}, {2, 3}}));
  // As scipy's save_npz names it.
  make({0, 1, 1}).write_text("format", "csc");
  EXPECT_EQ(full(read_csr_group(path_, "/A")), (Rows{{1, 0}, {2, 3}}));
  make({0, 1, 1}).write_text_attribute("format", "csc");
  EXPECT_EQ(full(read_csr_group(path_, "/A")), (Rows{{1, 0}, {2, 3}}));
  make({0, 1, 1}).write_text("format", "csr");
  EXPECT_EQ(full(read_csr_group(path_, "/A")), (Rows{{1, 2}, {0, 3}}));
  make({0, 1, 1}).write_text("format", "bsr");
  EXPECT_EQ(fault(), "'/A' is of the kind 'bsr' (csr_matrix and csc_matrix are read)");
  make({0, 1, 1}).write_text_attribute("encoding-type", "array");
  EXPECT_EQ(fault(), "'/A' is of the kind 'array' (csr_matrix and csc_matrix are read)");
}

TEST_F(CsrGroups, ThatContradictThemselvesAreRefused) {
  {
    auto const group = make({0, 1, 1});
    group.write_text_attribute("encoding-type", "csr_matrix");
    group.write_text("format", "csc");
  }
  EXPECT_EQ(
      fault(),
      "'/A' is of the kind 'csr_matrix' by encoding-type, and 'csc' by the dataset format (rows "
      "or columns, one of both is wrong)");
  {
    auto const group = make({0, 1, 1});
    group.write_text_attribute("encoding-type", "csr_matrix");
    group.write_text_attribute("format", "csr");
  }
  EXPECT_EQ(fault(), "");
}

/// As those of dense arrays.
TEST_F(CsrGroups, NumbersThatStandForNoneAreRefused) {
  make({0, 1, 1});
  auto const fill = [&](char const* part, double value) {
    hdf5::Object const file(path_, {H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose});
    file.open_dataset(part).write_list_attribute<double>("_FillValue", std::vector{value});
  };
  fill("/A/data", 5);
  EXPECT_EQ(fault(), "");
  fill("/A/indices", 0);
  EXPECT_NE(fault().find("'/A/indices' has no value at [0]: 0 stands for"), std::string::npos);
  make({0, 1, 1}, {0, 2, 3}, {1, 5, 3});
  fill("/A/data", 5);
  EXPECT_NE(fault().find("'/A/data' has no value at [1]: 5 stands for"), std::string::npos);
}

TEST_F(CsrGroups, OthersAreRefused) {
  make();
  EXPECT_EQ(fault(), "'/A/indices' has 2 at [1] (0 to 1 are possible)");
  make({0, -1, 1});
  EXPECT_EQ(fault(), "'/A/indices' has -1 at [1] (0 to 1 are possible)");
  make({0, 1});
  EXPECT_EQ(fault(), "'/A/indices' has 2 numbers and '/A/data' 3 (they must agree)");
  make({0, 1, 1}, {0, 4, 3});
  EXPECT_EQ(fault(), "'/A/indptr' does not ascend from 0 to 3, the number of values");
  make({0, 1, 1}, {0, 2, 2});
  EXPECT_EQ(fault(), "'/A/indptr' does not ascend from 0 to 3, the number of values");
  make({0, 1, 1}, {0, 2, 3}, {1, std::numeric_limits<float>::quiet_NaN(), 3});
  EXPECT_EQ(fault(), "'/A/data' is nan at [1] (all values have to be finite)");
  set_shape(make(), 3, 3);
  EXPECT_EQ(fault(), "'/A/indptr' has 3 numbers (a matrix of 3 rows needs 4)");
  set_shape(make(), 2, -3);
  EXPECT_EQ(fault(),
            "the shape of '/A' is no number of rows and of columns (from 1 to 2147483647)");
  {
    hdf5::Object const file(
        path_, {H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose});
    file.create_group("A");
    put<double>(file, "/A/indptr", {0, 1}, H5T_NATIVE_DOUBLE);
  }
  EXPECT_EQ(fault(), "'/A/indptr' holds float64 along 1 axes (whole numbers along one are needed)");
}

}  // namespace
}  // namespace gridstride::io::test
