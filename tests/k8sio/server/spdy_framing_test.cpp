// SPDX-License-Identifier: Apache-2.0
#include "server/streams/spdy_framing.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <zlib.h>

using namespace signalbox::k8sio::server;

namespace {

/// A frame whose data is kept.
struct seen {
    spdy_frame frame;
    std::string data;
};

/// What comes of bytes that are fed in these pieces; data frames are joined again.
struct reading {
    spdy_reader reader;
    std::vector<seen> frames;

    void feed(std::string_view bytes) {
        spdy_frame frame;
        reader.feed(bytes);
        while (reader.next(frame)) {
            const bool more = !frames.empty() && frames.back().frame.type == spdy_type::data &&
                              frame.type == spdy_type::data && !frames.back().frame.fin &&
                              frames.back().frame.stream == frame.stream;
            if (more) {
                frames.back().data += frame.data;
                frames.back().frame.fin = frame.fin;
            } else {
                frames.push_back({frame, std::string(frame.data)});
            }
        }
    }
};

std::string from_hex(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
    }
    return out;
}

/// Two SYN_STREAM frames and the end of the first stream, as the Go library of kubectl writes them.
const std::string of_kubectl = from_hex(
    "800300010000003e0000000100000000000078f9e3c6a7c202253a060606ce2248fc6482d22da30138e59514a526e6"
    "420b17d65450d0430aea22709eb030b03000000000ffff800300010000001800000003000000000000225233a8644a"
    "44d70b000000ffff0000000101000000"
);

/// A control frame around any body.
std::string control(unsigned type, const std::string& body, unsigned version = 3) {
    std::string out = {'\x80', static_cast<char>(version), '\0', static_cast<char>(type), '\0'};
    for (const int shift : {16, 8, 0}) {
        out += static_cast<char>(static_cast<unsigned char>(body.size() >> shift));
    }
    return out + body;
}

std::string all_frames() {
    spdy_writer writer;
    std::string all =
        writer.opening(spdy_type::syn_stream, 1, {{"port", "80"}, {"streamtype", "error"}});
    all += writer.opening(spdy_type::syn_stream, 3, {{"port", "80"}, {"streamtype", "data"}}, true);
    all += spdy_writer::data(3, "hello") + spdy_writer::data(3, "", true);
    all += writer.opening(spdy_type::syn_reply, 3, {});
    all += spdy_writer::ping(7) + spdy_writer::data(1, std::string(300, 'x'), true) +
           spdy_writer::reset(3, spdy_reset::cancel) + control(4, std::string(4, '\0')) +
           control(9, std::string("\0\0\0\3\0\0\1\0", 8)) + control(5, "") +
           control(77, "unknown") + spdy_writer::goaway(3);
    return all;
}

void check_all_frames(const reading& r) {
    CHECK(r.reader.failure().empty());
    REQUIRE(r.frames.size() == 10);
    const auto frame = [&r](std::size_t i) { return r.frames[i].frame; };
    CHECK(frame(0).type == spdy_type::syn_stream);
    CHECK(frame(0).stream == 1);
    CHECK_FALSE(frame(0).fin);
    CHECK(frame(0).headers == spdy_headers{{"port", "80"}, {"streamtype", "error"}});
    CHECK(frame(1).stream == 3);
    CHECK(frame(1).fin);
    CHECK(frame(1).headers == spdy_headers{{"port", "80"}, {"streamtype", "data"}});
    CHECK(frame(2).type == spdy_type::data);
    CHECK(r.frames[2].data == "hello");
    CHECK(frame(2).fin);
    CHECK(frame(3).type == spdy_type::syn_reply);
    CHECK(frame(3).headers.empty());
    CHECK(frame(4).type == spdy_type::ping);
    CHECK(frame(4).stream == 7);
    CHECK(r.frames[5].data == std::string(300, 'x'));
    CHECK(frame(5).fin);
    CHECK(frame(6).type == spdy_type::rst_stream);
    CHECK(frame(6).value == 5);
    CHECK(frame(7).type == spdy_type::settings);
    CHECK(frame(8).type == spdy_type::window_update);
    CHECK(frame(8).value == 256);
    CHECK(frame(9).type == spdy_type::goaway);
    CHECK(frame(9).stream == 3);
}

/// Headers that are compressed to next to nothing.
std::string bomb(std::size_t size) {
    spdy_writer writer;
    return writer.opening(spdy_type::syn_stream, 1, {{"a", std::string(size, 'a')}});
}

}  // namespace

TEST_CASE("what kubectl's library writes is read") {
    reading r;
    r.feed(of_kubectl);
    CHECK(r.reader.failure().empty());
    REQUIRE(r.frames.size() == 3);
    for (const std::size_t i : {0U, 1U}) {
        spdy_headers headers = r.frames[i].frame.headers;
        std::sort(headers.begin(), headers.end());
        CHECK(
            headers ==
            spdy_headers{
                {"port", "8080"}, {"requestid", "0"}, {"streamtype", i == 0 ? "error" : "data"}}
        );
        CHECK(r.frames[i].frame.stream == 1 + 2 * i);
    }
    CHECK(r.frames[2].frame.stream == 1);
    CHECK(r.frames[2].frame.fin);
    CHECK(r.frames[2].data.empty());
}

