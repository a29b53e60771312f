#include "io/result.hpp"

#include "io/hdf5.hpp"
#include "io/layout.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

class Result : public testing::TestWithParam<int> {};

TEST_P(Result, ReadsBackEverythingThatWasWritten) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(GetParam());
  write_sample(folder / "run.h5", grid, 4);
  ResultFile const file(folder / "run.h5");
  EXPECT_EQ(file.grid(), grid);
  EXPECT_EQ(file.fields(), sample_contents(grid).fields);
  EXPECT_EQ(file.times(), (std::vector<double>{0, 1.0 / 16, 2.0 / 16, 3.0 / 16}));
  EXPECT_EQ(file.steps(), (std::vector<std::int64_t>{0, 10, 20, 30}));
  EXPECT_TRUE(file.complete());
  for (std::size_t step = 0; step < 4; ++step) {
    auto const u = file.read("u", step);
    auto const v = file.read("v", step);
    for (std::int64_t i = 0; i < grid.size(); ++i) {
      auto const point = static_cast<std::size_t>(i);
      EXPECT_EQ(u[point], sample(0, static_cast<std::int64_t>(step), i));
      EXPECT_EQ(v[point], static_cast<float>(sample(1, static_cast<std::int64_t>(step), i)));
    }
  }
}

/// A vector is one dataset, with the components behind the axes.
TEST_P(Result, ReadsBackVectors) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(GetParam());
  auto const size = static_cast<std::size_t>(grid.size());
  std::vector<double> const u(size, 7);
  std::vector<float> w(3 * size);
  std::vector<Field> const fields = {{"u", "K", grid, Precision::float64, u.data()},
                                     {"w", "m/s", grid, Precision::float32, w.data(), 3}};
  ResultContents const contents{
      grid, {{"u", "K"}, {"w", "m/s", Precision::float32, 3}}, {}, Provenance{}};
  ResultWriter writer(folder / "run.h5", contents);
  auto const value = [](std::size_t step, std::size_t i) {
    return static_cast<float>(100000 * step + i);
  };
  for (std::size_t step = 0; step < 2; ++step) {
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = value(step, i);
    writer.append(static_cast<std::int64_t>(step), static_cast<double>(step), fields, {});
  }

  ResultFile const file(folder / "run.h5");
  EXPECT_EQ(file.fields(), contents.fields);
  for (std::size_t step = 0; step < 2; ++step) {
    EXPECT_EQ(file.read("u", step), u);
    auto const read = file.read("w", step);
    ASSERT_EQ(read.size(), w.size());
    for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], value(step, i));
  }
  std::vector<double> too_few(size);
  expect_io_error([&] { file.read("w", 0, too_few); }, {"'w' has", "not"});
  auto shape = layout::shape_of(grid);
  shape.insert(shape.begin(), 2);
  shape.push_back(3);
  EXPECT_EQ(hdf5::open_file(folder / "run.h5").open_dataset("VTKHDF/PointData/w").shape(), shape);
}

/// Of any dimensions, scalars and vectors, beside fields of the grid.
TEST_P(Result, ReadsBackFieldsOnOtherGrids) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(GetParam());
  std::vector<double> const u(static_cast<std::size_t>(grid.size()), 7);
  for (int dims = 1; dims <= 3; ++dims) {
    Grid own = make_grid(dims);
    own.points[0] = 11;
    std::vector<double> a(static_cast<std::size_t>(own.size()));
    std::vector<float> b(2 * a.size());
    std::vector<Field> const fields = {{"b", "m/s", own, Precision::float32, b.data(), 2},
                                       {"u", "K", grid, Precision::float64, u.data()},
                                       {"a", "W", own, Precision::float64, a.data()}};
    ResultContents contents{grid, {}, {}, Provenance{}};
    for (Field const& field : fields) contents.fields.push_back(info_of(field, grid));
    ResultWriter writer(folder / "run.h5", contents);
    for (std::size_t step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(1000 * step + i);
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(5000 * step + i);
      writer.append(static_cast<std::int64_t>(step), static_cast<double>(step), fields, {});
    }
    ResultFile const file(folder / "run.h5");
    ASSERT_EQ(file.fields().size(), 3U);
    EXPECT_EQ(file.fields()[0].name, "u");
    EXPECT_FALSE(file.fields()[0].own_grid.has_value());
    EXPECT_EQ(file.field("a"), contents.fields[2]);
    EXPECT_EQ(file.field("b"), contents.fields[0]);
    EXPECT_EQ(file.grid_of(file.field("b")), own);
    EXPECT_EQ(file.grid_of(file.field("u")), grid);
    EXPECT_EQ(file.read("a", 2), a);
    auto const last = file.read("b", 2), first = file.read("b", 0);
    for (std::size_t i = 0; i < b.size(); ++i) {
      EXPECT_EQ(last[i], b[i]);
      EXPECT_EQ(first[i], static_cast<double>(i));
    }
    EXPECT_EQ(file.read("u", 1), u);
    std::vector<double> too_few(3);
    expect_io_error([&] { file.read("a", 0, too_few); }, {"'a' has"});
    EXPECT_FALSE(hdf5::open_file(folder / "run.h5").contains("VTKHDF/PointData/a"));
  }
}

