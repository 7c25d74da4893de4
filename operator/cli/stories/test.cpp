// SPDX-License-Identifier: Apache-2.0
//
// `signalbox test`: plays stories, and says what is not as they expect.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/print_line.hpp"
#include "cli/recorded_files.hpp"
#include "cli/stories/operator_cluster.hpp"
#include "cli/stories/player.hpp"
#include "cli/stories/record.hpp"
#include "cli/stories/report.hpp"
#include "cli/stories/story_reader.hpp"
#include "cli/stories/update.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <ostream>

namespace signalbox::op::stories {

namespace {

cluster_maker& the_maker() {
    static cluster_maker maker = nullptr;
    return maker;
}

std::string text_of_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Writes what was found into the file, and says so. False if anything could not be.
bool update_story(const story& of, const played& how, std::ostream& out, std::ostream& err) {
    const std::string& file = of.source->file();
    updated_text changed = with_found(text_of_file(file), file, how.wrong);
    for (const std::string& pointer : changed.left) {
        cli::print_line(
            err,
            "signalbox test: {}: {}: it is not as expected, and stays: no single value on one line",
            manifests::to_text(file, of.source->locate(pointer)),
            pointer
        );
    }
    if (changed.done == 0) {
        return changed.left.empty();
    }
    if (const std::string error = write_file(file, changed.text); !error.empty()) {
        cli::print_line(err, "signalbox test: {}", error);
        return false;
    }
    cli::print_line(
        out, "{}: {} {} written", file, changed.done, changed.done == 1 ? "value" : "values"
    );
    return changed.left.empty();
}

/// On the engine: what it decides is exact.
int update(const read_stories& read, std::ostream& out, std::ostream& err) {
    int code = cli::exit_ok;
    for (const story& each : read.stories) {
        const played how = play(each, *make_engine_cluster(each), true);
        if (how.end == verdict::stopped) {
            cli::print_line(err, "signalbox test: {}: {}", each.source->file(), how.stopped);
            code = cli::exit_failed;
        }
        if (!update_story(each, how, out, err)) {
            code = cli::exit_failed;
        }
    }
    return code;
}

bool write_junit(const std::string& path, const std::vector<told_story>& told, std::ostream& err) {
    std::ofstream file(path);
    file << junit_of(told);
    file.close();
    if (!file) {
        cli::print_line(err, "signalbox test: --junit: cannot write {}", path);
    }
    return file.good();
}

int record(const cli::test_options& options, std::ostream& out, std::ostream& err) {
    const std::vector<std::string> paths{options.record};
    const cli::recorded_files files = cli::read_recorded_files(paths, options.now);
    for (const std::string& error : files.errors) {
        cli::print_line(err, "signalbox test: --record: {}", error);
    }
    if (!files.errors.empty()) {
        return cli::exit_refused;
    }
    for (const cli::recorded_job& job : files.recorded.jobs) {
        out << story_of(job);
    }
    return cli::exit_ok;
}

}  // namespace

cluster_maker operator_cluster_maker() {
    return the_maker();
}

registered_cluster::registered_cluster(cluster_maker maker) {
    the_maker() = maker;
}

}  // namespace signalbox::op::stories

namespace signalbox::op::cli {

int test_stories(const test_options& options, std::ostream& out, std::ostream& err) {
    using namespace stories;
    if (!options.record.empty()) {
        return record(options, out, err);
    }
    const read_stories read = read_story_files(options.files);
    for (const manifests::read_error& error : read.errors) {
        print_line(err, "{}", manifests::to_text(error));
    }
    if (!read.errors.empty()) {
        return exit_refused;
    }
    const cluster_maker make =
        options.whole_operator ? operator_cluster_maker() : &make_engine_cluster;
    if (make == nullptr) {
        print_line(
            err,
            "signalbox test: --operator: this program has no API server of its own; the one for "
            "people has (cmake option SIGNALBOX_DEV)"
        );
        return exit_refused;
    }
    if (options.update) {
        return update(read, out, err);
    }
    std::vector<told_story> told;
    bool all_passed = true;
    for (const story& each : read.stories) {
        played how;
        how.end = verdict::skipped;
        if (!each.engine_only || !options.whole_operator) {
            how = play(each, *make(each), false);
        }
        told.push_back(tell(each, how));
        all_passed = all_passed && is_right(how.end);
    }
    options.tap ? print_tap(told, out) : print_text(told, out);
    if (!options.junit.empty() && !write_junit(options.junit, told, err)) {
        return exit_refused;
    }
    return all_passed ? exit_ok : exit_failed;
}

}  // namespace signalbox::op::cli
