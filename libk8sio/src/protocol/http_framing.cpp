// SPDX-License-Identifier: Apache-2.0
//
// The only unit that knows Beast's parser.
#include "protocol/http_framing.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <limits>

namespace signalbox::k8sio::protocol {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

/// `0\r\n\r\n`. When Beast has seen the first line of a last chunk, it asserts that it is asked
/// again with no less than this; what is kept back behind a header is the beginning of a chunk.
constexpr std::size_t shortest_last_chunk = 5;

using beast_view = beast::string_view;
using beast_error = beast::error_code;

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

bool is_target(std::string_view text) {
    return text.substr(0, 1) == "/" &&
           std::none_of(text.begin(), text.end(), [](char c) { return is_control(c) || c == ' '; });
}

bool is_header_value(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        return is_control(c) && c != '\t';
    });
}

bool is_token(std::string_view text) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    });
}

bool add_header(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
    return is_token(name) && is_header_value(value);
}

/// Hands Beast's findings to plain members.
class parser final : public http::basic_parser<false> {
public:
    /// Extensions of chunks count as the body of which they are.
    explicit parser(std::size_t extension_limit) : extensions_left_(extension_limit) {}

    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;

private:
    void on_request_impl(http::verb, beast_view, beast_view, int, beast_error&) override {}
    void on_response_impl(int code, beast_view, int, beast_error& error) override {
        status = code;
        error = {};
    }
    void on_field_impl(http::field, beast_view name, beast_view value, beast_error& error)
        override {
        headers.emplace_back(std::string(name), std::string(value));
        error = {};
    }
    void on_header_impl(beast_error& error) override { error = {}; }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, beast_error& error) override {
        error = {};
    }
    std::size_t on_body_impl(beast_view bytes, beast_error& error) override {
        body.append(bytes.data(), bytes.size());
        error = {};
        return bytes.size();
    }
    void on_chunk_header_impl(std::uint64_t, beast_view extensions, beast_error& error) override {
        error = {};
        if (extensions.size() > extensions_left_) {
            error = http::error::body_limit;
        } else {
            extensions_left_ -= extensions.size();
        }
    }
    std::size_t on_chunk_body_impl(std::uint64_t, beast_view bytes, beast_error& error) override {
        return on_body_impl(bytes, error);
    }
    void on_finish_impl(beast_error& error) override { error = {}; }

    std::size_t extensions_left_;
};

}  // namespace

std::optional<std::string> render_request(const http_request& request, const request_frame& frame) {
    std::string out = request.method + " " + frame.path_prefix + request.target + " HTTP/1.1\r\n";
    bool valid = is_token(request.method) && is_target(frame.path_prefix + request.target);
    valid &= add_header(out, "Host", frame.host);
    bool agent_named = !frame.user_agent.empty();
    if (agent_named) {
        valid &= add_header(out, "User-Agent", frame.user_agent);
    }
    if (!frame.authorization.empty()) {
        valid &= add_header(out, "Authorization", frame.authorization);
    }
    for (const auto& [name, value] : frame.headers) {
        valid &= add_header(out, name, value);
    }
    if (!request.accept.empty()) {
        valid &= add_header(out, "Accept", request.accept);
    }
    for (const auto& [name, value] : request.headers) {
        if (!agent_named || !beast::iequals(name, "User-Agent")) {
            valid &= add_header(out, name, value);
        }
    }
    if (!request.content_type.empty()) {
        valid &= add_header(out, "Content-Type", request.content_type);
    }
    if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD")) {
        valid &= add_header(out, "Content-Length", std::to_string(request.body.size()));
    }
    if (!valid) {
        return std::nullopt;
    }
    return out + "\r\n" + request.body;
}

struct answer_reader::impl {
    std::size_t header_limit;
    std::size_t body_limit;
    body_kind kind;
    std::unique_ptr<parser> current;
    std::string pending;  // bytes the parser wants to see again, with more behind them
    bool started = false;
    bool leftover = false;
    errc failure = errc::bad_response;
    std::string failure_text;

