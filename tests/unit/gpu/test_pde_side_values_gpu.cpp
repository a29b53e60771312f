#include "core/error.hpp"
#include "support/pde_side_value_cases.hpp"
#include "unit/gpu/gpu.hpp"

/// Fluxes, and values that follow from fields, on sides.
namespace gridstride {
namespace {

using test::field_sides_pde;
using test::flux_pde;
using test::run_pde;

std::vector<std::string> texts() {
  return {flux_pde("u: \"div((0.02 + 0.01*u^2)*grad(u))\"", "(0.02 + 0.01*s^2)*diff(s, @)", 1, "ff",
                   19),
          flux_pde("u: \"div((0.02 + 0.01*u^2)*grad(u))\"", "(0.02 + 0.01*s^2)*diff(s, @)", 2,
                   "ffdf", 13, "space: {order: 4}\n"),
          flux_pde("u: \"div((0.02 + 0.01*u^2)*grad(u))\"", "(0.02 + 0.01*s^2)*diff(s, @)", 3,
                   "fnppff", 6),
          field_sides_pde(test::radiation, test::plain_factor, 2, 9),
          field_sides_pde(test::factor, test::exchange, 3, 5),
          field_sides_pde(test::held, test::exchange, 1, 70,
                          "{scheme: rk45, end: 0.01, step: 0.00025}")};
}

TEST(PdeSideValuesGpu, AgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const& text : texts()) {
    auto const host = run_pde(text, Backend::cpu), gpu = run_pde(text, Backend::cuda);
    EXPECT_EQ(host.steps, gpu.steps) << text;
    for (std::size_t f = 0; f < host.fields.size(); ++f)
      for (std::size_t i = 0; i < host.fields[f].size(); ++i)
        // Some hundred steps, each of which rounds values of about 1 a few times.
        ASSERT_NEAR(gpu.fields[f][i], host.fields[f][i], 1e-11) << text << " at " << i;
  }
}

/// Steps by themselves, which no graph has, and steps in graphs.
TEST(PdeSideValuesGpu, BatchesHaveTheSameBits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto all = texts();
  all.push_back(field_sides_pde(test::held, test::exchange, 1, 13,
                                "{scheme: rk45, end: 0.05, step: adaptive, tolerance: 1e-7}"));
  for (std::string const& text : all)
    EXPECT_EQ(run_pde(text, Backend::cuda).fields, run_pde(text, Backend::cuda, 1).fields) << text;
}

TEST(PdeSideValuesGpu, PassesRefuseThem) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const& text : {flux_pde("u: div(grad(u))", "diff(s, @)", 2, "ffpp", 9),
                                  field_sides_pde(test::radiation, test::exchange, 2, 9)}) {
    auto const config = test::config_of(text + "kernels: {system: march}\n");
    EXPECT_THROW(entry_of(config).choose_kernels(config, {}, Device::open(Backend::cuda)),
                 std::invalid_argument)
        << text;
  }
}

}  // namespace
}  // namespace gridstride
