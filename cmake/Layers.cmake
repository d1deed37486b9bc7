# cmake/Layers.cmake — how a layer of the library is declared, and the library made of them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Warnings and include folders shared by every target of this project.
add_library(tlxjit_settings INTERFACE)
target_compile_options(tlxjit_settings INTERFACE -Wall -Wextra $<$<BOOL:${TLXJIT_WERROR}>:-Werror>
  # GCC 12 sees overlaps in std::string concatenation that are not there (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
target_compile_definitions(tlxjit_settings INTERFACE FMT_HEADER_ONLY=1)
target_include_directories(tlxjit_settings INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
if(NOT BUILD_SHARED_LIBS)
  target_compile_definitions(tlxjit_settings INTERFACE TLXJIT_STATIC=1)
endif()

define_property(GLOBAL PROPERTY TLXJIT_LAYERS BRIEF_DOCS "Object libraries that make up tlxjit")

# tlxjit_layer(<name> SOURCES <file>...): one folder of the library, compiled once.
function(tlxjit_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  add_library(tlxjit_${name} OBJECT ${arg_SOURCES})
  target_link_libraries(tlxjit_${name} PRIVATE tlxjit_settings)
  tlxjit_coverage(${name})
  set_property(GLOBAL APPEND PROPERTY TLXJIT_LAYERS tlxjit_${name})
endfunction()

# tlxjit_library(): the library `tlxjit`, made of all layers declared so far, and `tlxjit_internal`:
# the same code as a static library, hidden symbols within reach, for this project's own tests and tools.
function(tlxjit_library)
  get_property(layers GLOBAL PROPERTY TLXJIT_LAYERS)
  add_library(tlxjit)
  add_library(tlxjit::tlxjit ALIAS tlxjit)
  foreach(layer IN LISTS layers)
    target_sources(tlxjit PRIVATE $<TARGET_OBJECTS:${layer}>)
  endforeach()
  set_target_properties(tlxjit PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 LINKER_LANGUAGE CXX)
  target_include_directories(tlxjit PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(tlxjit PUBLIC cxx_std_20)
  target_link_libraries(tlxjit PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
  if(NOT BUILD_SHARED_LIBS)
    target_compile_definitions(tlxjit PUBLIC TLXJIT_STATIC=1)
    add_library(tlxjit_internal INTERFACE)
    target_link_libraries(tlxjit_internal INTERFACE tlxjit tlxjit_settings)
    return()
  endif()
  add_library(tlxjit_internal STATIC)
  foreach(layer IN LISTS layers)
    target_sources(tlxjit_internal PRIVATE $<TARGET_OBJECTS:${layer}>)
  endforeach()
  set_target_properties(tlxjit_internal PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(tlxjit_internal PUBLIC tlxjit_settings ${CMAKE_DL_LIBS} Threads::Threads)
endfunction()
