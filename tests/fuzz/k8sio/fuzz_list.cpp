// SPDX-License-Identifier: Apache-2.0
//
// A list that is read as it arrives (REQUIREMENTS.md L5-L7), against the reader of whole lists and
// against a parser: the same items and the same facts, however the network cuts it.
#include "fuzz.hpp"
#include "pieces.hpp"
#include "plain_json.hpp"
#include "protocol/api_json.hpp"
#include "protocol/list_stream.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace signalbox::k8sio;
using signalbox::fuzz::require;

namespace {

constexpr std::size_t limit = 1024;

struct outcome {
    bool good = false;
    bool too_large = false;
    list_page page;                     // without items
    std::vector<std::string> items;     // those before a failure too
    std::vector<std::string> versions;  // that each was given with

    friend bool operator==(const outcome& a, const outcome& b) {
        const bool same_page = a.page.resource_version == b.page.resource_version &&
                               a.page.continue_token == b.page.continue_token;
        return a.good == b.good && a.too_large == b.too_large && same_page && a.items == b.items &&
               a.versions == b.versions;
    }
};

outcome read(std::string_view bytes, std::uint64_t way) {
    outcome out;
    protocol::list_memory memory(SIZE_MAX);
    protocol::list_stream stream(
        resources::pods(),
        [&out](std::string_view item, std::string_view version) {
            out.items.emplace_back(item);
            out.versions.emplace_back(version);
        },
        memory,
        limit
    );
    const bool fed = signalbox::fuzz::in_pieces(bytes, way, [&stream](std::string_view piece) {
        return stream.feed(piece);
    });
    list_page page;
    out.good = stream.finish(page);
    require(fed || !out.good, "no good end after a failure");
    out.too_large = stream.too_large();
    if (out.good) {
        out.page = std::move(page);
    }
    return out;
}

/// The texts of the items, with what each lacks put in.
std::vector<std::string> items_of(const rapidjson::Value& list) {
    std::vector<std::string> out;
    const auto items = list.FindMember("items");
    if (items != list.MemberEnd() && items->value.IsArray()) {
        for (const rapidjson::Value& item : items->value.GetArray()) {
            const std::string kind = signalbox::fuzz::text_at(item, "kind");
            out.push_back(kind.empty() ? "Pod" : kind);
        }
    }
    return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes = signalbox::fuzz::text_of(data, size);
    const outcome whole = read(bytes, 0);
    for (std::uint64_t way = 1; way < signalbox::fuzz::ways_to_cut; ++way) {
        require(read(bytes, way) == whole, "a cut changes nothing");
    }
    list_page held;
    const bool is_list = protocol::read_list(bytes, resources::pods(), held);
    if (whole.good) {
        require(is_list, "the reader of whole lists takes it too");
        require(held.items == whole.items, "the same items");
        require(held.resource_version == whole.page.resource_version, "the same version");
        require(held.continue_token == whole.page.continue_token, "the same token");
    }
    rapidjson::Document parsed;
    const bool plain = signalbox::fuzz::parse_plain(parsed, bytes);
    for (const std::string& version : whole.versions) {
        require(
            !plain || !whole.good || version.empty() || version == held.resource_version,
            "a version that came early is the list's"
        );
    }
    if (plain && whole.good) {
        const std::vector<std::string> kinds = items_of(parsed);
        require(kinds.size() == whole.items.size(), "as many items as a parser sees");
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            rapidjson::Document item;
            item.Parse(whole.items[i].data(), whole.items[i].size());
            require(!item.HasParseError() && item.IsObject(), "an item is JSON");
            require(signalbox::fuzz::text_at(item, "kind") == kinds[i], "an item has its kind");
        }
    }
    // An escape in the name of a member hides it from the reader that builds nothing.
    if (plain && is_list && bytes.size() <= limit && bytes.find('\\') == bytes.npos) {
        require(whole.good, "what is a list is read as it arrives");
    }
    return 0;
}
