#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "core/memory_use.hpp"
#include "driver/forecast.hpp"
#include "driver/run.hpp"
#include "support/heat_cases.hpp"

/// Runs whose memory is compared with what was forecast.
namespace gridstride::test {

struct MemoryCase {
  char const* name;
  std::string yaml;
  /// The forecast holds what is needed only when a first try fails, or float32 does not do, levels of any
  /// matrix, and what a file goes through before all arrays are there.
  bool at_most = false;
  char const* formats = "hdf5";
  char const* output = "";  ///< more of that section
  bool exact = false;       ///< also on a GPU, though it is without time
};

/// Where a case writes, and finds `zeros.bin`, 801 x 900 numbers in float64.
inline std::filesystem::path memory_folder() {
  return std::filesystem::temp_directory_path() / fmt::format("gridstride_memory_{}", getpid());
}

/// Steps of heat by ftcs are several from one output to the next, which a GPU makes on its chip. What
/// these take there may be gone before diagnostics begin, so that those with much of their own have rk4.
inline std::vector<MemoryCase> memory_cases() {
  std::string const plane = "grid: {points: [900, 801]}\n";
  std::string const samples = fmt::format(
      "simulation: integration\nparameters: {{integrand: {{file: {}/zeros.bin, type: float64, "
      "shape: [801, 900]}}, variables: {{x: [0, 1], y: [0, 1]}}, rule: simpson, axis: ",
      memory_folder().string());
  std::string const generated =
      "simulation: linear_system\nparameters: {matrix: {stencil: 27-point, points: [100, 90, 80]}, "
      "rhs: 1";
  std::string const wave_steps = "time: {end: 2e-4, step: 5e-5}\n";
  return {
      {"heat", "simulation: heat\n" + plane +
                   "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
                   "time: {end: 8e-7, step: 2e-8}\n"},
      {"heat with checkpoints",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
           "time: {end: 8e-7, step: 2e-8}\ncheckpoint: {every: {steps: "
           "2}}\n",
       false, ""},
      {"heat by multigrid",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1 + x*y, solver: multigrid}\n"
           "time: {scheme: tr_bdf2, end: 8e-7, step: 2e-7}\n",
       true},
      {"heat of both formats",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
           "time: {end: 8e-7, step: 2e-8}\n",
       false, "hdf5, vti"},
      {"heat of every third point",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
           "time: {end: 8e-7, step: 2e-8}\n",
       false, "hdf5, vti", ", every_nth_point: [3, 1]"},
      {"heat in float32 for files",
       "simulation: heat\ngrid: {points: [2100, 2051]}\n"
       "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
       "time: {end: 8e-9, step: 2e-10}\n",
       false, "hdf5", ", precision: float32"},
      {"convolution in float32 for files",
       "simulation: convolution\n" + plane +
           "parameters: {signal: \"x*y\", filters: [{gaussian: {sigma: 3, axis: [x, y]}}]}\n",
       false, "hdf5", ", precision: float32"},
      {"heat that is packed",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
           "time: {end: 8e-7, step: 2e-8}\n",
       true, "hdf5, vti", ", compression: 1"},
      {"heat without fields",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
           "time: {end: 8e-7, step: 2e-8}\n",
       false, "hdf5", ", fields: []"},
      {"heat larger than the device",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
           "time: {end: 8e-7, step: 2e-7}\ncheckpoint: {every: {steps: 2}}\n"
           "limits: {device_memory: 8 MiB, chunk: 1600 KiB}\n",
       false, "hdf5, vti"},
      {"wave larger than the device",
       "simulation: wave\n" + plane +
           "boundary: {x: free, y: periodic}\ninitial: {u: x}\n"
           "parameters: {speed: 1}\nlimits: {device_memory: 6 MiB}\n" +
           wave_steps},
      {"heat of fields",
       "simulation: heat\nprecision: float32\ngrid: {points: [101, 90, 83]}\n"
       "boundary: {x: {neumann: \"t + y\"}, y: {dirichlet: \"x\"}}\n"
       "initial: {u: x}\n"
       "parameters: {diffusivity: \"1 + x\", source: \"sin(t)\"}\n"
       "time: {scheme: rk4, end: 2e-5, step: 5e-6}\n"
       "verify: {exact: {u: x}, tolerance: {max: 100}}\n"},
      {"heat with a source from a file",
       "simulation: heat\n" + plane +
           fmt::format("initial: {{u: \"x*y\"}}\nparameters: {{diffusivity: 1, source: {{file: "
                       "{}/zeros.bin, type: float64, shape: [801, 900]}}}}\n",
                       memory_folder().string()) +
           "time: {scheme: rk4, end: 8e-7, step: 2e-8}\n",
       true},
      {"heat in implicit steps", "simulation: heat\n" + plane +
                                     "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
                                     "time: {scheme: tr_bdf2, end: 8e-7, step: 4e-7}\n"},
      {"heat of fields in implicit steps",
       "simulation: heat\nprecision: float32\ngrid: {points: [101, 90, 83]}\n"
       "boundary: {x: {neumann: \"t + y\"}, y: {dirichlet: \"x\"}}\n"
       "initial: {u: x}\nparameters: {diffusivity: \"1 + x\", source: \"sin(t)\", solver: "
       "splitting}\n"
       "time: {scheme: crank_nicolson, end: 2e-3, step: 1e-3}\n"},
      {"heat in implicit steps that follow their error",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
           "time: {scheme: tr_bdf2, step: adaptive, end: 8e-7, tolerance: 0.1}\n"},
      {"heat with formulas",
       "simulation: heat\n" + plane +
           "initial: {u: \"x*y\"}\nparameters: {diffusivity: 1}\n"
           "time: {scheme: rk4, end: 8e-7, step: 2e-8}\n"
           "diagnostics: [{integral: u^2}, {integral: u}, {maximum: {of: u - x, where: true}}]\n"},
      {"wave",
       "simulation: wave\n" + plane + "initial: {u: x}\nparameters: {speed: 1}\n" + wave_steps},
      {"wave of fields",
       "simulation: wave\n" + plane +
           "boundary: {x: absorbing, y: free}\ninitial: {u: x}\n"
           "parameters: {speed: \"1 + x\", source: \"t*y\", initial_velocity: y}\n" +
           wave_steps},
      {"advection", "simulation: advection\n" + plane +
                        "boundary: {x: {dirichlet: \"t\"}, y: periodic}\ninitial: {u: x}\n"
                        "parameters: {velocity: {x: 1, y: \"x + t\"}}\n"
                        "time: {end: 1e-3, step: 2.5e-4}\n"},
      {"upwind", "simulation: advection\n" + plane +
                     "initial: {u: x}\nparameters: {velocity: {x: 1, y: 1}}\n"
                     "time: {scheme: upwind, end: 1e-3, step: 2.5e-4}\n"},
      {"pde", "simulation: pde\n" + plane +
                  "equations: {u: laplace(u)}\ninitial: {u: x}\n"
                  "time: {scheme: euler, end: 8e-7, step: 2e-7}\n"},
      {"pde with formulas of space",
       "simulation: pde\n" + plane +
           "boundary: {x: {neumann: 0}, y: periodic}\n"
           "equations: {u: \"div(exp(-x*y)*grad(u)) + normal(3)*u\"}\ninitial: {u: x}\n"
           "time: {scheme: euler, end: 8e-7, step: 2e-7}\n"},
      {"pde with steps that follow their error",
       "simulation: pde\nfields: {q: vector}\n" + plane +
           "boundary: {q: {x: {neumann: {x: 0, y: 0}}}, y: periodic}\n"
           "equations: {q: \"laplace(q) - advect(q, q)\"}\ninitial: {q: {x: x, y: y}}\n"
           "time: {scheme: rk45, step: adaptive, end: 8e-7}\n"},
      {"pde leapfrog", "simulation: pde\nfields: {u: {order: 2}}\n" + plane +
                           "equations: {u: laplace(u)}\ninitial: {u: x, u_t: y}\n"
                           "time: {scheme: leapfrog, end: 2e-4, step: 5e-5}\n"},
      {"pde of vectors",
       "simulation: pde\nfields: {q: vector}\n" + plane +
           "boundary: {u: {x: {neumann: 0}}, q: {x: {neumann: {x: 0, y: 0}}}, y: periodic}\n"
           "equations: {u: u*laplace(u), q: \"laplace(q) - advect(q, q)\"}\n"
           "initial: {u: x, q: {x: x, y: y}}\n"
           "time: {scheme: rk4, end: 8e-7, step: 2e-7}\n"},
      {"pde by multigrid",
       "simulation: pde\n" + plane +
           "boundary: {x: {robin: [1, t]}, y: {neumann: 0}}\n"
           "equations: {u: \"div((1 + x)*grad(u)) - u^3 - y*u + v\", v: \"laplace(v) + u\"}\n"
           "initial: {u: x, v: y}\ntime: {scheme: imex_bdf2, end: 8e-7, step: 2e-7}\n"
           "checkpoint: {every: {steps: 2}}\n",
       true, ""},
      {"pde in modes", "simulation: pde\n" + plane +
                           "boundary: {x: periodic, y: {dirichlet: 0}}\n"
                           "space: {derivatives: spectral}\n"
                           "equations: {w: \"laplace(w) - advect([d_dy(psi), -d_dx(psi)], w)\", "
                           "0: laplace(psi) + w}\ninitial: {w: \"sin(pi*y)\"}\n"
                           "time: {scheme: ark3, end: 8e-7, step: 2e-7}\n"},
      {"pde of coupled fields in modes",
       "simulation: pde\ngrid: {points: [450, 401]}\n"
       "boundary: {x: periodic, y: periodic}\n"
       "equations: {a: -laplace(b) + a*b^2, b: laplace(a) - a^3}\n"
       "initial: {a: \"sin(2*pi*x)\", b: a}\n"
       "time: {scheme: etdrk4, end: 8e-7, step: 2e-7}\ncheckpoint: {every: {steps: 2}}\n",
       false, ""},
      {"pde with what follows from it",
       "simulation: pde\nfields: {q: vector}\n" + plane +
           "equations: {q: laplace(q)}\ninitial: {q: {x: x, y: y}}\n"
           "time: {scheme: rk4, end: 8e-7, step: 2e-7}\n"
           "diagnostics: [{integral: norm2(grad(q))}, {maximum: {of: div(q), where: true}}]\n",
       false, "hdf5", ", derived: {speed: norm(q), turn: curl(q), more: q + t*q}"},
      {"pde of values over the grid",
       "simulation: pde\n" + plane +
           "boundary: {x: periodic, y: periodic}\n"
           "equations: {u: laplace(u) - mean(u^2)*u}\ninitial: {u: \"sin(2*pi*x)\"}\n"
           "time: {scheme: rk4, end: 8e-7, step: 2e-7}\nstop: {when: max(u) > 3}\n"
           "events: {at: 4e-7, set: {u: u - mean(u)}}\n",
       false, "hdf5", ", derived: {off: u - mean(u)}"},
      {"convolution",
       "simulation: convolution\n" + plane +
           "parameters: {signal: \"x*y\", filters: [{gaussian: {sigma: 3, axis: [x, y]}}]}\n"},
      {"poisson along a line",
       "simulation: poisson\nprecision: float32\ngrid: {points: 700001}\n"
       "parameters: {diffusivity: \"1 + x\", source: \"x\"}\n",
       false, "hdf5", "", true},
      {"poisson in layers", "simulation: poisson\n" + plane +
                                "boundary: {x: periodic}\n"
                                "parameters: {diffusivity: 1 + x, source: \"x*y\"}\n"},
      {"poisson in a plane", "simulation: poisson\n" + plane + "parameters: {source: \"x*y\"}\n"},
      {"poisson relaxed",
       "simulation: poisson\n" + plane +
           "parameters: {source: \"x*y\", diffusivity: 1 + x*y, reaction: 1e14*(x > 0.003), "
           "method: jacobi}\n"},
      {"poisson of u",
       "simulation: poisson\n" + plane + "parameters: {diffusivity: 1 + u^2, source: \"x*y\"}\n",
       true},
      {"poisson by multigrid", "simulation: poisson\n" + plane +
                                   "parameters: {diffusivity: 1 + 1e6*(x > y), source: \"x*y\", "
                                   "method: mg_cg, iterations: 500}\n"},
      {"poisson by cg", "simulation: poisson\n" + plane +
                            "parameters: {diffusivity: 1 + x*y, reaction: 1e8, source: \"x*y\", "
                            "method: cg}\n"},
      {"poisson by amg_cg",
       "simulation: poisson\n" + plane +
           "parameters: {diffusivity: 1 + 1e6*(x > y), source: \"x*y\", "
           "method: amg_cg}\n",
       true},
      {"poisson by amg_cg in a volume",
       "simulation: poisson\ngrid: {points: [90, 80, 70]}\nparameters: {diffusivity: 1 + 1e6*(x > "
       "y), "
       "source: \"x*y\", method: amg_cg}\n",
       true},
      {"poisson by cg rounded",
       "simulation: poisson\n" + plane +
           "parameters: {diffusivity: 1 + x*y, reaction: 1e8, source: \"x*y\", method: cg, "
           "inner: float32}\n"},
      {"lu",
       "simulation: linear_system\nparameters: {matrix: {expression: \"(i == j) + 1/(1 + i + "
       "2*j)\", size: 700}, rhs: 1, method: lu}\n"},
      {"cholesky",
       "simulation: linear_system\nparameters: {matrix: {expression: \"(i == j) + 1/(1 "
       "+ i + j)\", size: 700}, rhs: 1, method: cholesky}\n"},
      {"lu_mixed",
       "simulation: linear_system\nparameters: {matrix: {expression: \"(i == j) + 1/(1 "
       "+ i + 2*j)\", size: 700}, rhs: 1, method: lu_mixed}\n",
       true},
      {"generated matrix", generated + "}\n", true},
      {"generated matrix in float32", "precision: float32\n" + generated + ", tolerance: 1e-4}\n",
       true},
      {"generated matrix without a cycle",
       "precision: float32\n" + generated + ", tolerance: 1e-4, preconditioner: none}\n"},
      {"generated matrix by minres", generated + ", method: minres}\n"},
      {"generated matrix of several columns",
       "simulation: linear_system\nparameters: {matrix: {stencil: 9-point, points: [8, 90113]}, "
       "rhs: {expression: j + 1, count: 3}, method: gmres, restart: 5, "
       "preconditioner: none}\n"},
      {"transform",
       "simulation: transform\ngrid: {points: [900, 801]}\ninput: {a: \"sin(x)*y\"}\n"
       "steps: [{filter: {a: {gaussian: {sigma: 3, axis: y}}}}, {scan: {s: {of: a}}},\n"
       "  {select: {p: {of: s, where: \"a > 790\"}}}]\n"
       "reduce: [{moments: a}, {quantiles: {of: s, at: [0.5]}}]\nlimits: {chunk: 256 kB}\n",
       false, "hdf5", "", true},
      {"integration",
       "simulation: integration\n"
       "parameters: {integrand: \"exp(-k*x)\", variables: {x: [0, 1]},\n"
       "  sweep: {k: {from: 0, to: 1, count: 300000}}, rule: gauss_kronrod}\n"},
      {"integration of samples along lines", samples + "x}\nlimits: {chunk: 1 MB}\n", false, "hdf5",
       "", true},
      {"integration of samples along columns", samples + "y}\nlimits: {chunk: 1 MB}\n", false,
       "hdf5", "", true},
  };
}

