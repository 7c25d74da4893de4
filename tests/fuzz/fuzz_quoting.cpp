// SPDX-License-Identifier: Apache-2.0
//
// Words of the user through shells and other readers (BEHAVIOUR.md 3.8): whatever they are, they
// arrive as they were. The readers are modelled here, apart from the code that quotes.
#include "fuzz.hpp"
#include "launch/quoting.hpp"

#include <optional>
#include <string>
#include <vector>

using namespace signalbox::core::launch;
using signalbox::fuzz::require;

namespace {

using words = std::vector<std::string>;

/// The words of one line of POSIX shell without expansions. Nothing if the line has one, has an
/// operator, or does not end where a word may end.
class shell_reader {
public:
    explicit shell_reader(std::string_view line) : line_(line) {}

    std::optional<words> read() {
        while (at_ < line_.size()) {
            const char c = line_[at_++];
            const bool done = c == '\''   ? read_single()
                              : c == '"'  ? read_double()
                              : c == '\\' ? read_escaped()
                                          : read_plain(c);
            if (!done) {
                return std::nullopt;
            }
        }
        end_word();
        return words_;
    }

private:
    void end_word() {
        if (in_word_) {
            words_.push_back(std::move(word_));
        }
        word_.clear();
        in_word_ = false;
    }
    void add(char c) {
        word_ += c;
        in_word_ = true;
    }
    bool read_single() {
        const std::size_t end = line_.find('\'', at_);
        if (end == line_.npos) {
            return false;
        }
        word_ += line_.substr(at_, end - at_);
        in_word_ = true;
        at_ = end + 1;
        return true;
    }
    bool read_double() {
        in_word_ = true;
        while (at_ < line_.size() && line_[at_] != '"') {
            char c = line_[at_++];
            if (c == '$' || c == '`') {
                return false;
            }
            if (c == '\\' && at_ < line_.size()) {
                const char next = line_[at_];
                if (next == '\n') {
                    ++at_;
                    continue;  // a line that goes on
                }
                if (next == '$' || next == '`' || next == '"' || next == '\\') {
                    c = next;
                    ++at_;
                }
            }
            word_ += c;
        }
        return at_++ < line_.size();
    }
    bool read_escaped() {
        if (at_ == line_.size() || line_[at_] == '\n') {
            return false;
        }
        add(line_[at_++]);
        return true;
    }
    bool read_plain(char c) {
        if (c == ' ' || c == '\t') {
            end_word();
            return true;
        }
        const bool starts_something =
            std::string_view("$`|&;<>()*?[\n").find(c) != line_.npos ||
            (!in_word_ && std::string_view("#~{}!").find(c) != line_.npos);
        if (starts_something) {
            return false;
        }
        add(c);
        return true;
    }

    std::string_view line_;
    std::size_t at_ = 0;
    std::string word_;
    bool in_word_ = false;
    words words_;
};

bool reads_as(std::string_view line, const words& expected) {
    return shell_reader(line).read() == expected;
}

/// What the DeepSpeed runner makes of an argument (LAUNCH.md 2.5).
std::string through_runner(const std::string& text, pdsh_place place) {
    if (place == pdsh_place::script || text.find(' ') == text.npos) {
        return text;
    }
    std::string out = "\"";
    for (const char c : text) {
        out += c == '"' ? "\\\"" : std::string(1, c);
    }
    return out + '"';
}

/// pdsh puts host, number and user for %h, %n, %u, and one % for two.
std::string through_pdsh(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char c = text[++i];
        out += c == '%' ? "%" : c == 'h' || c == 'n' || c == 'u' ? "<host>" : std::string{'%', c};
    }
    return out;
}

/// The kubelet: `$$` is `$`, `$(NAME)` a variable.
std::optional<std::string> through_kubelet(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '$') {
            ++i;
        } else if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '(') {
            return std::nullopt;
        }
        out += text[i];
    }
    return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    words input(1);
    for (const char c : signalbox::fuzz::text_of(data, size)) {
        if (c == '\0') {
            input.emplace_back();  // no word of a command line holds a NUL
        } else {
            input.back() += c;
        }
    }
    words line{"set", "--"};
    for (const std::string& word : input) {
        require(reads_as(shell_word(word), {word}), "shell_word arrives as it was");
        for (const pdsh_place place : {pdsh_place::script, pdsh_place::argument}) {
            const std::string remote = through_pdsh(through_runner(pdsh_word(word, place), place));
            require(reads_as(remote, {word}), "pdsh_word arrives as it was");
        }
        require(through_kubelet(container_word(word)) == word, "container_word stays as it was");
        line.push_back(word);
    }
    std::string set = shell_set(input);
    require(!set.empty() && set.back() == '\n', "shell_set is one line");
    set.pop_back();
    require(reads_as(set, line), "shell_set gives exactly these words");
    return 0;
}