TEST_CASE("[requirement A8] frames of every type, split at every byte and byte by byte") {
    const std::string all = all_frames();
    for (std::size_t at = 0; at <= all.size(); ++at) {
        reading r;
        r.feed(std::string_view(all).substr(0, at));
        r.feed(std::string_view(all).substr(at));
        check_all_frames(r);
    }
    reading r;
    for (const char each : all) {
        r.feed({&each, 1});
    }
    check_all_frames(r);
}

TEST_CASE("a data frame is given as it comes, whatever length it claims") {
    spdy_reader reader;
    const std::string head("\0\0\0\1\1\xff\xff\xff", 8);
    reader.feed(head);
    spdy_frame frame;
    CHECK_FALSE(reader.next(frame));
    std::size_t got = 0;
    const std::string piece(65536, 'x');
    while (got < 0xffffff) {
        reader.feed(std::string_view(piece).substr(0, 0xffffff - got));
        REQUIRE(reader.next(frame));
        got += frame.data.size();
        CHECK(frame.fin == (got == 0xffffff));
        CHECK_FALSE(reader.next(frame));
    }
}

TEST_CASE("[requirement A8] what is no SPDY ends the reading with a reason") {
    struct row {
        std::string bytes;
        std::string why;
    };
    const std::string bad_block = "a block of headers cannot be inflated";
    const std::vector<row> rows = {
        {"\x80GET / HTTP/1.1\r\n\r\n", "a frame of another version of SPDY"},
        {control(6, std::string(4, '\1'), 2), "a frame of another version of SPDY"},
        {control(1, std::string(9, '\0')), "a control frame is too short"},
        {control(3, std::string(7, '\0')), "a control frame is too short"},
        {control(6, ""), "a control frame is too short"},
        {control(1, std::string(10, '\0')), bad_block},
        {control(1, std::string(40, '\0')), bad_block},
        {control(8, std::string(40, '\xff')), bad_block},
        {control(2, std::string(spdy_reader::control_limit + 1, '\0')),
         "a control frame is too long"},
        {control(77, std::string(spdy_reader::control_limit + 1, '\0')),
         "a control frame is too long"},
        {bomb(spdy_reader::control_limit), bad_block},
        {bomb(10'000'000), bad_block},
    };
    for (const row& each : rows) {
        INFO(each.why);
        CHECK(each.bytes.size() < 20000);
        reading r;
        r.feed(each.bytes);
        CHECK(r.frames.empty());
        CHECK(r.reader.failure() == each.why);
        r.feed(of_kubectl);
        CHECK(r.frames.empty());
    }
    reading good;
    good.feed(bomb(spdy_reader::control_limit - 13));
    CHECK(good.frames.size() == 1);
}

TEST_CASE("a block of headers that lies about its lengths is refused") {
    // As opening(), around a block of any bytes.
    const auto stream = [](const std::string& block) {
        std::string packed(compressBound(block.size()) + 64, '\0');
        z_stream z{};
        REQUIRE(deflateInit(&z, Z_DEFAULT_COMPRESSION) == Z_OK);
        std::string copy = block;
        z.next_in = reinterpret_cast<Bytef*>(copy.data());
        z.avail_in = static_cast<uInt>(copy.size());
        z.next_out = reinterpret_cast<Bytef*>(packed.data());
        z.avail_out = static_cast<uInt>(packed.size());
        REQUIRE(deflate(&z, Z_SYNC_FLUSH) == Z_OK);
        packed.resize(packed.size() - z.avail_out);
        deflateEnd(&z);
        return control(1, std::string("\0\0\0\1\0\0\0\0\0\0", 10) + packed);
    };
    using namespace std::string_literals;
    for (const std::string& block :
         {""s.append(3, '\0'),
          "\0\0\0\1"s,
          "\xff\xff\xff\xff"s,
          "\0\0\0\1\0\0\0\5port"s,
          "\0\0\0\1\0\0\0\4port"s,
          "\0\0\0\1\0\0\0\4port\xff\xff\xff\xff"s,
          "\0\0\0\2\0\0\0\4port\0\0\0\2"s + "80",
          "\0\0\0\1\0\0\0\4port\0\0\0\2"s + "80 "}) {
        reading r;
        r.feed(stream(block));
        CHECK(r.frames.empty());
        CHECK(r.reader.failure() == "a block of headers is malformed");
    }
    reading r;
    r.feed(stream("\0\0\0\1\0\0\0\4port\0\0\0\2"s + "80"));
    REQUIRE(r.frames.size() == 1);
    CHECK(r.frames[0].frame.headers == spdy_headers{{"port", "80"}});
}
