// SPDX-License-Identifier: Apache-2.0
//
// Programs of this machine for tests of shell text: a folder that goes with the test, and commands
// run to their end.
#pragma once

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::test {

struct outcome {
    int code = -1;  ///< 128 + signal if one ended it
    std::string output;
};

/// Runs a line of shell; standard error goes where standard output goes.
inline outcome run(const std::string& line) {
    outcome result;
    std::FILE* pipe = popen(("( " + line + "\n) 2>&1 </dev/null").c_str(), "r");
    REQUIRE(pipe != nullptr);
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
        result.output.append(buffer, n);
    }
    const int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

/// A folder with a name of its own, removed at the end.
class temporary_folder {
public:
    temporary_folder() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
    ~temporary_folder() { run("rm -rf " + path_); }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    std::string path(std::string_view name = {}) const {
        return name.empty() ? path_ : path_ + '/' + std::string(name);
    }
    /// A file; folders above it must be there.
    void write(std::string_view name, std::string_view text, bool executable = false) const {
        std::ofstream(path(name), std::ios::binary) << text;
        chmod(path(name).c_str(), executable ? 0700 : 0600);
    }
    /// Empty if there is no such file.
    std::string read(std::string_view name) const {
        std::ifstream file(path(name), std::ios::binary);
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }

private:
    std::string path_ = "/tmp/signalbox-XXXXXX";
};

/// The shells of this machine that run POSIX text.
inline std::vector<std::string> shells() {
    std::vector<std::string> found;
    for (const std::string name : {"dash", "bash"}) {
        if (run("command -v " + name).code == 0) {
            found.push_back(name);
        }
    }
    return found;
}

/// A program that appends its arguments to the file `$ARGV_LOG`, each ended by a NUL byte, a record
/// by one more.
inline constexpr std::string_view recorder =
    "#!/bin/sh\n{ for a in \"$@\"; do printf '%s\\0' \"$a\"; done; printf '\\0'; } "
    ">>\"$ARGV_LOG\"\n";

/// Words as the recorder writes them.
inline std::string recorded(const std::vector<std::string>& words) {
    std::string out;
    for (const auto& word : words) {
        out += word;
        out += '\0';
    }
    return out += '\0';
}

/// Arguments that shells, Python and pdsh like to change.
inline std::vector<std::string> awkward_words() {
    return {
        "a b",   "c;d",  "$HOME", "50%n",    "%h",     "100%",   "",          "it's",
        "\"q\"", "`id`", "*",     "#x",      "~",      "a\tb",   "a\nb",      "{\"k\": \"v $x\"}",
        "\\",    "a\\ ", " \\",   "$(id) x", "a\"b c", "%% %n",  "\xc3\xa9!", "a&b|c>d",
        "--x=y", "!!",   "{a,b}", "\\n",     "'a' b",  "x y\nz", "=",         "$"};
}

}  // namespace signalbox::test
