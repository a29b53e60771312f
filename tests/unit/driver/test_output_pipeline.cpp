#include "support/output_cases.hpp"

namespace gridstride {
namespace {

TEST(OutputPipeline, SameFilesWithAndWithoutRoom) {
  test::expect_same_files_with_and_without_room(Backend::cpu);
}

TEST(OutputPipeline, FilesOfWhatStaysInTheHostsMemory) {
  test::expect_files_of_what_stays(Backend::cpu);
}

TEST(OutputPipeline, NoCheckpointOfWhatIsNotFinite) {
  test::expect_no_checkpoint_of_what_is_not_finite(Backend::cpu);
}

}  // namespace
}  // namespace gridstride
