// Launches the kernels of tensor.cuh.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/riemann/tensor/rows.hpp"

namespace gridstride::quadrature {

namespace {

constexpr int threads = 256;
constexpr int blocks_of_multiprocessor = 16;
constexpr std::string_view file = "kernels/riemann/tensor/tensor.cuh";

template <class T>
class DeviceTensor final : public TensorSummation {
 public:
  DeviceTensor(Stream& stream, Integrand const& integrand, std::span<double const> parameters)
      : stream_(stream),
        integrand_(integrand),
        module_(compile<T>(stream.device(), integrand, file)),
        parameters_(stream, MemorySpace::device, std::max<std::size_t>(parameters.size(), 1)) {
    if (parameters.empty()) return;
    copy_async(parameters_.span(), parameters, stream_);
    stream_.synchronize();  // the caller's parameters are read
  }

  TensorSums sum(TensorProduct const& product) override {
    auto const nodes = to_device(product);
    Work const work = work_of(product, nodes);
    Buffer<TensorSums> partials(stream_, MemorySpace::device, work.blocks);
    module_->launch(stream_, "sum_tensor", {{work.blocks}, {threads}, threads * sizeof(TensorSums)},
                    work.axes, static_cast<double const*>(parameters_.data()), work.run,
                    partials.data());
    std::vector<TensorSums> found(work.blocks);
    copy_async(std::span(found), partials.span(), stream_);
    stream_.synchronize();
    TensorSums sums;
    for (TensorSums const& partial : found) sums.add(partial);
    return sums;
  }

  std::int64_t first_non_finite(TensorProduct const& product) override {
    auto const nodes = to_device(product);
    Work const work = work_of(product, nodes);
    unsigned long long least = ~0ull;
    Buffer<unsigned long long> found(stream_, MemorySpace::device, 1);
    copy_async(found.span(), std::span(&least, 1), stream_);
    std::string const definitions[] = {"LOCATE_NON_FINITE"};
    compile<T>(stream_.device(), integrand_, file, definitions)
        ->launch(stream_, "locate_in_tensor", {{work.blocks}, {threads}}, work.axes,
                 static_cast<double const*>(parameters_.data()), work.run, found.data());
    copy_async(std::span(&least, 1), found.span(), stream_);
    stream_.synchronize();
    return least == ~0ull ? all_finite : static_cast<std::int64_t>(least);
  }

 private:
  struct Work {
    TensorAxes axes;
    unsigned blocks;
    long long run;  ///< pieces of a thread
  };

  Buffer<TensorNode> to_device(TensorProduct const& product) {
    Buffer<TensorNode> nodes(stream_, MemorySpace::device, product.nodes.size());
    copy_async(nodes.span(), std::span(product.nodes), stream_);
    return nodes;
  }

  Work work_of(TensorProduct const& product, Buffer<TensorNode> const& nodes) const {
    Work work = {product.axes, 0, 0};
    work.axes.nodes = nodes.data();
    long long const most =
        static_cast<long long>(stream_.device().processors()) * blocks_of_multiprocessor * threads;
    work.run = (product.axes.pieces + most - 1) / most;
    long long const working = (product.axes.pieces + work.run - 1) / work.run;
    work.blocks = static_cast<unsigned>((working + threads - 1) / threads);
    return work;
  }

  Stream stream_;
  Integrand integrand_;
  std::shared_ptr<RuntimeModule const> module_;
  Buffer<double> parameters_;
};

}  // namespace

template <class T>
std::unique_ptr<TensorSummation> make_device_tensor(Stream& stream, Integrand const& integrand,
                                                    std::span<double const> parameters) {
  return std::make_unique<DeviceTensor<T>>(stream, integrand, parameters);
}

template std::unique_ptr<TensorSummation> make_device_tensor<float>(Stream&, Integrand const&,
                                                                    std::span<double const>);
template std::unique_ptr<TensorSummation> make_device_tensor<double>(Stream&, Integrand const&,
                                                                     std::span<double const>);

}  // namespace gridstride::quadrature
