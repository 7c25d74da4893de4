// SPDX-License-Identifier: Apache-2.0
//
// Answers requests of the text API: one line in, one line out.
#include "jobcore/text.hpp"

#include <iostream>
#include <string>

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::cout << signalbox::core::text::call(line) << '\n' << std::flush;
    }
}