TEST(ResultWriter, RefusesAVectorThatIsNotOfTheAnnouncedComponents) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(1);
  std::vector<double> const w(static_cast<std::size_t>(3 * grid.size()));
  ResultWriter writer(folder / "run.h5",
                      {grid, {{"w", "1", Precision::float64, 3}}, {}, Provenance{}});
  for (int const components : {1, 2}) {
    Field const field = {"w", "1", grid, Precision::float64, w.data(), components};
    EXPECT_THROW(writer.append(0, 0, std::span(&field, 1), {}), std::invalid_argument);
  }
}

INSTANTIATE_TEST_SUITE_P(Dimensions, Result, testing::Values(1, 2, 3));

TEST(ResultFile, KeepsProvenanceAndDiagnostics) {
  TemporaryFolder const folder;
  auto contents = sample_contents(make_grid(2));
  contents.provenance.fallbacks.push_back("used the slower kernel");
  ResultWriter writer(folder / "run.h5", contents);
  SampleFields fields(make_grid(2));
  std::vector<NamedValue> const diagnostics = {{"norm", 3}, {"unknown", 1}};
  writer.append(0, 0, fields.at(0), diagnostics);
  std::vector<NamedValue> const wall_times = {{"total", 1.5}, {"write", 0.25}};
  EXPECT_FALSE(ResultFile(folder / "run.h5").complete());
  writer.finish({wall_times, {{"method", "lu"}}, {"took the long way"}});

  ResultFile const file(folder.path());
  auto const& provenance = file.provenance();
  auto const expected = sample_contents(make_grid(2)).provenance;
  EXPECT_EQ(provenance.config, expected.config);
  EXPECT_EQ(provenance.resolved_config, expected.resolved_config);
  EXPECT_EQ(provenance.version, "1.2.3");
  EXPECT_EQ(provenance.git_hash, "abc");
  EXPECT_EQ(provenance.device, "a CPU");
  EXPECT_EQ(provenance.precision, "float64");
  EXPECT_EQ(provenance.created.size(), std::string("2025-01-31T12:00:00Z").size());
  EXPECT_EQ(
      provenance.fallbacks,
      (std::vector<std::string>{"ran on the host", "used the slower kernel", "took the long way"}));
  ASSERT_EQ(provenance.chosen.size(), 1U);
  EXPECT_EQ(provenance.chosen[0].name, "method");
  EXPECT_EQ(provenance.chosen[0].text, "lu");
  ASSERT_EQ(file.diagnostics().size(), 2U);
  EXPECT_EQ(file.diagnostics()[0].name, "energy");
  EXPECT_TRUE(std::isnan(file.diagnostics()[0].values.at(0)));
  EXPECT_EQ(file.diagnostics()[1].values, std::vector<double>{3});
  ASSERT_EQ(file.wall_times().size(), 2U);
  EXPECT_EQ(file.wall_times()[1].name, "write");
  EXPECT_EQ(file.wall_times()[1].value, 0.25);
  EXPECT_TRUE(file.complete());
}