    void begin() {
        const bool unary = kind == body_kind::unary;
        current =
            std::make_unique<parser>(unary ? body_limit : std::numeric_limits<std::size_t>::max());
        current->eager(true);
        current->header_limit(static_cast<std::uint32_t>(header_limit));
        if (unary) {
            current->body_limit(body_limit);
        } else {
            current->body_limit(boost::none);
        }
    }

    bool fail(const beast_error& error) {
        const bool limit = error == http::error::body_limit || error == http::error::header_limit;
        const bool partial = error == http::error::partial_message;
        const bool ended = partial || error == http::error::end_of_stream;
        failure = limit ? errc::too_large : ended ? errc::connection_lost : errc::bad_response;
        failure_text = error.message();
        return false;
    }

    /// Parses as much of `bytes` as possible; gives the number of bytes used.
    std::size_t put(std::string_view bytes, beast_error& error) {
        std::size_t used = 0;
        while (used < bytes.size() && !current->is_done()) {
            used +=
                current->put(asio::const_buffer(bytes.data() + used, bytes.size() - used), error);
            if (error) {
                break;
            }
            // 100 Continue, 103 Early Hints: the answer proper comes behind.
            if (current->is_done() && current->status / 100 == 1) {
                begin();
            }
        }
        return used;
    }
};

answer_reader::answer_reader(std::size_t header_limit, std::size_t body_limit, body_kind kind)
    : impl_(std::make_unique<impl>()) {
    impl_->header_limit = header_limit;
    impl_->body_limit = body_limit;
    impl_->kind = kind;
    impl_->begin();
}

answer_reader::~answer_reader() = default;

bool answer_reader::feed(std::string_view bytes) {
    impl& self = *impl_;
    self.started |= !bytes.empty();
    beast_error error;
    std::size_t used = 0;
    if (self.pending.empty()) {
        used = self.put(bytes, error);
        self.pending.assign(bytes.substr(used));
    } else {
        self.pending.append(bytes);
        if (self.current->is_header_done() && self.pending.size() < shortest_last_chunk) {
            return true;
        }
        used = self.put(self.pending, error);
        self.pending.erase(0, used);
    }
    if (error && error != http::error::need_more) {
        return self.fail(error);
    }
    // The first line of a chunk, or what is behind the last one, without an end.
    if (!self.current->is_done() && self.pending.size() > self.header_limit) {
        return self.fail(http::error::header_limit);
    }
    self.leftover = self.current->is_done() && !self.pending.empty();
    return true;
}

bool answer_reader::feed_end() {
    if (done()) {
        return true;
    }
    beast_error error;
    if (!impl_->current->got_some()) {
        return impl_->fail(http::error::end_of_stream);
    }
    impl_->current->put_eof(error);
    if (!error && !done()) {
        error = http::error::partial_message;
    }
    return error ? impl_->fail(error) : true;
}

bool answer_reader::header_done() const {
    return impl_->current->is_header_done() && impl_->current->status / 100 != 1;
}

bool answer_reader::done() const {
    return impl_->current->is_done();
}
bool answer_reader::started() const {
    return impl_->started;
}

bool answer_reader::reusable() const {
    return done() && impl_->current->keep_alive() && !impl_->leftover;
}

errc answer_reader::failure() const {
    return impl_->failure;
}
const std::string& answer_reader::failure_text() const {
    return impl_->failure_text;
}
int answer_reader::status() const {
    return impl_->current->status;
}

http_response answer_reader::take() {
    http_response answer;
    answer.status = impl_->current->status;
    answer.headers = std::move(impl_->current->headers);
    answer.body = take_body();
    return answer;
}

std::string_view answer_reader::header(std::string_view name) const {
    for (const auto& [key, value] : impl_->current->headers) {
        if (beast::iequals(key, name)) {
            return value;
        }
    }
    return {};
}

std::string answer_reader::take_body() {
    return std::exchange(impl_->current->body, {});
}
std::size_t answer_reader::body_size() const {
    return impl_->current->body.size();
}

}  // namespace signalbox::k8sio::protocol
