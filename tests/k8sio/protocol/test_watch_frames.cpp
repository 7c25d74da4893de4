// SPDX-License-Identifier: Apache-2.0
#include "protocol/watch_frames.hpp"

#include <catch2/catch.hpp>

#include <vector>

using signalbox::k8sio::protocol::watch_frames;
using framed = watch_frames::outcome;

namespace {

/// All documents of `pieces`, then the last outcome as text.
std::vector<std::string> documents(watch_frames& frames, const std::vector<std::string>& pieces) {
    std::vector<std::string> found;
    for (const std::string& piece : pieces) {
        frames.feed(piece);
        std::string_view document;
        while (frames.next(document) == framed::document) {
            found.emplace_back(document);
        }
    }
    return found;
}

const std::string stream =
    "{\"type\":\"ADDED\",\"object\":{\"a\":\"}{][\\\"\\\\\",\"u\":"
    "\"\xC3\xA4\xF0\x9F\x9A\x82\\u00e4\"}}\n"
    "\r\n {\"type\":\"BOOKMARK\",\"object\":{\"b\":[1,[2,{}],{\"c\":null}]}}"
    "{\"type\":\"X\",\"object\":{}}\n";
const std::vector<std::string> expected{
    "{\"type\":\"ADDED\",\"object\":{\"a\":\"}{][\\\"\\\\\",\"u\":"
    "\"\xC3\xA4\xF0\x9F\x9A\x82\\u00e4\"}}",
    "{\"type\":\"BOOKMARK\",\"object\":{\"b\":[1,[2,{}],{\"c\":null}]}}",
    "{\"type\":\"X\",\"object\":{}}"};

}  // namespace

TEST_CASE("[requirement T5] a watch split at every position gives the same documents") {
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        watch_frames frames;
        INFO("cut at " << cut);
        CHECK(documents(frames, {stream.substr(0, cut), stream.substr(cut)}) == expected);
        CHECK(frames.at_boundary());
    }
}

TEST_CASE("[requirement T5] a watch that comes byte by byte gives the same documents") {
    watch_frames frames;
    std::vector<std::string> pieces;
    for (const char c : stream) {
        pieces.emplace_back(1, c);
    }
    CHECK(documents(frames, pieces) == expected);
}

TEST_CASE("[requirement T5] a stream that ends within a document is seen as such at every position"
) {
    const std::string& document = expected[0];
    for (std::size_t size = 1; size < document.size(); ++size) {
        watch_frames frames;
        CHECK(documents(frames, {document.substr(0, size)}).empty());
        INFO("after " << size);
        CHECK_FALSE(frames.at_boundary());
    }
}

TEST_CASE("[requirement T7] a watch has a limit per event and none in total") {
    const std::string event = "{\"k\":\"" + std::string(90, 'x') + "\"}\n";
    watch_frames frames(100);
    std::size_t count = 0;
    for (int i = 0; i < 1000; ++i) {
        count += documents(frames, {event}).size();
    }
    CHECK(count == 1000);
    std::string_view document;
    frames.feed("{\"k\":\"" + std::string(200, 'x'));
    CHECK(frames.next(document) == framed::too_large);
    CHECK(frames.next(document) == framed::too_large);
}

TEST_CASE("[requirement T14] a bracket that closes another one ends the stream") {
    for (const char* bad : {"{]", "{[}]}", R"({"a":[{"b":"}"]})", "{\"a\":1]"}) {
        watch_frames frames;
        std::string_view document;
        INFO(bad);
        frames.feed("{} " + std::string(bad) + "{}");
        CHECK(frames.next(document) == framed::document);
        CHECK(frames.next(document) == framed::malformed);
        CHECK(frames.next(document) == framed::malformed);
    }
}

TEST_CASE("[requirement T14] what is no JSON between documents ends the stream") {
    watch_frames frames;
    std::string_view document;
    frames.feed("{}\n<html>");
    CHECK(frames.next(document) == framed::document);
    CHECK(frames.next(document) == framed::malformed);
}

TEST_CASE("[requirement W7] a line that was cut ends the stream, wherever it was cut") {
    const std::string& document = expected[1];
    const std::size_t piece = GENERATE(1u, 7u, 1000u);
    for (std::size_t size = 1; size < document.size(); ++size) {
        INFO("cut after " << size);
        const std::string sent = document.substr(0, size) + "\n" + document + "\n";
        watch_frames frames;
        auto last = framed::more;
        for (std::size_t at = 0; at < sent.size() && last == framed::more; at += piece) {
            frames.feed(std::string_view(sent).substr(at, piece));
            std::string_view found;
            last = frames.next(found);
        }
        CHECK(last == framed::malformed);
    }
}

TEST_CASE("[requirement T6] a large event in small pieces is moved and scanned once") {
    // 32 MB in 1 KB pieces: with a scan from the start per piece this takes minutes, not a moment.
    watch_frames frames(64u << 20);
    const std::string piece(1024, 'x');
    std::string_view document;
    frames.feed("{\"k\":\"");
    for (int i = 0; i < 32 * 1024; ++i) {
        frames.feed(piece);
        REQUIRE(frames.next(document) == framed::more);
    }
    frames.feed("\"}");
    CHECK(frames.next(document) == framed::document);
    CHECK(document.size() == 32u * 1024 * 1024 + 8);
}
