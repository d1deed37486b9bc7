# cmake/Install.cmake — what `cmake --install` puts in place: the library, its headers, its documentation, its CMake package.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tlxjit)
install(TARGETS tlxjit EXPORT tlxjitTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tlxjit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT tlxjitTargets NAMESPACE tlxjit:: DESTINATION ${package_dir})
configure_package_config_file(cmake/tlxjitConfig.cmake.in ${PROJECT_BINARY_DIR}/tlxjitConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tlxjitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tlxjitConfig.cmake ${PROJECT_BINARY_DIR}/tlxjitConfigVersion.cmake
        DESTINATION ${package_dir})
