# SPDX-License-Identifier: Apache-2.0
# Script: cmake -DOUTPUT=file -DHEADER=path -DFUNCTION=name -DSOURCE_DIR=dir -DFILES=a|b -P SignalboxEmbed.cmake
# Writes the definition of FUNCTION, which gives the texts of FILES (relative to SOURCE_DIR) as HEADER declares it.
string(REPLACE "|" ";" files "${FILES}")
set(rows "")
list(LENGTH files count)
foreach(file IN LISTS files)
    file(READ "${SOURCE_DIR}/${file}" text)
    string(FIND "${text}" ")embedded\"" delimiter)
    if(NOT delimiter EQUAL -1)
        message(FATAL_ERROR "${file}: contains the end of a raw string literal")
    endif()
    string(APPEND rows "    embedded_text{\"${file}\", R\"embedded(${text})embedded\"},\n")
endforeach()
string(REGEX REPLACE "::[^:]*$" "" namespace "${FUNCTION}")
string(REGEX REPLACE "^.*::" "" name "${FUNCTION}")
file(WRITE "${OUTPUT}" "// Made by SignalboxEmbed.cmake.
#include \"${HEADER}\"

#include <array>

namespace ${namespace} {
namespace {

constexpr std::array<embedded_text, ${count}> texts{{
${rows}}};

}  // namespace

std::span<const embedded_text> ${name}() {
    return texts;
}

}  // namespace ${namespace}
")
