# Install rules of the package: tools and plugin, libraries, headers, TableGen files, and what find_package(Heddle) reads.

include(CMakePackageConfigHelpers)
set(HEDDLE_CMAKE_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Heddle)

get_property(heddle_libs GLOBAL PROPERTY HEDDLE_LIBS)
install(TARGETS ${heddle_libs} EXPORT HeddleTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT HeddleTargets NAMESPACE Heddle:: DESTINATION ${HEDDLE_CMAKE_INSTALL_DIR})

# Headers as written, headers that TableGen wrote, and the dialects' definitions for other TableGen files to include.
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "Precompiled*.h" EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)
install(DIRECTORY dialects/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/Dialect FILES_MATCHING PATTERN "*.td")
install(DIRECTORY dialects/Tile/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/Dialect/Tile FILES_MATCHING PATTERN "*.td")

set(HEDDLE_EXPORTED_LIBS ${heddle_libs})
list(TRANSFORM HEDDLE_EXPORTED_LIBS PREPEND Heddle::)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/HeddleConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/HeddleConfig.cmake
  INSTALL_DESTINATION ${HEDDLE_CMAKE_INSTALL_DIR}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/HeddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/HeddleConfig.cmake ${PROJECT_BINARY_DIR}/cmake/HeddleConfigVersion.cmake
  DESTINATION ${HEDDLE_CMAKE_INSTALL_DIR})
