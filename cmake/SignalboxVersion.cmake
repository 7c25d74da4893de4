# SPDX-License-Identifier: Apache-2.0
# Script: cmake -DOUTPUT=file -DTEMPLATE=file -DVERSION=v -DSOURCE_DIR=dir [-DCOMMIT=hash] -P SignalboxVersion.cmake
# Runs with every build, so that the commit is right without configuring anew, and touches the file only if it changes.
if(NOT COMMIT AND EXISTS "${SOURCE_DIR}/.git")
    execute_process(
        COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD
        OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        set(COMMIT "")
    endif()
endif()
if(NOT COMMIT)
    set(COMMIT "unknown")
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
