// SPDX-License-Identifier: Apache-2.0
//
// Chunked bodies (RFC 9112 section 7.1). Inputs that begin with `+` are a plan: a body is sent in
// the chunks that they ask for, and must arrive. All others are what follows the header of an
// answer: what is read there as a whole body must be one to a second reader, too, or a proxy and we
// would disagree about where an answer ends.
#include "fuzz.hpp"
#include "pieces.hpp"
#include "protocol/http_framing.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

using namespace signalbox::k8sio;
using protocol::answer_reader;
using signalbox::fuzz::require;

namespace {

constexpr std::string_view header = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::size_t body_limit = 4096;

/// The second reader. Extensions and trailers are skipped, whatever they hold.
std::optional<std::string> read_chunks(std::string_view text) {
    std::string body;
    for (;;) {
        std::size_t size = 0;
        std::size_t digits = 0;
        constexpr std::string_view hex = "0123456789abcdefABCDEF";
        for (; digits < text.size() && hex.find(text[digits]) != hex.npos; ++digits) {
            const std::size_t at = hex.find(text[digits]);
            size = std::min(size * 16 + (at < 16 ? at : at - 6), body_limit * 16);
        }
        const std::size_t end = text.find("\r\n");
        const std::string_view rest = text.substr(digits, end == text.npos ? 0 : end - digits);
        if (digits == 0 || end == text.npos ||
            (!rest.empty() && rest.front() != ';' && rest.front() != ' ' && rest.front() != '\t')) {
            return std::nullopt;
        }
        text.remove_prefix(end + 2);
        if (size == 0) {
            break;
        }
        if (text.size() < size + 2 || text.substr(size, 2) != "\r\n") {
            return std::nullopt;
        }
        body += text.substr(0, size);
        text.remove_prefix(size + 2);
    }
    const bool ends = text.substr(0, 2) == "\r\n" || text.find("\r\n\r\n") != text.npos;
    return ends ? std::optional(body) : std::nullopt;
}

struct outcome {
    bool done = false;
    std::string body;  // of a whole one

    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome read(std::string_view bytes, std::uint64_t way) {
    answer_reader reader(8192, body_limit, answer_reader::body_kind::unary);
    outcome out;
    const bool fed = reader.feed(header) &&
                     signalbox::fuzz::in_pieces(bytes, way, [&reader](std::string_view piece) {
                         return reader.feed(piece);
                     });
    out.done = fed && reader.feed_end();
    if (out.done) {
        out.body = reader.take_body();
    }
    return out;
}

/// A body in chunks as `plan` asks for: for each, a byte for its form and one for its size.
void send(std::string_view plan) {
    constexpr std::array extensions{"", ";a", ";a=b", " ; a=\"q;\\\"x\""};
    std::string sent;
    std::string body;
    while (plan.size() >= 2) {
        const auto form = static_cast<unsigned char>(plan[0]);
        const std::size_t size =
            std::min<std::size_t>(static_cast<unsigned char>(plan[1]), plan.size() - 2);
        const std::string_view bytes = plan.substr(2, size);
        plan.remove_prefix(2 + size);
        if (size == 0 || body.size() + size > body_limit) {
            continue;
        }
        sent += std::string(form >> 2 & 3U, '0');
        sent += (form & 16U) != 0 ? fmt::format("{:X}", size) : fmt::format("{:x}", size);
        sent += std::string(extensions[form & 3U]) + "\r\n";
        sent.append(bytes).append("\r\n");
        body += bytes;
    }
    sent += plan.empty() ? "0\r\n\r\n" : "0\r\nTrailer: 1\r\n\r\n";
    for (std::uint64_t way = 0; way < signalbox::fuzz::ways_to_cut; ++way) {
        const outcome got = read(sent, way);
        require(got.done && got.body == body, "what is sent arrives");
        const outcome part = read(std::string_view(sent).substr(0, sent.size() - 1 - way), way);
        require(!part.done, "the end is needed");
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes = signalbox::fuzz::text_of(data, size);
    if (bytes.substr(0, 1) == "+") {
        send(bytes.substr(1));
        return 0;
    }
    const outcome whole = read(bytes, 0);
    for (std::uint64_t way = 1; way < signalbox::fuzz::ways_to_cut; ++way) {
        require(read(bytes, way) == whole, "a cut changes nothing");
    }
    if (whole.done) {
        require(read_chunks(bytes) == whole.body, "a second reader sees the same body");
    }
    return 0;
}
