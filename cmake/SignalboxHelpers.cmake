# SPDX-License-Identifier: Apache-2.0
# Functions for the CMakeLists.txt of each folder. None of them knows a folder by name.

# signalbox_glob(<variable> <pattern>...): files below the current folder, found anew whenever one comes or goes.
function(signalbox_glob variable)
    list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE patterns)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
    set(${variable} "${files}" PARENT_SCOPE)
endfunction()

# signalbox_inner_path(<variable> <file>): its path below the current folder. Decide by this: what is above says nothing, a clone
# may lie below any path.
function(signalbox_inner_path variable file)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    set(${variable} "${file}" PARENT_SCOPE)
endfunction()

# signalbox_filter(<variable> INCLUDE|EXCLUDE <regular expression>): of a list of files, by their inner path.
function(signalbox_filter variable mode pattern)
    set(kept "")
    foreach(file IN LISTS ${variable})
        signalbox_inner_path(inner "${file}")
        set(matches EXCLUDE)
        if(inner MATCHES "${pattern}")
            set(matches INCLUDE)
        endif()
        if(mode STREQUAL matches)
            list(APPEND kept "${file}")
        endif()
    endforeach()
    set(${variable} "${kept}" PARENT_SCOPE)
endfunction()

# signalbox_group_units(<target> <folder>): where CMAKE_UNITY_BUILD is on, the units of each folder in this one, with the
# folders below it, are compiled as one. So no two of them may define the same name, not even in anonymous namespaces. Call it
# where the target is made.
function(signalbox_group_units target root)
    if(NOT CMAKE_UNITY_BUILD)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE path)
        cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${root}")
        # A file in the folder itself is compiled alone.
        if(path MATCHES "^([^/]+)/" AND NOT CMAKE_MATCH_1 STREQUAL "..")
            set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${CMAKE_MATCH_1}")
        endif()
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# signalbox_precompile(<target> <header>... [OURS <header>...]), or (<target> REUSE <target with the same flags>): where
# SIGNALBOX_PRECOMPILE is on. Outside headers only: what a unit includes of ours stays visible, and a change of ours rebuilds
# what it concerns. Each unit includes what it uses all the same. Where SIGNALBOX_PRECOMPILE is ALL, those after OURS too: in a
# build that is made once, and not by those who edit.
function(signalbox_precompile target)
    if(NOT SIGNALBOX_PRECOMPILE OR CMAKE_UNITY_BUILD)
        return()
    endif()
    if(ARGV1 STREQUAL REUSE)
        target_precompile_headers(${target} REUSE_FROM ${ARGV2})
    else()
        cmake_parse_arguments(PARSE_ARGV 1 arg "" "" OURS)
        set(headers ${arg_UNPARSED_ARGUMENTS})
        if(SIGNALBOX_PRECOMPILE STREQUAL ALL)
            list(APPEND headers ${arg_OURS})
        endif()
        list(TRANSFORM headers REPLACE "(.+)" "<\\1>")
        target_precompile_headers(${target} PRIVATE ${headers})
    endif()
    # -fpch-preprocess is for ccache, which asks the preprocessor. With a precompiled header GCC forgets which headers are
    # the system's, and gives the false alarms on what it inlines from them; the preset release has these warnings.
    target_compile_options(${target} PRIVATE
        $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()

# signalbox_test_flags(<target>): for units of tests that compute little. Call it before signalbox_precompile.
function(signalbox_test_flags target)
    separate_arguments(flags UNIX_COMMAND "${SIGNALBOX_TEST_FLAGS}")
    target_compile_options(${target} PRIVATE ${flags})
endfunction()

# signalbox_only_for_programs(<static library>): compiled as programs are, with -fPIE where libraries have -fPIC. It can then
# share precompiled headers with them.
function(signalbox_only_for_programs target)
    if(CMAKE_POSITION_INDEPENDENT_CODE)
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        target_compile_options(${target} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
    endif()
endfunction()

# signalbox_add_library(<name> [SOURCES <folder>] [ROOT <folder>]): the static library signalbox_<name>, alias
# signalbox::<name>, from the units in the folder SOURCES, by default src, and the public headers in include/. ROOT, by default
# SOURCES, is the include folder for its own units only.
function(signalbox_add_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCES;ROOT" "")
    if(NOT arg_SOURCES)
        set(arg_SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/src")
    endif()
    if(NOT arg_ROOT)
        set(arg_ROOT "${arg_SOURCES}")
    endif()
    set(target signalbox_${name})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${arg_SOURCES}/*.cpp")
    signalbox_glob(headers include/*.hpp)
    if(NOT sources)
        # An archive without any object cannot be made.
        set(sources "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp")
        file(CONFIGURE OUTPUT "${sources}" CONTENT "// No sources yet.\n")
    endif()
    add_library(${target} STATIC ${sources})
    add_library(signalbox::${name} ALIAS ${target})
    target_sources(${target} PUBLIC
        FILE_SET HEADERS BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}/include" FILES ${headers})
    target_include_directories(${target} PRIVATE "${arg_ROOT}")
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:signalbox_warnings>)
    set_target_properties(${target} PROPERTIES
        EXPORT_NAME ${name}
        VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
    signalbox_group_units(${target} "${arg_SOURCES}")
endfunction()

# signalbox_embed_texts(<target> [NAME <name>] HEADER <header> FUNCTION <name> FILES <file>...): files of the repository as texts in the
# program. The header, below this folder, declares the function, `std::span<const embedded_text> name()`; its definition is made anew
# whenever one of the files changes.
function(signalbox_embed_texts target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;HEADER;FUNCTION" "FILES")
    if(NOT arg_NAME)
        set(arg_NAME ${target})
    endif()
    set(script "${signalbox_SOURCE_DIR}/cmake/SignalboxEmbed.cmake")
    set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded_${arg_NAME}.cpp")
    list(TRANSFORM arg_FILES PREPEND "${signalbox_SOURCE_DIR}/" OUTPUT_VARIABLE paths)
    list(JOIN arg_FILES "|" files)
    add_custom_command(OUTPUT "${output}"
        COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DHEADER=${arg_HEADER}" "-DFUNCTION=${arg_FUNCTION}"
            "-DSOURCE_DIR=${signalbox_SOURCE_DIR}" "-DFILES=${files}" -P "${script}"
        DEPENDS "${script}" ${paths}
        COMMENT "Embedding the texts of ${arg_NAME}"
        VERBATIM)
    # A library of its own: the command would hold all units of the target until the libraries that it links are built.
    add_library(${arg_NAME}_texts STATIC "${output}")
    target_compile_features(${arg_NAME}_texts PRIVATE cxx_std_20)
    target_include_directories(${arg_NAME}_texts PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(${arg_NAME}_texts PRIVATE signalbox_warnings)
    # Longer than every compiler of C++ must take; those that there are take it.
    set_source_files_properties("${output}" PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
    target_link_libraries(${target} PRIVATE ${arg_NAME}_texts)
endfunction()

# signalbox_run(<test> <seconds> [CONFIGURATIONS <name>] COMMAND ...): the CTest entry of a suite, by run_suite.py, which bounds
# what it uses of the processors, by default 900 s; a bound on the clock would end suites on a busy machine. Exit code 77 means
# skipped (see tests/README.md).
function(signalbox_run test seconds)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "CONFIGURATIONS" "COMMAND")
    if(NOT seconds)
        set(seconds 900)
    endif()
    if(SIGNALBOX_TEST_SUFFIX)
        math(EXPR seconds "3 * ${seconds}") # sanitizers are slow
    endif()
    add_test(NAME ${test} CONFIGURATIONS ${arg_CONFIGURATIONS}
        COMMAND "${Python3_EXECUTABLE}" -B "${signalbox_SOURCE_DIR}/tests/support/run_suite.py" --cpu ${seconds}
            "--locales=${SIGNALBOX_TEST_LOCALES}" ${test} ${arg_COMMAND}
        WORKING_DIRECTORY "${signalbox_SOURCE_DIR}")
    set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 20000)
endfunction()

# signalbox_add_test(<name> SOURCES ... [LIBS ...] [LABELS ...] [CPU seconds] [INCLUDES ...] [PRECOMPILE ...]
#                    [GROUPED folder...] [COMPUTES] [THREADS])
# COMPUTES: it does not get signalbox_test_flags.
# THREADS: it runs more than one thread; where SIGNALBOX_TEST_THREADS is on, no other suite is built or run.
# GROUPED: the units of each of these folders are compiled as one where SIGNALBOX_GROUP_TESTS is on, and share their names.
# PRECOMPILE takes the arguments of signalbox_precompile; by default the target has the headers of signalbox_test_support.
# One Catch2 executable and one CTest entry of the same name, plus SIGNALBOX_TEST_SUFFIX in the builds that run the
# compiled tests a second time (sanitizers, other compiler). The order of test cases is shuffled; a test case without an
# assertion, or an executable without test cases, fails.
function(signalbox_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "COMPUTES;THREADS" "CPU" "SOURCES;LIBS;LABELS;INCLUDES;PRECOMPILE;GROUPED")
    if(NOT arg_PRECOMPILE)
        set(arg_PRECOMPILE REUSE signalbox_test_support)
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_compile_features(${name} PRIVATE cxx_std_20)
    target_include_directories(${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" ${arg_INCLUDES})
    target_link_libraries(${name} PRIVATE
        ${arg_LIBS} signalbox_test_support signalbox_catch_main signalbox_warnings)
    if(NOT arg_COMPUTES)
        signalbox_test_flags(${name})
    endif()
    signalbox_precompile(${name} ${arg_PRECOMPILE})
    if(SIGNALBOX_GROUP_TESTS)
        foreach(folder IN LISTS arg_GROUPED)
            set(units ${arg_SOURCES})
            signalbox_filter(units INCLUDE "^${folder}/")
            set_source_files_properties(${units} PROPERTIES UNITY_GROUP "${folder}")
        endforeach()
        set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    endif()
    if(SIGNALBOX_TEST_THREADS AND NOT arg_THREADS)
        return()
    endif()
    add_dependencies(signalbox_compiled_tests ${name})
    set(test ${name}${SIGNALBOX_TEST_SUFFIX})
    signalbox_run(${test} "${arg_CPU}" COMMAND $<TARGET_FILE:${name}> --order rand --warn NoAssertions)
    set_tests_properties(${test} PROPERTIES
        FAIL_REGULAR_EXPRESSION "No tests ran" # Catch2 2 takes only one --warn
        LABELS "${arg_LABELS}")
endfunction()

# signalbox_add_script_test(<name> COMMAND ... [LABELS ...] [CPU seconds] [PROPERTIES ...] [ONLY configuration])
# One CTest entry that runs a program or script; only in builds without SIGNALBOX_TEST_SUFFIX, as it would see nothing
# new in the others.
# ONLY full: it takes long or fetches much; `tests/run.sh --full` and `ctest -C full` run it, and it has that label. So with
# ONLY mutants.
function(signalbox_add_script_test name)
    if(SIGNALBOX_TEST_SUFFIX)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CPU;ONLY" "COMMAND;LABELS;PROPERTIES")
    if(arg_ONLY)
        list(APPEND arg_LABELS ${arg_ONLY})
    endif()
    signalbox_run(${name} "${arg_CPU}" CONFIGURATIONS ${arg_ONLY} COMMAND ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" ${arg_PROPERTIES})
endfunction()
