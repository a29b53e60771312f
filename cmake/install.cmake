# What `cmake --install` puts where (docs/library.md): the program, and for other projects the
# libraries of the kernels with the headers of all that they stand on.
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gridstride)

set_target_properties(gridstride PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS gridstride RUNTIME)
if(TARGET gridstride_mpi)
  install(TARGETS gridstride_mpi LIBRARY DESTINATION ${modules_folder})
endif()
install(TARGETS ${library_rooms} EXPORT gridstride ARCHIVE)
foreach(folder src/core src/equations src/expression src/grid kernels)
  install(DIRECTORY ${folder} DESTINATION ${headers_folder}
          FILES_MATCHING PATTERN *.hpp PATTERN *.cuh)
endforeach()

install(EXPORT gridstride NAMESPACE gridstride:: FILE gridstrideTargets.cmake
        DESTINATION ${config_folder})
configure_package_config_file(cmake/gridstrideConfig.cmake.in gridstrideConfig.cmake
                              INSTALL_DESTINATION ${config_folder})
# Before version 1.0.0 any minor version may change what users call.
write_basic_package_version_file(gridstrideConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gridstrideConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/gridstrideConfigVersion.cmake
        DESTINATION ${config_folder})
