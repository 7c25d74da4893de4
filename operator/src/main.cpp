// SPDX-License-Identifier: Apache-2.0
//
// Exceptions end here: they mean that memory or something as basic is missing.
#include "cli/cli.hpp"
#include "cli/tree/registry.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
    signalbox::op::cli::begin_as_started();
    try {
        return signalbox::op::cli::run(argc, argv, std::cout, std::cerr);
    } catch (const std::exception& broken) {
        std::cerr << "signalbox: " << broken.what() << '\n';
        return 1;
    }
}
