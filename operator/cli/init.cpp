// SPDX-License-Identifier: Apache-2.0
//
// `signalbox init`: a first manifest, which runs as it stands.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/embedded_text.hpp"
#include "cli/print_line.hpp"
#include "cli/text_layout.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::cli {

namespace {

constexpr std::string_view standard_output = "-";
constexpr std::string_view first_kind = "pytorch";

/// `torchrun` of `operator/cli/starters/torchrun.yaml`.
std::string_view starter_name(const embedded_text& starter) {
    std::string_view out = starter.path.substr(starter.path.find_last_of('/') + 1);
    return out.substr(0, out.find('.'));
}

std::vector<std::string_view> starter_names() {
    std::vector<std::string_view> out;
    for (const embedded_text& each : starter_texts()) {
        out.push_back(starter_name(each));
    }
    return out;
}

/// Null if there is none of that name.
const embedded_text* find_starter(std::string_view name) {
    const auto all = starter_texts();
    const auto found = std::ranges::find(all, name, &starter_name);
    return found == all.end() ? nullptr : &*found;
}

/// The text, with the commands in its comments for the file that it is written to.
std::string starter_text(const embedded_text& starter, const std::string& file) {
    const std::string usual = fmt::format("{}.yaml", starter_name(starter));
    const std::string word = shell_word(core::printable(file));
    std::string out(starter.text);
    for (std::size_t at = out.find(usual); file != usual && at != std::string::npos;) {
        out.replace(at, usual.size(), word);
        at = out.find(usual, at + word.size());
    }
    return out;
}

/// What is wrong, or nothing.
std::string write_new_file(const std::string& path, std::string_view text, bool over) {
    const int how = O_WRONLY | O_CREAT | O_CLOEXEC | (over ? O_TRUNC : O_EXCL);
    const int file = ::open(path.c_str(), how, 0666);
    if (file < 0) {
        return errno == EEXIST ? "is there already; --force writes over it" : std::strerror(errno);
    }
    int failed = 0;
    while (!text.empty() && failed == 0) {
        const ssize_t written = ::write(file, text.data(), text.size());
        failed = written < 0 ? errno : 0;
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    failed = ::close(file) != 0 && failed == 0 ? errno : failed;
    return failed == 0 ? "" : std::strerror(failed);
}

/// KIND and FILE as they are meant: `-` alone is a file, and `-o KIND` has no value.
init_options as_meant(init_options said) {
    if (said.file.empty() && said.kind == standard_output) {
        std::swap(said.kind, said.file);
    }
    if (said.kind.empty() && said.file_by_option && find_starter(said.file) != nullptr) {
        said.kind = said.file;
        said.file = standard_output;
    }
    return said;
}

void say_next(const std::string& file, std::ostream& out) {
    const std::string word = shell_word(file);
    fmt::print(
        out,
        "{1} is written. Its comments say what to change. Next:\n"
        "  signalbox validate --strict {0}\n"
        "  signalbox dev --apply {0} --until-finished    (a rehearsal, pods are simulated)\n"
        "  signalbox dev --pods process --logs --apply {0} --until-finished    (trains here)\n"
        "  kubectl apply -f {0}\n",
        word,
        core::printable(file)
    );
}

}  // namespace

int init(const init_options& options, std::ostream& out, std::ostream& err) {
    const init_options said = as_meant(options);
    const std::string kind = said.kind.empty() ? std::string(first_kind) : said.kind;
    const embedded_text* starter = find_starter(kind);
    if (starter == nullptr) {
        print_line(
            err,
            "signalbox init: there is no manifest for `{}`; there are: {}",
            kind,
            fmt::join(starter_names(), ", ")
        );
        return exit_refused;
    }
    if (said.kind.empty()) {
        print_line(
            err,
            "signalbox init: no kind is named: {}; there are: {}",
            kind,
            fmt::join(starter_names(), ", ")
        );
    }
    const std::string usual = kind + ".yaml";
    if (said.file == standard_output) {
        out << starter_text(*starter, usual);
        return exit_ok;
    }
    const std::string file = said.file.empty() ? usual : said.file;
    const std::string wrong = write_new_file(file, starter_text(*starter, file), said.force);
    if (!wrong.empty()) {
        print_line(err, "signalbox init: {}: {}", file, wrong);
        return exit_refused;
    }
    say_next(file, out);
    return exit_ok;
}

}  // namespace signalbox::op::cli
