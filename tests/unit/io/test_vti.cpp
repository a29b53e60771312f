#include "io/vti.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <vtkDataArray.h>
#include <vtkFieldData.h>
#include <vtkImageData.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkXMLImageDataReader.h>

#include <csignal>

#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

class Vti : public testing::TestWithParam<int> {};

TEST_P(Vti, VtkReadsBackEveryValue) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(GetParam());
  SampleFields sample_fields(grid);
  auto const fields = sample_fields.at(3);
  write_vti(folder / "a.vti", grid, fields, 0.1, 42);
  EXPECT_EQ(folder.files(), 1U);

  vtkNew<vtkXMLImageDataReader> reader;
  reader->SetFileName((folder / "a.vti").c_str());
  reader->Update();
  vtkImageData* const image = reader->GetOutput();
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(image->GetDimensions()[axis], grid.points[axis]);
    EXPECT_EQ(image->GetOrigin()[axis], grid.origin[axis]);
    EXPECT_EQ(image->GetSpacing()[axis], grid.spacing[axis]);
  }
  EXPECT_EQ(image->GetFieldData()->GetArray("TimeValue")->GetTuple1(0), 0.1);
  EXPECT_EQ(image->GetFieldData()->GetArray("Step")->GetTuple1(0), 42);
  auto* const u = image->GetPointData()->GetArray("u");
  auto* const v = image->GetPointData()->GetArray("v");
  ASSERT_EQ(u->GetNumberOfTuples(), grid.size());
  ASSERT_TRUE(u->HasInformation());
  EXPECT_STREQ(u->GetInformation()->Get(vtkDataArray::UNITS_LABEL()), "K");
  EXPECT_STREQ(u->GetDataTypeAsString(), "double");
  EXPECT_STREQ(v->GetDataTypeAsString(), "float");
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    EXPECT_EQ(u->GetTuple1(i), sample(0, 3, i));
    EXPECT_EQ(v->GetTuple1(i), static_cast<float>(sample(1, 3, i)));
  }
}

TEST_P(Vti, VectorsAreOneArrayWithComponents) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(GetParam());
  for (int const components : {2, 3}) {
    std::vector<float> values(static_cast<std::size_t>(grid.size() * components));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 8;
    Field const field = {"w", "m/s", grid, Precision::float32, values.data(), components};
    write_vti(folder / "a.vti", grid, std::span(&field, 1), 0, 0);

    vtkNew<vtkXMLImageDataReader> reader;
    reader->SetFileName((folder / "a.vti").c_str());
    reader->Update();
    ASSERT_EQ(reader->GetOutput()->GetPointData()->GetNumberOfArrays(), 1);
    auto* const w = reader->GetOutput()->GetPointData()->GetArray("w");
    ASSERT_EQ(w->GetNumberOfComponents(), components);
    ASSERT_EQ(w->GetNumberOfTuples(), grid.size());
    for (std::int64_t i = 0; i < grid.size(); ++i)
      for (int c = 0; c < components; ++c)
        EXPECT_EQ(w->GetComponent(i, c), values[static_cast<std::size_t>(i * components + c)]);
  }
}

INSTANTIATE_TEST_SUITE_P(Dimensions, Vti, testing::Values(1, 2, 3));

TEST(VtiLayout, IsRawAppendedAndNotCompressed) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2);
  SampleFields sample_fields(grid);
  write_vti(folder / "a.vti", grid, sample_fields.at(0), 0, 0);
  auto const bytes = read_bytes(folder / "a.vti");
  for (auto const* part :
       {"<AppendedData encoding=\"raw\">", "header_type=\"UInt64\"", "type=\"ImageData\""})
    EXPECT_NE(bytes.find(part), std::string::npos) << part;
  EXPECT_EQ(bytes.find("compressor"), std::string::npos);
  std::string const payload(reinterpret_cast<char const*>(sample_fields.u().data()),
                            sample_fields.u().size() * sizeof(double));
  EXPECT_NE(bytes.find(payload), std::string::npos);
}

TEST(VtiFailure, NamesTheFileAndLeavesNothing) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2);
  SampleFields sample_fields(grid);
  auto const fields = sample_fields.at(0);
  expect_io_error([&] { write_vti(folder / "none" / "a.vti", grid, fields, 0, 0); },
                  {"none/a.vti"});
  expect_io_error([&] { write_vti(folder.path(), grid, fields, 0, 0); }, {"folder"});
  EXPECT_EQ(folder.files(), 0U);
}

TEST(VtiFailure, SaysThatTheDiskIsFull) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(3);
  SampleFields sample_fields(grid);
  auto const fields = sample_fields.at(0);
  SharedCount mounted, told;
  run_in_child([&] {
    // Of this child alone; needs rights that tests do not have everywhere.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return;
    if (mount("none", folder.path().c_str(), "tmpfs", 0, "size=16k") != 0) return;
    *mounted = 1;
    try {
      for (int i = 0; i < 100; ++i)
        write_vti(folder / (std::to_string(i) + ".vti"), grid, fields, 0, 0);
    } catch (IoError const& error) {
      *told = std::string(error.what()).ends_with("writing failed (No space left on device)");
    }
  });
  if (*mounted == 0) GTEST_SKIP() << "no file system can be mounted";
  EXPECT_EQ(*told, 1);
}

TEST(VtiFailure, FullDiskIsAnErrorAtEveryLength) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(3);
  SampleFields sample_fields(grid);
  auto const fields = sample_fields.at(0);
  write_vti(folder / "whole.vti", grid, fields, 0, 0);
  auto const whole = std::filesystem::file_size(folder / "whole.vti");
  for (std::uintmax_t limit = 0; limit < whole; limit += 211) {
    SharedCount failures;
    int const status = run_in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const most = {limit, limit};
      setrlimit(RLIMIT_FSIZE, &most);
      try {
        write_vti(folder / "a.vti", grid, fields, 0, 0);
      } catch (IoError const& error) {
        std::string const message = error.what();
        *failures += message.ends_with("a.vti: writing failed (File too large)");
      }
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(*failures, 1) << "limit " << limit;
    EXPECT_EQ(folder.files(), 1U) << "limit " << limit;
  }
}

}  // namespace
}  // namespace gridstride::io