/// `heat with checkpoints` as the name of a test.
inline std::string name_of_memory_case(testing::TestParamInfo<MemoryCase> const& tested) {
  std::string name = tested.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
}

inline void PrintTo(MemoryCase const& one, std::ostream* out) { *out << one.name; }

/// What buffers hold at most in a whole run, on the host and on the device, against the forecast:
/// never more, and at most a twentieth less. What libraries and kernels need on a GPU for
/// simulations without time is a bound alone.
inline void expect_forecast(MemoryCase const& one, Backend backend) {
  SCOPED_TRACE(one.name);
  auto const folder = memory_folder();
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "zeros.bin").close();
  std::filesystem::resize_file(folder / "zeros.bin", 801 * 900 * sizeof(double));
  std::string const text =
      one.yaml + fmt::format("device: {}\noutput: {{directory: {}, formats: [{}]{}}}\n",
                             name_of(backend), folder.string(), one.formats, one.output);
  auto const config = config_of(text);
  Device const device = Device::open(backend);
  auto const expected = forecast(config_of(text), device);  // what that has found a run finds again
  std::array<double, 2> most = {};
  for (Backend const owner : {Backend::cpu, Backend::cuda}) {
    restart_peak(owner);
    most[static_cast<std::size_t>(owner)] = -static_cast<double>(memory_use(owner).now);
  }
  RunOptions options;
  options.quiet = true;
  run(config, options);
  for (Backend const owner : {Backend::cpu, Backend::cuda})
    most[static_cast<std::size_t>(owner)] += static_cast<double>(memory_use(owner).peak);
  std::filesystem::remove_all(folder);
  constexpr double small = 0.5 * (1 << 20);  // clocks, counts and bins of diagnostics
  auto const expect = [&](char const* what, double used, std::size_t bytes) {
    auto const forecast_bytes = static_cast<double>(bytes);
    EXPECT_LE(used, forecast_bytes + small) << what;
    bool const exact = one.exact || backend == Backend::cpu || config.simulation->has_time;
    if (!one.at_most && exact) {
      EXPECT_GE(used, 0.95 * forecast_bytes - small) << what;
    }
  };
  if (backend == Backend::cpu) {
    expect("all", most[0], expected.device_bytes + expected.host_bytes);
  } else {
    expect("host", most[0], expected.host_bytes);
    expect("device", most[1], expected.device_bytes);
  }
}

}  // namespace gridstride::test
