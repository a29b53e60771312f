# Writes to LISTED, which ctest reads, a test for each suite of a program of GoogleTest. Those that the
# environment names in GRIDSTRIDE_SLOW_TESTS, in the words of a filter, are left out when ctest runs.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[^ \n]+[.]" suites "\n${output}")
set(script)
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "^\n(.*)[.]$" "\\1" suite "${suite}")
  string(APPEND script
         "add_test([=[${suite}]=] [=[${PROGRAM}]=] \"--gtest_filter=${suite}.*-\$ENV{GRIDSTRIDE_SLOW_TESTS}\")\n"
         "set_tests_properties([=[${suite}]=] PROPERTIES")
  foreach(property IN LISTS PROPERTIES)
    string(APPEND script " [=[${property}]=]")
  endforeach()
  string(APPEND script ")\n")
endforeach()
file(WRITE ${LISTED} "${script}")