TEST(ResultFile, KeepsAHistogramOfEachStep) {
  TemporaryFolder const folder;
  // Rows below and above the size that shares a chunk.
  for (std::int64_t const bins : {1, 3, 64, 511, 512, 8192}) {
    auto contents = sample_contents(make_grid(2));
    contents.histograms = {{"u.histogram", bins}, {"v.histogram", 2}};
    SampleFields fields(make_grid(2));
    auto const sample_row = [&](std::int64_t step) {
      Histogram row{"u.histogram", {}, {}};
      for (std::int64_t b = 0; b < bins; ++b) row.counts.push_back(1000 * step + b);
      for (std::int64_t b = 0; b <= bins; ++b)
        row.edges.push_back(static_cast<double>(step) + static_cast<double>(b) / 16);
      return row;
    };
    ResultWriter writer(folder / "run.h5", contents);
    for (std::int64_t step = 0; step < 20; ++step) {
      std::vector<Histogram> const rows = {sample_row(step)};
      writer.append(step, static_cast<double>(step), fields.at(step), {}, rows);
    }
    ResultFile const file(folder / "run.h5");
    EXPECT_EQ(file.histograms(), contents.histograms);
    EXPECT_EQ(file.diagnostics().size(), 2U);
    for (std::size_t step = 0; step < 20; ++step) {
      auto const row = file.read_histogram("u.histogram", step);
      EXPECT_EQ(row.name, "u.histogram");
      EXPECT_EQ(row.counts, sample_row(static_cast<std::int64_t>(step)).counts);
      EXPECT_EQ(row.edges, sample_row(static_cast<std::int64_t>(step)).edges);
      auto const missing = file.read_histogram("v.histogram", step);
      EXPECT_EQ(missing.counts, (std::vector<std::int64_t>{0, 0}));
      for (double const edge : missing.edges) EXPECT_TRUE(std::isnan(edge));
    }
    expect_io_error([&] { file.read_histogram("w", 0); }, {"'w'", "'u.histogram' or"});
    expect_io_error([&] { file.read_histogram("u.histogram", 20); }, {"there is no step 20"});
  }
}

TEST(ResultFile, RefusesHistogramsThatWereNotAnnounced) {
  TemporaryFolder const folder;
  ResultWriter writer(folder / "run.h5", sample_contents(make_grid(1)));
  SampleFields fields(make_grid(1));
  for (auto const& [counts, edges] : {std::pair{2, 4}, std::pair{3, 3}}) {
    std::vector<Histogram> const rows = {
        {"u.histogram", std::vector<std::int64_t>(counts), std::vector<double>(edges)}};
    EXPECT_THROW(writer.append(0, 0, fields.at(0), {}, rows), std::invalid_argument);
  }
  std::vector<Histogram> const rows = {sample_histogram(0)};
  writer.append(0, 0, fields.at(0), {}, rows);
  EXPECT_EQ(ResultFile(folder / "run.h5").times().size(), 1U);
  auto contents = sample_contents(make_grid(1));
  contents.histograms.front().name = "a/b";
  EXPECT_THROW(ResultWriter(folder / "other.h5", contents), std::invalid_argument);
}

/// As many rows at each step as there happen to be.
TEST(ResultFile, KeepsTheRowsOfEachStep) {
  TemporaryFolder const folder;
  auto contents = sample_contents(make_grid(2));
  contents.tables = {{"peaks", {{"value", "K"}, {"index", "1", true}}}, {"empty", {{"x_1", "m"}}}};
  std::vector<std::int64_t> const rows = {0, 3, 1, 0, 5000, 2};
  auto const peaks = [&](std::size_t step) {
    std::vector<double> value;
    std::vector<std::int64_t> index;
    for (std::int64_t row = 0; row < rows[step]; ++row) {
      value.push_back(static_cast<double>(row) + 0.5);
      index.push_back((std::int64_t{1} << 60) + 10 * static_cast<std::int64_t>(step) + row);
    }
    return Table{"peaks", {{"value", "K", value}, {"index", "1", index}}};
  };
  SampleFields fields(make_grid(2));
  {
    ResultWriter writer(folder / "run.h5", contents);
    EXPECT_EQ(ResultFile(folder / "run.h5").tables().size(), 2U);
    for (std::size_t step = 0; step < rows.size(); ++step) {
      std::vector<Table> const tables = {peaks(step), {"empty", {{"x_1", "m"}}}};
      writer.append(static_cast<std::int64_t>(step), static_cast<double>(step),
                    fields.at(static_cast<std::int64_t>(step)), {}, {}, tables);
      ASSERT_EQ(ResultFile(folder / "run.h5").rows("peaks", step), rows[step]);
    }
  }
  ResultFile const file(folder / "run.h5");
  EXPECT_EQ(file.tables(), (std::vector<TableInfo>{contents.tables[1], contents.tables[0]}));
  for (std::size_t step = 0; step < rows.size(); ++step) {
    auto const read = file.read_table("peaks", step), written = peaks(step);
    ASSERT_EQ(info_of(read), info_of(written));
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(read.columns[i].numbers, written.columns[i].numbers) << step;
    EXPECT_EQ(file.rows("empty", step), 0);
    EXPECT_EQ(file.read_table("empty", step).rows(), 0);
  }
  expect_io_error([&] { file.read_table("none", 0); }, {"'none'", "'empty' or 'peaks'"});
  expect_io_error([&] { file.rows("peaks", 6); }, {"there is no step 6"});
  auto const column =
      hdf5::open_file(folder / "run.h5").open_dataset("gridstride/tables/peaks/value");
  EXPECT_EQ(column.shape(), hdf5::Shape{5006});
  EXPECT_EQ(column.read_text_attribute("unit"), "K");
}

