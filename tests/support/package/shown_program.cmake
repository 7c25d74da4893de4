# SPDX-License-Identifier: Apache-2.0
# write_shown_program(<README> <file>): the first program in C++ that the README shows.
function(write_shown_program readme file)
    file(READ "${readme}" text)
    string(FIND "${text}" "```cpp\n" begin)
    if(begin EQUAL -1)
        message(FATAL_ERROR "${readme} shows no program")
    endif()
    math(EXPR begin "${begin} + 7")
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(FIND "${text}" "```\n" end)
    string(SUBSTRING "${text}" 0 ${end} program)
    file(WRITE "${file}" "${program}")
endfunction()
