#include "kernels/support/remembered_library.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>

#include "kernels/support/runtime_cache.hpp"

namespace gridstride {

namespace {

std::string key_of(std::string const& soname) {
  char const* const folders = std::getenv("LD_LIBRARY_PATH");
  Digest digest;
  digest.add(soname);
  digest.add(folders == nullptr ? "" : folders);
  return digest.text();
}

/// Which file it is and how it is at present; empty where it cannot be seen.
std::string looks_of(std::filesystem::path const& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return {};
  return fmt::format("{} {} {} {}.{}\n{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, file.string());
}

}  // namespace

void remember_library(RuntimeCache const& cache, std::string const& soname,
                      std::filesystem::path const& file) {
  std::string const looks = looks_of(file);
  if (!looks.empty()) cache.store(key_of(soname), looks);
}

bool is_remembered(RuntimeCache const& cache, std::string const& soname) {
  auto const known = cache.find(key_of(soname));
  return known && *known == looks_of(known->substr(known->find('\n') + 1));
}

}  // namespace gridstride
