#include "core/capabilities.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "core/text.hpp"

namespace gridstride {

namespace {

/// KiB of shared memory of a multiprocessor, of which a block may have all but one, on Turing all.
std::size_t shared_kilobytes(int compute_capability) {
  switch (compute_capability) {
    case 75:
      return 64;
    case 80:
    case 87:
      return 164;
    case 86:
    case 89:
    case 120:
    case 121:
      return 100;
    default:
      return compute_capability >= 90 ? 228 : 48;
  }
}

}  // namespace

Capabilities capabilities_of(int compute_capability) {
  Capabilities result;
  std::size_t const kilobytes = shared_kilobytes(compute_capability);
  result.shared_bytes_of_processor = kilobytes << 10;
  result.shared_bytes = (compute_capability < 80 ? kilobytes : kilobytes - 1) << 10;
  result.async_copies = compute_capability >= 80;
  result.clusters = result.bulk_copies = result.float64_products = compute_capability >= 90;
  result.wgmma = compute_capability == 90;
  return result;
}

std::string missing(Capabilities const& has, Capabilities const& needs) {
  std::vector<std::string> words;
  if (needs.shared_bytes > has.shared_bytes)
    words.push_back(fmt::format("{} of shared memory for a block, of which it has {}",
                                format_bytes(static_cast<double>(needs.shared_bytes)),
                                format_bytes(static_cast<double>(has.shared_bytes))));
  if (needs.async_copies && !has.async_copies)
    words.push_back("asynchronous copies (compute capability 8.0)");
  if (needs.clusters && !has.clusters)
    words.push_back("clusters of blocks (compute capability 9.0)");
  if (needs.bulk_copies && !has.bulk_copies)
    words.push_back("bulk copies (compute capability 9.0)");
  if (needs.float64_products && !has.float64_products)
    words.push_back("float64 products of 16 x 8 x 8 (compute capability 9.0)");
  if (needs.wgmma && !has.wgmma) words.push_back("wgmma (compute capability 9.0 alone)");
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace gridstride