TEST(ResultWriter, RefusesTablesThatWereNotAnnounced) {
  TemporaryFolder const folder;
  ResultContents contents{make_grid(1), {}, {}, Provenance{}};
  contents.tables = {{"peaks", {{"value", "K"}, {"index", "1", true}}}};
  std::vector<double> const value = {1, 2};
  std::vector<std::int64_t> const index = {3, 4};
  Table const good{"peaks", {{"value", "K", value}, {"index", "1", index}}};
  ResultWriter writer(folder / "run.h5", contents);
  EXPECT_THROW(writer.append(0, 0, {}, {}), std::invalid_argument);
  for (auto const& change : std::vector<std::function<void(Table&)>>{
           [](Table& table) { table.name = "other"; },
           [](Table& table) { table.columns.pop_back(); },
           [](Table& table) { table.columns[0].unit = "m"; },
           [](Table& table) {
             table.columns[1].numbers = std::vector<double>{3, 4};
           },
           [](Table& table) { std::swap(table.columns[0], table.columns[1]); },
           [](Table& table) { table.columns[1].numbers = std::vector<std::int64_t>{3}; }}) {
    Table bad = good;
    change(bad);
    EXPECT_THROW(writer.append(0, 0, {}, {}, {}, std::span(&bad, 1)), std::invalid_argument);
  }
  writer.append(0, 0, {}, {}, {}, std::span(&good, 1));
  EXPECT_EQ(ResultFile(folder / "run.h5").rows("peaks", 0), 2);
  for (TableInfo const& bad :
       {TableInfo{"a b", {{"x"}}}, TableInfo{"", {{"x"}}}, TableInfo{"a/b", {{"x"}}},
        TableInfo{"a", {{"x y"}}}, TableInfo{"a", {{""}}}, TableInfo{"a", {}},
        TableInfo{"a", {{"x"}, {"x"}}}}) {
    contents.tables = {bad};
    EXPECT_THROW(ResultWriter(folder / "other.h5", contents), std::invalid_argument) << bad.name;
  }
}

TEST(ResultFile, GrowsStepByStepAndMayBeReadMeanwhile) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2);
  ResultWriter writer(folder / "run.h5", sample_contents(grid));
  EXPECT_TRUE(ResultFile(folder / "run.h5").times().empty());
  SampleFields fields(grid);
  for (std::int64_t step = 0; step < 200; ++step) {
    writer.append(step, static_cast<double>(step), fields.at(step), {});
    ResultFile const file(folder / "run.h5");
    ASSERT_EQ(file.times().size(), static_cast<std::size_t>(step + 1));
    EXPECT_EQ(file.times().back(), static_cast<double>(step));
    EXPECT_EQ(file.read("u", static_cast<std::size_t>(step)).back(),
              sample(0, step, grid.size() - 1));
    EXPECT_EQ(file.read("u", 0).back(), sample(0, 0, grid.size() - 1));
  }
}

