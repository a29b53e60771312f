#include "io/matrix_market.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support.hpp"

namespace gridstride::io::test {
namespace {

class MatrixMarket : public testing::Test {
 protected:
  std::vector<double> read(std::string const& text) {
    write_bytes(folder_ / "a.mtx", text);
    auto const [rows, columns] = inspect_matrix_market(folder_ / "a.mtx");
    std::vector<double> values(static_cast<std::size_t>(rows * columns), -99);
    read_matrix_market(folder_ / "a.mtx", values);
    return values;
  }
  /// `LINE: message` of a file that is refused.
  std::string fault(std::string const& text) {
    try {
      read(text);
    } catch (IoError const& error) {
      std::string const what = error.what(), file = (folder_ / "a.mtx").string() + ":";
      return what.starts_with(file) ? what.substr(file.size()) : what;
    }
    return "";
  }
  /// The fault of the values of a general matrix of reals, which begin on line 3.
  std::string fault_of_values(std::string const& size, std::string const& values) {
    return fault("%%MatrixMarket matrix array real general\n" + size + "\n" + values);
  }

  TemporaryFolder folder_;
};

using Values = std::vector<double>;

TEST_F(MatrixMarket, ReadsColumnAfterColumn) {
  EXPECT_EQ(read("%%MatrixMarket matrix array real general\n2 3\n1\n2e0\n-3.5\n+4\n.5\n6.\n"),
            (Values{1, -3.5, 0.5, 2, 4, 6}));
  EXPECT_EQ(read("%%MatrixMarket matrix array integer general\n1 2\n-7\n8\n"), (Values{-7, 8}));
}

TEST_F(MatrixMarket, ReadsHalvesOfSymmetricMatrices) {
  EXPECT_EQ(read("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"),
            (Values{1, 2, 3, 2, 4, 5, 3, 5, 6}));
  EXPECT_EQ(read("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n"),
            (Values{0, -1, -2, 1, 0, -3, 2, 3, 0}));
  EXPECT_EQ(read("%%MatrixMarket matrix array real skew-symmetric\n1 1\n"), (Values{0}));
}

TEST_F(MatrixMarket, TakesWhatTheFormatAllows) {
  EXPECT_EQ(read("%%matrixmarket MATRIX Array Real GENERAL\r\n% a comment\r\n%\r\n\r\n  1\t2 \r\n"
                 "\r\n 1 \r\n2"),
            (Values{1, 2}));
}

TEST_F(MatrixMarket, RefusesOtherFiles) {
  std::string const first =
      "1: is no Matrix Market file (its first line begins with "
      "'%%MatrixMarket')";
  EXPECT_EQ(fault(""), first);
  EXPECT_EQ(fault("\n%%MatrixMarket matrix array real general\n1 1\n1\n"), first);
  EXPECT_EQ(fault("MatrixMarket matrix array real general\n"), first);
  EXPECT_EQ(fault("%%MatrixMarket matrix array real\n1 1\n1\n"),
            "1: the first line has to be '%%MatrixMarket matrix array FIELD SYMMETRY'");
  EXPECT_EQ(fault("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n"),
            "1: the matrix is sparse ('coordinate'); a dense one is needed ('array'), as "
            "scipy.io.mmwrite(FILE, matrix.toarray()) writes it");
  EXPECT_EQ(fault("%%MatrixMarket matrix array complex general\n1 1\n1 0\n"),
            "1: the field 'complex' is not read ('real' or 'integer' is)");
  EXPECT_EQ(fault("%%MatrixMarket matrix array real hermitian\n1 1\n1\n"),
            "1: the symmetry 'hermitian' is not read ('general', 'symmetric' or 'skew-symmetric' "
            "is)");
  EXPECT_EQ(fault("%%MatrixMarket vector array real general\n1 1\n1\n"),
            "1: the object 'vector' is not read ('matrix' is)");
  EXPECT_EQ(fault(std::string("%%MatrixMarket matrix arr\0y real general\n1 1\n1\n", 48)),
            "1: the format 'arr?y' is not read ('array' is)");
}

TEST_F(MatrixMarket, RefusesImpossibleSizes) {
  EXPECT_EQ(fault("%%MatrixMarket matrix array real general\n% no size\n"),
            "2: the file ends before its line 'ROWS COLUMNS'");
  EXPECT_EQ(fault_of_values("2", "1\n"), "2: '2' stands where 'ROWS COLUMNS' is expected");
  EXPECT_EQ(fault_of_values("2 2 2", "1\n"), "2: '2 2 2' stands where 'ROWS COLUMNS' is expected");
  EXPECT_EQ(fault_of_values("-2 2", "1\n"), "2: -2 rows or columns (at least 1 is needed)");
  EXPECT_EQ(fault_of_values("0 2", "1\n"), "2: 0 rows or columns (at least 1 is needed)");
  EXPECT_EQ(fault_of_values("2 2.5", "1\n"), "2: '2.5' is not a number of rows or columns");
  EXPECT_EQ(fault_of_values("100000 1000000", "1\n"),
            "2: 100000 x 1000000 values cannot be in a file of 58 bytes");
  EXPECT_EQ(fault_of_values("9000000000000000000 9000000000000000000", "1\n"),
            "2: 9000000000000000000 x 9000000000000000000 values cannot be in a file of 83 bytes");
  EXPECT_EQ(fault("%%MatrixMarket matrix array real symmetric\n2 3\n1\n2\n3\n4\n5\n6\n"),
            "2: a symmetric matrix is square, not 2 x 3");
}

TEST_F(MatrixMarket, RefusesValuesThatAreNone) {
  EXPECT_EQ(fault_of_values("2 1", "1\n\nx\n"), "5: 'x' is not a number");
  EXPECT_EQ(fault_of_values("2 1", "1\n1d0\n"),
            "4: '1d0' is not a number (its exponent is Fortran's; 1e0 is one)");
  EXPECT_EQ(fault_of_values("2 1", "1\n0x10\n"), "4: '0x10' is not a number");
  EXPECT_EQ(fault_of_values("2 1", "1\n+-1\n"), "4: '+-1' is not a number");
  EXPECT_EQ(fault_of_values("2 1", "nan\n1\n"), "3: 'nan' is not finite");
  EXPECT_EQ(fault_of_values("2 1", "1\n-inf\n"), "4: '-inf' is not finite");
  EXPECT_EQ(fault_of_values("2 1", "1\n1e999\n"), "4: '1e999' is out of range");
  EXPECT_EQ(fault_of_values("2 1", "1 2\n"), "3: 2 values stand on a line (one is expected)");
  EXPECT_EQ(fault_of_values("2 1", "1\n% late\n2\n"),
            "4: a comment stands behind the line of sizes (comments come before it)");
  EXPECT_EQ(fault_of_values("4 1", "1\n2\n\n3\n\n\n"), "8: the file ends after 3 of 4 values");
  EXPECT_EQ(fault_of_values("2 1", "1\n2\n3\n"), "5: '3' follows the last of 2 values");
  EXPECT_EQ(fault("%%MatrixMarket matrix array integer general\n1 1\n1.5\n"),
            "3: '1.5' is not a whole number");
  EXPECT_EQ(fault_of_values("1 1", std::string(2000, '1') + "\n"),
            "3: the line is longer than 1024 characters");
  EXPECT_EQ(fault_of_values("2 1", "1\n\x01\xff" + std::string(50, 'a') + "\n"),
            "4: '\?\?" + std::string(38, 'a') + "...' is not a number");
}

TEST_F(MatrixMarket, ChecksWhatIsAskedOf) {
  expect_io_error([&] { inspect_matrix_market(folder_ / "b.mtx"); }, {"b.mtx", "cannot be read"});
  read("%%MatrixMarket matrix array real general\n2 1\n1\n2\n");
  Values three(3);
  expect_io_error([&] { read_matrix_market(folder_ / "a.mtx", three); }, {"2 x 1 values, not 3"});
}

}  // namespace
}  // namespace gridstride::io::test
