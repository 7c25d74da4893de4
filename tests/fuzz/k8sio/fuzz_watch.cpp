// SPDX-License-Identifier: Apache-2.0
//
// The body of a watch (REQUIREMENTS.md T5, T6, W5-W8): however the network cuts it, the same
// documents come out, and a reflector does the same. What a JSON parser takes for events, one
// behind the other and each without a line end, is read as those.
#include "fuzz.hpp"
#include "pieces.hpp"
#include "plain_json.hpp"
#include "protocol/api_json.hpp"
#include "protocol/reflector_fsm.hpp"
#include "protocol/watch_frames.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace signalbox::k8sio;
using protocol::watch_frames;
using signalbox::fuzz::require;

namespace {

constexpr std::size_t document_limit = 1024;

struct cut_stream {
    std::vector<std::string> documents;
    watch_frames::outcome end = watch_frames::outcome::more;
    bool at_boundary = false;

    friend bool operator==(const cut_stream&, const cut_stream&) = default;
};

cut_stream cut(std::string_view bytes, std::uint64_t way) {
    watch_frames frames(document_limit);
    cut_stream out;
    signalbox::fuzz::in_pieces(bytes, way, [&](std::string_view piece) {
        frames.feed(piece);
        std::string_view document;
        while ((out.end = frames.next(document)) == watch_frames::outcome::document) {
            require(document.size() <= document_limit, "the limit of a document");
            out.documents.emplace_back(document);
        }
        return out.end == watch_frames::outcome::more;
    });
    out.at_boundary = frames.at_boundary();
    if (out.end != watch_frames::outcome::more) {
        out.at_boundary = false;  // no one asks then
    }
    return out;
}

/// Every call, with all that it was given.
class log_sink final : public reflector_sink {
public:
    void rewound() override { note("rewound", {}); }
    void replace_begin() override { note("begin", {}); }
    void replace_item(std::string_view object) override { note("item", object); }
    void replace_end(std::string_view version) override { note("end", version); }
    void replace_abort() override { note("abort", {}); }
    void upsert(std::string_view object) override { note("upsert", object); }
    void remove(std::string_view object) override { note("remove", object); }
    void advance(std::string_view version) override { note("advance", version); }

    std::string log;

private:
    void note(const char* what, std::string_view text) {
        log.append(what).append(" ").append(text).append("\n");
    }
};

/// What a reflector makes of the stream, up to its next action.
std::string reflected(std::string_view bytes, std::uint64_t way) {
    log_sink sink;
    protocol::reflector_fsm fsm(resources::pods(), sink, reflector_options());
    const steady_time now{};
    (void)fsm.next(now);
    list_page page;
    page.resource_version = "100";
    fsm.on_list(now, page);
    (void)fsm.next(now);
    fsm.on_watch_open(now);
    const bool open = signalbox::fuzz::in_pieces(bytes, way, [&](std::string_view piece) {
        return fsm.on_bytes(now, piece);
    });
    if (open) {
        fsm.on_watch_end(now);
    }
    const auto action = fsm.next(now);
    sink.log += fsm.last_error() + "\n" + std::to_string(static_cast<int>(action.what)) + " " +
                action.version + " " + std::to_string(fsm.counters().events) + " " +
                std::to_string(fsm.counters().skipped);
    return sink.log;
}

void read_event(const std::string& document) {
    rapidjson::Document parsed;
    if (!signalbox::fuzz::parse_plain(parsed, document)) {
        return;
    }
    protocol::watch_event event;
    const bool read = protocol::read_watch_event(document, event);
    const bool has_type = parsed.HasMember("type") && parsed["type"].IsString() &&
                          parsed["type"].GetStringLength() > 0;
    const bool has_object = parsed.HasMember("object") && parsed["object"].IsObject();
    require(read == (has_type && has_object), "what is an event");
    if (read) {
        using signalbox::fuzz::text_at;
        const rapidjson::Value& object = parsed["object"];
        require(event.facts.kind == text_at(object, "kind"), "kind");
        require(event.facts.api_version == text_at(object, "apiVersion"), "apiVersion");
        const bool metadata = object.HasMember("metadata") && object["metadata"].IsObject();
        const std::string version =
            metadata ? text_at(object["metadata"], "resourceVersion") : std::string();
        require(event.facts.resource_version == version, "resourceVersion");
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes = signalbox::fuzz::text_of(data, size);
    const cut_stream whole = cut(bytes, 0);
    const std::string seen = reflected(bytes, 0);
    for (std::uint64_t way = 1; way < signalbox::fuzz::ways_to_cut; ++way) {
        require(cut(bytes, way) == whole, "a cut changes no document");
        require(reflected(bytes, way) == seen, "a cut changes nothing for a reflector");
    }
    for (const std::string& document : whole.documents) {
        read_event(document);
    }
    // One with a line end within was cut (W7).
    const auto parsed = signalbox::fuzz::parse_sequence(bytes, document_limit);
    const auto is_line = [](const std::string& document) {
        return document.find('\n') == std::string::npos;
    };
    if (parsed && std::ranges::all_of(*parsed, is_line)) {
        require(whole.documents == *parsed && whole.at_boundary, "the documents of a parser");
    }
    return 0;
}