/// Readers of VTKHDF copy all of `Values` into room for `NSteps` values, and take one step for
/// none.
TEST(ResultFile, ListsAsManyTimesAsVtkExpects) {
  TemporaryFolder const folder;
  for (int steps = 1; steps <= 3; ++steps) {
    write_sample(folder / "run.h5", make_grid(1), steps);
    auto const group = hdf5::open_file(folder / "run.h5").open_group("VTKHDF/Steps");
    auto const entries = group.read_attribute<std::int64_t>("NSteps").at(0);
    EXPECT_EQ(entries, std::max(2, steps));
    EXPECT_EQ(group.open_dataset("Values").shape().at(0), static_cast<hsize_t>(entries));
    EXPECT_EQ(group.open_dataset("PointDataOffsets/u").shape().at(0),
              static_cast<hsize_t>(entries));
    EXPECT_EQ(ResultFile(folder / "run.h5").times().size(), static_cast<std::size_t>(steps));
  }
}

TEST(ResultFile, SplitsLargeStepsIntoChunks) {
  TemporaryFolder const folder;
  Grid grid;
  grid.dims = 2;
  grid.points = {1025, 3001, 1};
  std::vector<double> values(static_cast<std::size_t>(grid.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  Field const field = {"u", "", grid, Precision::float64, values.data()};
  ResultWriter writer(folder / "run.h5", {grid, {{"u", "", Precision::float64}}, {}, Provenance{}});
  writer.append(0, 0, std::span(&field, 1), {});
  EXPECT_EQ(ResultFile(folder / "run.h5").read("u", 0), values);
  auto const dataset = hdf5::open_file(folder / "run.h5").open_dataset("VTKHDF/PointData/u");
  hdf5::Handle const creation(H5Dget_create_plist(dataset.id()), H5Pclose);
  hsize_t chunk[3] = {};
  ASSERT_EQ(H5Pget_chunk(creation.id(), 3, chunk), 3);
  EXPECT_EQ(chunk[0], 1U);
  EXPECT_LE(chunk[0] * chunk[1] * chunk[2] * sizeof(double), 16U << 20);
  EXPECT_EQ(chunk[2], 1025U);
}

TEST(ResultFile, RefusesFieldsThatWereNotAnnounced) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2);
  ResultWriter writer(folder / "run.h5", sample_contents(grid));
  SampleFields fields(grid);
  SampleFields others(make_grid(3));
  EXPECT_THROW(writer.append(0, 0, others.at(0), {}), std::invalid_argument);
  auto one = fields.at(0);
  one.pop_back();
  EXPECT_THROW(writer.append(0, 0, one, {}), std::invalid_argument);
  writer.append(0, 0, fields.at(0), {});
  auto contents = sample_contents(grid);
  contents.diagnostics = {"a/b"};
  EXPECT_THROW(ResultWriter(folder / "other.h5", contents), std::invalid_argument);
}

TEST(ResultFile, SaysWhatIsMissing) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(1);
  write_sample(folder / "run.h5", grid, 2);
  ResultFile const file(folder / "run.h5");
  expect_io_error([&] { file.read("w", 0); }, {"run.h5", "'w'", "'u' or 'v'"});
  expect_io_error([&] { file.read("u", 2); }, {"there is no step 2"});
  std::vector<double> few(3);
  expect_io_error([&] { file.read("u", 0, few); }, {"7 values, not 3"});
}

TEST(ResultFile, RefusesWhatIsNoResult) {
  TemporaryFolder const folder;
  expect_io_error([&] { ResultFile file(folder.path()); }, {"holds no .h5 file"});
  expect_io_error([&] { ResultFile file(folder / "none.h5"); }, {"no such file"});
  write_bytes(folder / "text.h5", "text");
  expect_io_error([&] { ResultFile file(folder / "text.h5"); }, {"is no HDF5 file"});
  write_sample(folder / "run.h5", make_grid(1), 2);
  expect_io_error([&] { ResultFile file(folder.path()); }, {"2 .h5 files (run.h5, text.h5)"});
  {
    hdf5::Object const file(folder / "other.h5",
                            hdf5::Handle(H5Fcreate((folder / "other.h5").c_str(), H5F_ACC_TRUNC,
                                                   H5P_DEFAULT, H5P_DEFAULT),
                                         H5Fclose));
    file.write_text("text", "hello");
  }
  expect_io_error([&] { ResultFile file(folder / "other.h5"); },
                  {"other.h5", "is no gridstride result", "VTKHDF"});
}

