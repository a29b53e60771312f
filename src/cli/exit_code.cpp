#include "cli/commands.hpp"
#include "core/error.hpp"
#include "driver/run.hpp"

namespace gridstride::cli {

int exit_code_of(std::exception const& error) {
  if (dynamic_cast<ConfigError const*>(&error) != nullptr) return exit_code::bad_input;
  if (dynamic_cast<VerificationError const*>(&error) != nullptr) return exit_code::does_not_hold;
  if (auto const* stop = dynamic_cast<Interrupted const*>(&error))
    return exit_code::signal_base + stop->signal();
  return exit_code::failed;
}

}  // namespace gridstride::cli
