# SPDX-License-Identifier: Apache-2.0
# What only the top-level project decides: not for those who add Signalbox to a build of their own.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Position-independent programs too: part of hardening.
include(CheckPIESupported)
check_pie_supported()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Nothing of the machine that builds gets into the files: the same sources give the same bytes in any folder.
add_compile_options(
    "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build"
    "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")

find_program(SIGNALBOX_CCACHE ccache)
mark_as_advanced(SIGNALBOX_CCACHE)
if(SIGNALBOX_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # What a unit includes is known from its compilation: without this ccache preprocesses each unit that it has not yet.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 "${SIGNALBOX_CCACHE}")
    if(SIGNALBOX_PRECOMPILE)
        # ccache takes no part in units with a precompiled header unless told that macros in front of it and __TIME__ do
        # not matter: CMake puts it first, and nothing here asks for the time.
        list(INSERT CMAKE_CXX_COMPILER_LAUNCHER 1 CCACHE_SLOPPINESS=pch_defines,time_macros)
    endif()
endif()
