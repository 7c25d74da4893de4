# SPDX-License-Identifier: Apache-2.0
# Script: configures, builds and runs a consumer project in a fresh folder.
# -DPROJECT=dir -DWORK=dir -DCOMPILER=c++ -DLAUNCHER=[ccache] -DGENERATOR=name, and one of
#   -DINSTALL_FROM=build-folder -DCOMPONENT=name[,name]   installs these components into a prefix of its own and finds it there
#   -DSUBDIRECTORY=source-folder                   adds the folder to the consumer's build
# Optional: -DPROGRAM=name of the program, if it is not `consumer`; -DPYTHON=python3 -DSCRIPT=file -DARGUMENT=text, where a
# script runs it: `SCRIPT program ARGUMENT`.
cmake_minimum_required(VERSION 3.25)

if(NOT PROGRAM)
    set(PROGRAM consumer)
endif()

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "failed: ${ARGN}")
    endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
# Unoptimised: it is about finding and linking, not about speed.
set(arguments
    -G "${GENERATOR}" -S "${PROJECT}" -B "${WORK}/build"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0")
# By the environment: a launcher with arguments would be several of this list.
set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${LAUNCHER}")
if(INSTALL_FROM)
    string(REPLACE "," ";" components "${COMPONENT}")
    foreach(component IN LISTS components)
        run("${CMAKE_COMMAND}" --install "${INSTALL_FROM}" --prefix "${WORK}/prefix" --component "${component}")
    endforeach()
    # As a package is: not at the place where it was installed first.
    file(RENAME "${WORK}/prefix" "${WORK}/moved")
    list(APPEND arguments "-DCMAKE_PREFIX_PATH=${WORK}/moved")
    # No text of the package may name the folders it was made from.
    file(GLOB_RECURSE texts "${WORK}/moved/*.cmake" "${WORK}/moved/*.pc")
    foreach(file IN LISTS texts)
        file(READ "${file}" text)
        foreach(folder IN ITEMS "${INSTALL_FROM}" "${SOURCE_DIR}")
            string(FIND "${text}" "${folder}/" position)
            if(NOT position EQUAL -1)
                message(FATAL_ERROR "${file} names ${folder}")
            endif()
        endforeach()
    endforeach()
else()
    list(APPEND arguments "-DSIGNALBOX_SUBDIRECTORY=${SUBDIRECTORY}")
endif()
run("${CMAKE_COMMAND}" ${arguments})
run("${CMAKE_COMMAND}" --build "${WORK}/build" --target ${PROGRAM})
if(SCRIPT)
    run("${PYTHON}" -B "${SCRIPT}" "${WORK}/build/${PROGRAM}" "${ARGUMENT}")
else()
    run("${WORK}/build/${PROGRAM}")
endif()
file(REMOVE_RECURSE "${WORK}")
