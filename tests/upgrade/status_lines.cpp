// SPDX-License-Identifier: Apache-2.0
//
// Reads jobs, one in each line, and prints the status of each as it was understood: parsed, and
// written again.
#include "jobcore/decide.hpp"

#include <cstdlib>
#include <iostream>
#include <string>

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        const auto job = signalbox::core::read_job(line);
        if (!job) {
            std::cerr << job.error() << '\n';
            return EXIT_FAILURE;
        }
        std::cout << signalbox::core::format_status(job->status, job->meta.kind) << '\n';
    }
}
