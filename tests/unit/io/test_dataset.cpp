#include "io/dataset.hpp"

#include <limits>
#include <numeric>

#include "io/hdf5.hpp"
#include "numbers.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;
using hdf5::Handle;
using hdf5::Object;

/// A file with datasets of many kinds.
class Dataset : public testing::Test {
 protected:
  void SetUp() override {
    Object const file = create_plain_file(path);
    std::vector<double> values(24);
    std::iota(values.begin(), values.end(), 1.0);
    auto const space = hdf5::simple_space({2, 3, 4});
    for (auto const& [name, type] :
         std::vector<std::pair<std::string, hid_t>>{{"float64", H5T_IEEE_F64LE},
                                                    {"float32", H5T_IEEE_F32LE},
                                                    {"big_endian", H5T_IEEE_F64BE},
                                                    {"int8", H5T_STD_I8LE},
                                                    {"uint16", H5T_STD_U16BE},
                                                    {"group/int64", H5T_STD_I64LE}})
      file.create_dataset(name, type, space).write(values.data(), H5T_NATIVE_DOUBLE);
    Handle const creation = hdf5::properties(H5P_DATASET_CREATE);
    hsize_t const chunk[] = {1, 2, 3};
    H5Pset_chunk(creation.id(), 3, chunk);
    H5Pset_shuffle(creation.id());
    H5Pset_deflate(creation.id(), 6);
    file.create_dataset("compressed", H5T_IEEE_F64LE, space, creation.id())
        .write(values.data(), H5T_NATIVE_DOUBLE);
    file.create_dataset("line", H5T_IEEE_F64LE, hdf5::simple_space({5}))
        .write(values.data(), H5T_NATIVE_DOUBLE);
    file.create_dataset("plane", H5T_IEEE_F64LE, hdf5::simple_space({3, 6}))
        .write(values.data(), H5T_NATIVE_DOUBLE);
    file.create_dataset("scalar", H5T_IEEE_F64LE, hdf5::scalar_space())
        .write(values.data(), H5T_NATIVE_DOUBLE);
    file.create_dataset("nothing", H5T_IEEE_F64LE, Handle(H5Screate(H5S_NULL), H5Sclose));
    file.write_text("text", "hello");
    Handle const pair(H5Tcreate(H5T_COMPOUND, 16), H5Tclose);
    H5Tinsert(pair.id(), "r", 0, H5T_IEEE_F64LE);
    H5Tinsert(pair.id(), "i", 8, H5T_IEEE_F64LE);
    file.create_dataset("complex", pair.id(), hdf5::simple_space({2, 3, 2}))
        .write(values.data(), pair.id());
  }

  TemporaryFolder const folder;
  std::filesystem::path const path = folder / "data.h5";
};

TEST_F(Dataset, ReadsEveryNumericTypeInCOrder) {
  for (auto const* name : {"float64", "float32", "big_endian", "int8", "uint16", "group/int64",
                           "/group/int64", "compressed"}) {
    SCOPED_TRACE(name);
    auto const info = inspect_dataset(path, name);
    EXPECT_TRUE(info.numeric);
    EXPECT_EQ(info.shape, (std::vector<std::int64_t>{2, 3, 4}));
    auto const numbers = open_dataset(path, name);
    EXPECT_EQ(numbers->shape(), info.shape);
    auto const values = values_of(*numbers);
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(values[i], static_cast<double>(i + 1));
  }
}