/// Columns of other types, lists that are short, and grids that cannot be.
TEST(ResultFile, RefusesTablesAndGridsThatCannotBe) {
  TemporaryFolder const folder;
  Grid const grid = make_grid(2), own = make_grid(1);
  std::vector<double> const p(static_cast<std::size_t>(own.size()));
  Field const field{"p", "W", own, Precision::float64, p.data()};
  ResultContents contents{grid, {info_of(field, grid)}, {}, Provenance{}};
  contents.tables = {{"peaks", {{"value", "K"}}}};
  Table const table{"peaks", {{"value", "K", std::vector<double>{1, 2, 3}}}};
  auto const broken = [&](std::function<void(hid_t)> const& damage, std::string const& part) {
    ResultWriter(folder / "run.h5", contents)
        .append(0, 0, std::span(&field, 1), {}, {}, std::span(&table, 1));
    {
      hdf5::Handle const file(H5Fopen((folder / "run.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT),
                              H5Fclose);
      damage(file.id());
    }
    expect_io_error([&] { ResultFile const read(folder / "run.h5"); }, {"run.h5", part});
  };
  auto const resize = [](hid_t file, char const* name, hsize_t size) {
    hdf5::Handle const list(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
    ASSERT_GE(H5Dset_extent(list.id(), &size), 0);
  };
  auto const remove = [](hid_t file, char const* name) {
    ASSERT_GE(H5Ldelete(file, name, H5P_DEFAULT), 0);
  };
  broken([&](hid_t file) { resize(file, "gridstride/tables/peaks/value", 2); },
         "table 'peaks' lacks rows of column 'value'");
  broken([&](hid_t file) { resize(file, "gridstride/table_ends/peaks", 0); },
         "'table_ends/peaks' is shorter than the 1 steps");
  broken([&](hid_t file) { remove(file, "gridstride/table_ends/peaks"); }, "table_ends/peaks");
  broken([&](hid_t file) { remove(file, "gridstride/tables/peaks/value"); }, "value");
  broken(
      [&](hid_t file) {
        remove(file, "gridstride/tables/peaks/value");
        hdf5::Object const home({},
                                hdf5::Handle(H5Gopen2(file, "gridstride", H5P_DEFAULT), H5Gclose));
        home.create_dataset("tables/peaks/value", H5T_IEEE_F32LE, hdf5::simple_space({3}))
            .write_text_attribute("unit", "K");
      },
      "column 'value' of neither int64 nor float64");
  broken(
      [&](hid_t file) {
        hdf5::Object const home({},
                                hdf5::Handle(H5Gopen2(file, "gridstride", H5P_DEFAULT), H5Gclose));
        home.create_dataset("tables/peaks/more", H5T_IEEE_F64LE, hdf5::simple_space({3}));
      },
      "table 'peaks' has other columns than it names");
  broken(
      [&](hid_t file) {
        hdf5::Handle const p_field(H5Dopen2(file, "gridstride/fields/p", H5P_DEFAULT), H5Dclose);
        hdf5::Handle const points(H5Aopen(p_field.id(), "points", H5P_DEFAULT), H5Aclose);
        std::int64_t const wrong[3] = {-7, 1, 1};
        ASSERT_GE(H5Awrite(points.id(), H5T_NATIVE_INT64, wrong), 0);
      },
      "its extent is impossible");
}

TEST(ResultFile, RefusesAFileThatIsCutAtAnyLength) {
  TemporaryFolder const folder;
  write_sample(folder / "run.h5", make_grid(2), 3);
  auto const whole = read_bytes(folder / "run.h5");
  for (std::size_t length = 0; length < whole.size(); length += 1 + length / 29) {
    write_bytes(folder / "cut.h5", whole.substr(0, length));
    expect_io_error([&] { ResultFile file(folder / "cut.h5"); }, {"cut.h5"});
  }
}

TEST(ResultWriter, SaysWhyAFileCannotBeMade) {
  TemporaryFolder const folder;
  auto const contents = sample_contents(make_grid(1));
  expect_io_error([&] { ResultWriter(folder / "none" / "run.h5", contents); },
                  {"none/run.h5: cannot be created", "No such file"});
  expect_io_error([&] { ResultWriter(folder.path(), contents); }, {"folder"});
  EXPECT_EQ(folder.files(), 0U);
  if (geteuid() == 0) return;  // nothing is read-only for root
  std::filesystem::permissions(
      folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  expect_io_error([&] { ResultWriter(folder / "run.h5", contents); }, {"Permission denied"});
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace gridstride::io
