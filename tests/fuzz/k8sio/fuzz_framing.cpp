// SPDX-License-Identifier: Apache-2.0
//
// Whatever a server or a proxy sends as its answer (REQUIREMENTS.md T5-T7): the same answer, or the
// same failure, however the network cuts it, and within the limits.
#include "fuzz.hpp"
#include "pieces.hpp"
#include "protocol/http_framing.hpp"

#include <string>

using namespace signalbox::k8sio;
using protocol::answer_reader;
using signalbox::fuzz::require;
using body_kind = answer_reader::body_kind;

namespace {

constexpr std::size_t no_limit = std::size_t{1} << 20;
constexpr std::size_t body_limit = 256;

/// Which failure it was is left out: a line that is no line of HTTP may be seen when the connection
/// ends, or before, as the cut has it.
struct outcome {
    bool failed = true;
    bool reusable = false;
    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;

    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome read(
    std::string_view bytes, body_kind kind, std::uint64_t way, std::size_t header_limit = no_limit
) {
    answer_reader reader(header_limit, body_limit, kind);
    outcome out;
    const bool fed = signalbox::fuzz::in_pieces(bytes, way, [&](std::string_view piece) {
        const bool good = reader.feed(piece);
        if (good && kind == body_kind::stream) {
            out.body += reader.take_body();
        }
        require(kind == body_kind::stream || reader.body_size() <= body_limit, "the body limit");
        require(!reader.done() || reader.header_done(), "no end without a header");
        require(!reader.reusable() || reader.done(), "nothing is reused before its end");
        return good;
    });
    if (!fed || !reader.feed_end()) {
        return outcome();
    }
    out.failed = false;
    require(reader.done(), "a good end is an end");
    out.reusable = reader.reusable();
    http_response answer = reader.take();
    out.status = answer.status;
    out.headers = std::move(answer.headers);
    out.body += answer.body;
    return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes = signalbox::fuzz::text_of(data, size);
    for (const body_kind kind : {body_kind::unary, body_kind::stream}) {
        const outcome whole = read(bytes, kind, 0);
        require(whole.failed || whole.status / 100 != 1, "1xx is no answer");
        for (std::uint64_t way = 1; way < signalbox::fuzz::ways_to_cut; ++way) {
            require(read(bytes, kind, way) == whole, "a cut changes nothing");
            (void)read(bytes, kind, way, 64);  // where exactly the limit lies depends on the cut
        }
    }
    const outcome held = read(bytes, body_kind::unary, 0);
    require(held.failed || held == read(bytes, body_kind::stream, 0), "a stream has the same body");
    return 0;
}