TEST_F(Dataset, TellsShapesAndTypes) {
  EXPECT_EQ(inspect_dataset(path, "line").shape, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(inspect_dataset(path, "plane").shape, (std::vector<std::int64_t>{3, 6}));
  EXPECT_TRUE(inspect_dataset(path, "scalar").shape.empty());
  EXPECT_EQ(inspect_dataset(path, "uint16").type, "uint16");
  EXPECT_EQ(inspect_dataset(path, "float32").type, "float32");
  for (auto const* name : {"text", "complex", "nothing"})
    EXPECT_FALSE(inspect_dataset(path, name).numeric) << name;
}

TEST_F(Dataset, RefusesWhatIsNoRealNumber) {
  for (auto const* name : {"text", "complex", "nothing"})
    expect_io_error([&] { open_dataset(path, name); }, {"data.h5", name, "no real numbers"});
}

TEST_F(Dataset, RefusesNumbersThatStandForOthers) {
  auto const packed = folder / "packed.h5";
  {
    Object const file = create_plain_file(packed);
    std::vector<std::int16_t> const values = {1, 2};
    auto const put = [&](char const* dataset, char const* attribute, double value) {
      auto const made = file.create_dataset(dataset, H5T_STD_I16LE, hdf5::simple_space({2}));
      made.write(values.data(), H5T_NATIVE_INT16);
      made.write_list_attribute<double>(attribute, std::vector{value});
    };
    put("plain", "scale_factor", 1);
    put("scaled", "scale_factor", 0.25);
    put("moved", "add_offset", -40);
    auto const say = [&](char const* dataset, hid_t type, char const* attribute, char const* text) {
      auto const made = file.create_dataset(dataset, type, hdf5::simple_space({2}));
      made.write(values.data(), H5T_NATIVE_INT16);
      made.write_text_attribute(attribute, text);
    };
    say("text", H5T_STD_I16LE, "scale_factor", "0.5");
    say("unsigned", H5T_STD_I8LE, "_Unsigned", "true");
    say("signed", H5T_STD_U8LE, "_Unsigned", "false");
    say("as it is", H5T_STD_I8LE, "_Unsigned", "false");
    say("real", H5T_IEEE_F32LE, "_Unsigned", "true");
  }
  EXPECT_NO_THROW(open_dataset(packed, "as it is"));
  EXPECT_NO_THROW(open_dataset(packed, "real"));
  expect_io_error([&] { open_dataset(packed, "text"); }, {"scale_factor (the text '0.5')"});
  expect_io_error([&] { open_dataset(packed, "unsigned"); },
                  {"the numbers of 'unsigned' stand for others", "_Unsigned (true)"});
  expect_io_error([&] { inspect_dataset(packed, "signed"); }, {"_Unsigned (false)"});
  EXPECT_NO_THROW(open_dataset(packed, "plain"));
  expect_io_error([&] { open_dataset(packed, "scaled"); },
                  {"the numbers of 'scaled' stand for others", "scale_factor (0.25)", "xarray"});
  expect_io_error([&] { inspect_dataset(packed, "moved"); }, {"add_offset (-40)"});
}

/// What netCDF has where there is no value, unless it is nowhere; NaN and texts that are no numbers say
/// nothing.
TEST_F(Dataset, RefusesNumbersThatStandForNone) {
  auto const masked = folder / "masked.h5";
  std::vector<std::int64_t> const values = {1, 2, 3, 4, -999, 6, 7, 8, 9, 10, 11, 12};
  {
    Object const file = create_plain_file(masked);
    auto const put = [&](char const* dataset, hdf5::Shape const& shape,
                         std::vector<double> const& none) {
      auto made = file.create_dataset(dataset, H5T_STD_I16BE, hdf5::simple_space(shape));
      made.write(values.data(), H5T_NATIVE_INT64);
      made.write_list_attribute<double>("missing_value", none);
      return made;
    };
    put("everywhere", {3, 4}, {-1, std::numeric_limits<double>::quiet_NaN()});
    put("text", {12}, {0}).write_text_attribute("_FillValue", "none");
    put("number in text", {12}, {0}).write_text_attribute("_FillValue", "-999");
    put("plane", {3, 4}, {0, -999});
    put("volume", {2, 3, 2}, {12});
    hdf5::Shape const large = {3, 1500, 1000};
    std::vector<float> numbers(3 * 1500 * 1000, 0.5f);
    numbers[(2 * 1500 + 1400) * 1000 + 7] = 9.96921e36f;
    auto const made = file.create_dataset("large", H5T_IEEE_F32LE, hdf5::simple_space(large));
    made.write(numbers.data(), H5T_NATIVE_FLOAT);
    made.write_list_attribute<double>("_FillValue", std::vector<double>{9.96921e36f});
  }
  EXPECT_NO_THROW(open_dataset(masked, "everywhere"));
  EXPECT_NO_THROW(open_dataset(masked, "text"));
  expect_io_error([&] { open_dataset(masked, "plane"); },
                  {"'plane' has no value at [1, 0]: -999 stands for", "missing_value", "fillna"});
  expect_io_error([&] { open_dataset(masked, "number in text"); }, {"[4]: -999", "_FillValue"});
  expect_io_error([&] { open_dataset(masked, "volume"); }, {"at [1, 2, 1]: 12 stands"});
  expect_io_error([&] { open_dataset(masked, "large"); }, {"at [2, 1400, 7]: 9.969", "_FillValue"});
}

/// An attribute of another type than the dataset means the number that the dataset has for its own.
TEST_F(Dataset, RefusesNumbersThatStandForNoneInAnyType) {
  auto const masked = folder / "masked_types.h5";
  {
    Object const file = create_plain_file(masked);
    auto const put = [&](std::string const& name, hid_t type, std::vector<double> const& values) {
      auto made = file.create_dataset(name, type, hdf5::simple_space({values.size()}));
      made.write(values.data(), H5T_NATIVE_DOUBLE);
      return made;
    };
    auto const say = [](Object const& made, hid_t type, double number) {
      hdf5::Handle const told =
          made.own(H5Acreate2(made.id(), "_FillValue", type, hdf5::simple_space({1}).id(),
                              H5P_DEFAULT, H5P_DEFAULT),
                   H5Aclose, "creating");
      made.check(H5Awrite(told.id(), H5T_NATIVE_DOUBLE, &number), "writing");
    };
    auto const f4 = H5T_IEEE_F32LE, f8 = H5T_IEEE_F64BE;
    say(put("f8 of f4", f4, {1, -999.9f}), f8, -999.9);
    say(put("1e20 of f4", f4, {1, 1e20f}), f8, 1e20);
    put("text of f4", f4, {1, -999.9f}).write_text_attribute("missing_value", "-999.9");
    put("blank text of f8", f8, {1, -999.9}).write_text_attribute("missing_value", " -999.9 ");
    say(put("f4 of f8", f8, {1, -999.9}), f4, -999.9);
    say(put("f4 of f8 as it is", f8, {1, -999.9f}), f4, -999.9);
    say(put("int16 of uint16", H5T_STD_U16LE, {1, 65535}), H5T_STD_I16BE, -1);
    say(put("int8 of uint8", H5T_STD_U8LE, {1, 255}), H5T_STD_I8LE, -1);
    say(put("uint8 of int8", H5T_STD_I8LE, {1, -2}), H5T_STD_U8LE, 254);
    say(put("beyond f4", f4, {1, 3.4e38f}), f8, 1e300);
    say(put("beside", f8, {1, -999.9001}), f4, -999.9);
    say(put("longer", H5T_STD_U16LE, {1, 65535}), H5T_STD_I8LE, -1);
    say(put("no text", H5T_STD_I16LE, {1, 2}), f8, 1.5);
  }
  for (std::string const name :
       {"f8 of f4", "1e20 of f4", "text of f4", "blank text of f8", "f4 of f8", "f4 of f8 as it is",
        "int16 of uint16", "int8 of uint8", "uint8 of int8"})
    expect_io_error([&] { open_dataset(masked, name); },
                    {"'" + name + "' has no value at [1]", "stands for what is missing"});
  for (std::string const name : {"beyond f4", "beside", "longer", "no text"})
    EXPECT_NO_THROW(open_dataset(masked, name)) << name;
}

TEST_F(Dataset, KeepsTheStoredType) {
  EXPECT_EQ(open_dataset(path, "uint16")->type(),
            (NumberType{NumberKind::unsigned_integer, 2, true}));
  EXPECT_EQ(open_dataset(path, "int8")->type(), number_type_of<std::int8_t>());
  EXPECT_EQ(open_dataset(path, "compressed")->type(), number_type_of<double>());
  EXPECT_EQ(values_of(*open_dataset(path, "scalar")), std::vector<double>{1});
}

TEST_F(Dataset, SuggestsTheNearestNameAndListsWhatThereIs) {
  expect_io_error([&] { inspect_dataset(path, "flaot64"); },
                  {"there is no dataset 'flaot64'", "/group/int64", "did you mean '/float64'?"});
  expect_io_error([&] { inspect_dataset(path, "group/none/deeper"); }, {"there is no dataset"});
  expect_io_error([&] { inspect_dataset(path, ""); }, {"there is no dataset ''"});
  expect_io_error([&] { inspect_dataset(path, "group"); }, {"'group' is a group"});
  expect_io_error([&] { inspect_dataset(path, "/"); }, {"'/' is a group"});
}

TEST_F(Dataset, SaysWhyAFileCannotBeRead) {
  expect_io_error([&] { inspect_dataset(folder / "none.h5", "u"); }, {"none.h5", "no such file"});
  expect_io_error([&] { inspect_dataset(folder.path(), "u"); }, {"folder"});
  for (auto const* content : {"", "x", "simulation: heat\n"}) {
    write_bytes(folder / "other.h5", content);
    expect_io_error([&] { inspect_dataset(folder / "other.h5", "u"); }, {"is no HDF5 file"});
  }
  create_plain_file(folder / "empty.h5");
  expect_io_error([&] { inspect_dataset(folder / "empty.h5", "u"); }, {"holds no datasets"});
}

TEST_F(Dataset, RefusesAFileThatIsCut) {
  auto const whole = read_bytes(path);
  for (std::size_t length = 0; length < whole.size(); length += 97) {
    write_bytes(folder / "cut.h5", whole.substr(0, length));
    expect_io_error([&] { inspect_dataset(folder / "cut.h5", "float64"); }, {"cut.h5"});
  }
}

}  // namespace
}  // namespace gridstride::io
