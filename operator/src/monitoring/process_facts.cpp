// SPDX-License-Identifier: Apache-2.0
#include "monitoring/process_facts.hpp"

#include <sys/resource.h>
#include <sys/time.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>

#include <unistd.h>

namespace signalbox::op {

namespace {

double seconds(const timeval& t) {
    constexpr double microseconds = 1e6;
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / microseconds;
}

/// Field 22 of /proc/self/stat is the start in ticks since boot; the name before may have spaces.
double read_start_time() {
    std::ifstream stat("/proc/self/stat");
    std::string line;
    std::getline(stat, line);
    const std::size_t name_end = line.rfind(')');
    std::istringstream fields(name_end == std::string::npos ? "" : line.substr(name_end + 1));
    std::string skipped;
    constexpr int fields_between = 19;
    for (int i = 0; i < fields_between; ++i) {
        fields >> skipped;
    }
    double ticks = 0;
    fields >> ticks;
    std::ifstream system("/proc/stat");
    double boot = 0;
    for (std::string word; system >> word;) {
        if (word == "btime") {
            system >> boot;
            break;
        }
        system.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return boot + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

process_facts read_process_facts() {
    process_facts out;
    rusage used{};
    if (::getrusage(RUSAGE_SELF, &used) == 0) {
        out.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
    }
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    std::ifstream pages("/proc/self/statm");
    double size = 0;
    double resident = 0;
    pages >> size >> resident;
    out.virtual_bytes = size * page;
    out.resident_bytes = resident * page;
    std::error_code failed;
    for (auto file = std::filesystem::directory_iterator("/proc/self/fd", failed);
         !failed && file != std::filesystem::directory_iterator();
         file.increment(failed)) {
        out.open_files += 1;
    }
    rlimit most{};
    if (::getrlimit(RLIMIT_NOFILE, &most) == 0) {
        out.most_files = static_cast<double>(most.rlim_cur);
    }
    static const double start = read_start_time();
    out.start_time = start;
    return out;
}

}  // namespace signalbox::op
