// SPDX-License-Identifier: Apache-2.0
#include "cli/log_lines.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <array>

namespace signalbox::op::cli {

namespace {

constexpr std::size_t most_waiting = 256 * 1024;
constexpr std::array source_colours{
    colour::cyan, colour::green, colour::yellow, colour::magenta, colour::blue};

std::string_view timestamp(std::string_view line) {
    return line.substr(0, line.size() - without_timestamp(line).size());
}

/// Times in nanoseconds without trailing zeros: `...00.5Z` is after `...00.25Z`, and before
/// `...00.50Z` only as a text; as texts without the `Z` they are in order.
bool is_before(std::string_view x, std::string_view y) {
    const auto digits = [](std::string_view line) {
        const std::string_view t = timestamp(line);
        return t.substr(0, t.find('Z'));
    };
    return digits(x) < digits(y);
}

}  // namespace

void log_merge::open(std::size_t source) {
    sources_.try_emplace(source);
}

void log_merge::feed(std::size_t source, std::string_view bytes) {
    sources_[source].waiting += bytes;
    print();
}

void log_merge::close(std::size_t source) {
    state& of = sources_[source];
    of.open = false;
    if (!of.waiting.empty() && of.waiting.back() != '\n') {
        of.waiting += '\n';
    }
    print();
}

bool log_merge::is_full(std::size_t source) const {
    const auto found = sources_.find(source);
    return found != sources_.end() && found->second.waiting.size() > most_waiting &&
           first_line(found->second);
}

std::optional<std::string_view> log_merge::first_line(const state& of) {
    const std::size_t end = of.waiting.find('\n');
    return end == std::string::npos ? std::nullopt
                                    : std::optional(std::string_view(of.waiting).substr(0, end));
}

void log_merge::print() {
    for (;;) {
        const std::pair<const std::size_t, state>* earliest = nullptr;
        for (const auto& source : sources_) {
            const auto line = first_line(source.second);
            if (!line && source.second.open && !live_) {
                return;
            }
            const bool first =
                line && (earliest == nullptr || is_before(*line, *first_line(earliest->second)));
            earliest = first ? &source : earliest;
        }
        if (earliest == nullptr) {
            break;
        }
        const std::size_t number = earliest->first;
        const std::string_view line = *first_line(earliest->second);
        print_(number, line);
        sources_[number].waiting.erase(0, line.size() + 1);
    }
    std::erase_if(sources_, [](const auto& source) { return !source.second.open; });
}

std::string_view without_timestamp(std::string_view line) {
    const std::size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    constexpr std::size_t shortest = std::string_view("2026-01-31T03:00:00Z").size();
    const bool is_time = word.size() >= shortest && word[4] == '-' && word[10] == 'T';
    return !is_time                          ? line
           : space == std::string_view::npos ? std::string_view()
                                             : line.substr(space + 1);
}

std::string_view last_drawn(std::string_view line) {
    const std::size_t end = line.find_last_not_of('\r');
    const std::string_view whole = line.substr(0, end == std::string_view::npos ? 0 : end + 1);
    const std::size_t begin = whole.rfind('\r');
    return begin == std::string_view::npos ? whole : whole.substr(begin + 1);
}

bool is_sshd(std::string_view pod_json) {
    rapidjson::Document pod;
    pod.Parse<rapidjson::kParseIterativeFlag>(pod_json.data(), pod_json.size());
    const rapidjson::Value* containers =
        pod.HasParseError() ? nullptr : rapidjson::Pointer("/spec/containers").Get(pod);
    if (containers == nullptr || !containers->IsArray()) {
        return false;
    }
    return std::ranges::any_of(containers->GetArray(), [](const rapidjson::Value& container) {
        const rapidjson::Value* command = rapidjson::Pointer("/command").Get(container);
        if (command == nullptr || !command->IsArray() || command->Size() < 2) {
            return false;
        }
        const rapidjson::Value& script = (*command)[command->Size() - 2];
        const rapidjson::Value& role = (*command)[command->Size() - 1];
        return role == "worker" && script.IsString() &&
               std::string_view(script.GetString()).ends_with("/bootstrap.sh");
    });
}

bool is_probe_noise(std::string_view line) {
    line = line.substr(0, line.find_last_not_of(" \r") + 1);
    // The probe has gone before sshd reads, or before it has even answered.
    constexpr std::array whole_lines{
        std::string_view("kex_exchange_identification: Connection closed by remote host"),
        std::string_view("kex_exchange_identification: read: Connection reset by peer")};
    constexpr std::array beginnings{
        std::string_view("Connection closed by "), std::string_view("Connection reset by ")};
    if (std::ranges::find(whole_lines, line) != whole_lines.end()) {
        return true;
    }
    const std::size_t port = line.find(" port ");
    return port != std::string_view::npos &&
           line.find_first_not_of("0123456789", port + 6) == std::string_view::npos &&
           std::ranges::any_of(beginnings, [&](std::string_view beginning) {
               // With a user between them it is not a probe's.
               return line.starts_with(beginning) && line.find(' ', beginning.size()) == port;
           });
}

const std::string& training_container(const core::pod_record& pod) {
    const auto found = std::ranges::find(pod.containers, true, &core::container_record::training);
    return (found == pod.containers.end() ? pod.containers.front() : *found).name;
}

std::string replica_name(const core::pod_record& pod) {
    return fmt::format("{}-{}", pod.type, pod.index);
}

colour colour_of_source(std::size_t number) {
    return source_colours.at(number % source_colours.size());
}

}  // namespace signalbox::op::cli
