# Writes a C++ file with the text of some files of this project and of all that they include, for
# `runtime_files()`:
#
#   cmake -D OUTPUT=… -D DEPFILE=… -D SOURCE_DIR=… -D FILES="a.cuh;b.cuh" -P embed.cmake
#
# An include is looked for where the compiler looks: in SOURCE_DIR and in SOURCE_DIR/src. The
# depfile names what was read, so that the build writes the file anew when any of it changes.
cmake_minimum_required(VERSION 3.25)
set(known)
set(waiting ${FILES})
set(table)
set(read)
while(waiting)
  list(POP_FRONT waiting path)
  if(path IN_LIST known)
    continue()
  endif()
  list(APPEND known ${path})
  set(file ${SOURCE_DIR}/${path})
  if(NOT EXISTS ${file})
    set(file ${SOURCE_DIR}/src/${path})
  endif()
  file(READ ${file} text)
  string(APPEND table "    {\"${path}\", R\"embedded(${text})embedded\"},\n")
  string(APPEND read " ${file}")
  string(REGEX MATCHALL "\n#include \"[^\"]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "\n#include \"([^\"]+)\"" "\\1" include "${include}")
    list(APPEND waiting ${include})
  endforeach()
endwhile()
file(WRITE ${OUTPUT} "// Written by embed.cmake.
#include \"kernels/support/runtime_files.hpp\"

namespace gridstride {

std::span<RuntimeFile const> runtime_files() {
  static constexpr RuntimeFile files[] = {
${table}  };
  return files;
}

}  // namespace gridstride
")
file(WRITE ${DEPFILE} "${OUTPUT}:${read}\n")
