// SPDX-License-Identifier: Apache-2.0
//
// Quoting is judged by the shells themselves: what arrives is compared byte for byte.
#include "launch/quoting.hpp"

#include "launch/shell.hpp"

using namespace signalbox::test;
using namespace signalbox::core::launch;

namespace {

/// What `line`, run by each shell of this machine with `$rec` as the recorder, leaves in the log.
void check_arrives(const std::string& line, const std::string& expected) {
    const auto names = shells();
    REQUIRE_FALSE(names.empty());
    for (const auto& shell : names) {
        CAPTURE(shell, line);
        const temporary_folder folder;
        folder.write("rec", recorder, true);
        folder.write("line", line);
        const auto result =
            run("ARGV_LOG=" + folder.path("log") + " rec=" + folder.path("rec") + " " + shell +
                " " + folder.path("line"));
        CAPTURE(result.output);
        CHECK(result.code == 0);
        CHECK(folder.read("log") == expected);
    }
}

/// `deepspeed`'s own treatment of the words that follow the script (LAUNCH.md 2.5), and pdsh's.
std::string through_runner(const std::vector<std::string>& words) {
    std::string line = "\"$rec\"";
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string word = words[i];
        if (i > 0 && word.find(' ') != std::string::npos) {
            std::string quoted = "\"";
            for (const char c : word) {
                quoted += c == '"' ? "\\\"" : std::string(1, c);
            }
            word = quoted + '"';
        }
        line += ' ' + word;
    }
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '%' && i + 1 < line.size()) {
            const char c = line[++i];
            out += c == '%'               ? "%"
                   : c == 'n'             ? "0"
                   : c == 'h' || c == 'u' ? "host"
                                          : std::string{'%', c};
        } else {
            out += line[i];
        }
    }
    return out;
}

}  // namespace

TEST_CASE("[behaviour 3.8] set -- gives exactly the words", "[launch]") {
    check_arrives(shell_set(awkward_words()) + "\"$rec\" \"$@\"\n", recorded(awkward_words()));
    CHECK(shell_set({"deepspeed", "--a=b,c", "x y"}) == "set -- deepspeed --a=b,c 'x y'\n");
}

TEST_CASE("[launchers 2.5] arguments over pdsh arrive at the ranks as they were", "[launch]") {
    auto words = awkward_words();
    words.insert(words.begin(), "train.py");
    std::vector<std::string> encoded;
    for (std::size_t i = 0; i < words.size(); ++i) {
        encoded.push_back(pdsh_word(words[i], i == 0 ? pdsh_place::script : pdsh_place::argument));
    }
    check_arrives(through_runner(encoded), recorded(words));
}

TEST_CASE("[launchers 2.5] every word may be the script too", "[launch]") {
    for (const auto& word : awkward_words()) {
        check_arrives(through_runner({pdsh_word(word, pdsh_place::script)}), recorded({word}));
    }
}

TEST_CASE("[launchers 2.5] plain words stay readable", "[launch]") {
    CHECK(pdsh_word("--lr=0.1", pdsh_place::argument) == "--lr=0.1");
    CHECK(pdsh_word("dir/train.py", pdsh_place::script) == "dir/train.py");
    CHECK(pdsh_word("50%", pdsh_place::argument) == "50%%");
    CHECK(container_word("$(A) $$ x") == "$$(A) $$$$ x");
}
