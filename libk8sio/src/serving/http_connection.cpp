// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 with keep-alive on one connection; a stream is chunked and owns its connection.
// Callbacks, no coroutines: a stream writes and waits for the peer to leave at the same time.
#include "serving/connection.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace signalbox::k8sio::serving {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

/// Of a read; what is held of a body that has not been parsed.
constexpr std::size_t read_ahead = 64 * 1024;

std::string to_text(beast::string_view text) {
    return {text.data(), text.size()};
}

class http_connection final : public open_connection,
                              public std::enable_shared_from_this<http_connection> {
public:
    http_connection(
        std::shared_ptr<connections> home,
        tcp::socket socket,
        std::shared_ptr<asio::ssl::context> tls
    )
        : home_(std::move(home)),
          tls_(std::move(tls)),
          stream_(std::move(socket)),
          buffer_(home_->limits.header + read_ahead) {
        if (tls_ != nullptr) {
            tcp::socket plain = std::get<tcp::socket>(std::move(stream_));
            stream_.emplace<tls_stream>(std::move(plain), *tls_);
        }
        home_->open.insert(this);
    }
    ~http_connection() override { close(); }

    void start();
    void close() override;
    std::optional<steady_time> waits_since() const override { return waits_since_; }

private:
    using request_parser = http::request_parser<http::string_body>;
    using response = http::response<http::string_body>;

    tcp::socket& socket() {
        auto* tls = std::get_if<tls_stream>(&stream_);
        return tls != nullptr ? tls->next_layer() : std::get<tcp::socket>(stream_);
    }
    const http_limits& limits() const { return home_->limits; }

    void set_deadline(std::chrono::nanoseconds from_now);
    void clear_deadline() { home_->time->cancel(std::exchange(timer_, 0)); }
    void wait_for_peer_within(std::chrono::nanoseconds limit);

    void await_request();
    void read_header();
    void on_header(error_code error);
    void write_continue();
    void read_body();
    void on_request(error_code error);
    void carry_out(served_answer a);
    void answer(served_answer a, bool keep_alive);
    void write_more(bool keep_alive);
    void end_gently();
    void discard_rest();

    void start_stream(served_answer a);
    void give_away(served_answer a);
    void watch_for_the_end();
    void pump();
    void on_written(error_code error);
    void write_chunk(std::string text);
    void end_chunks();

    std::shared_ptr<connections> home_;
    std::shared_ptr<asio::ssl::context> tls_;
    server_stream stream_;
    beast::flat_buffer buffer_;
    clock::timer_id timer_ = 0;
    std::optional<steady_time> waits_since_;

    std::optional<request_parser> parser_;
    std::function<void(std::uint64_t, beast::string_view, error_code&)> on_chunk_;
    std::uint64_t extensions_ = 0;
    served_request request_;

    std::optional<response> response_;
    std::optional<http::response_serializer<http::string_body>> serializer_;
    std::uint64_t discarded_ = 0;

    std::unique_ptr<answer_stream> body_;
    std::optional<http::response<http::empty_body>> body_header_;
    std::optional<http::response_serializer<http::empty_body>> body_serializer_;
    std::string chunk_;
    std::array<char, 512> ignored_{};
    bool writing_ = false;
    bool pump_posted_ = false;
    bool closed_ = false;
};

void http_connection::start() {
    wait_for_peer_within(limits().header_time);
    auto* tls = std::get_if<tls_stream>(&stream_);
    if (tls == nullptr) {
        read_header();
        return;
    }
    tls->async_handshake(tls_stream::server, [self = shared_from_this()](error_code error) {
        if (error) {
            self->close();
        } else if (!self->closed_) {
            self->read_header();
        }
    });
}

void http_connection::close() {
    if (std::exchange(closed_, true)) {
        return;
    }
    home_->open.erase(this);
    clear_deadline();
    body_.reset();
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_both, ignored);
    socket().close(ignored);
}

void http_connection::set_deadline(std::chrono::nanoseconds from_now) {
    clear_deadline();
    const auto at =
        home_->time->steady_now() + std::chrono::duration_cast<steady_time::duration>(from_now);
    timer_ = home_->time->schedule(at, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->close();
        }
    });
}

void http_connection::wait_for_peer_within(std::chrono::nanoseconds limit) {
    waits_since_ = home_->time->steady_now();
    set_deadline(limit);
}

void http_connection::await_request() {
    if (buffer_.size() > 0) {
        wait_for_peer_within(limits().header_time);
        read_header();
        return;
    }
    buffer_.shrink_to_fit();
    wait_for_peer_within(limits().idle_time);
    const auto done = [self = shared_from_this()](error_code error, std::size_t got) {
        if (self->closed_) {
            return;
        }
        if (error) {
            self->close();
            return;
        }
        self->buffer_.commit(got);
        self->wait_for_peer_within(self->limits().header_time);
        self->read_header();
    };
    const auto room = buffer_.prepare(4096);
    std::visit([&](auto& from) { from.async_read_some(room, done); }, stream_);
}

void http_connection::read_header() {
    parser_.emplace();
    parser_->header_limit(limits().header);
    parser_->body_limit(limits().body);
    extensions_ = 0;
    on_chunk_ = [this](std::uint64_t, beast::string_view extensions, error_code& error) {
        extensions_ += extensions.size();
        if (extensions_ > limits().chunk_extensions) {
            error = http::error::bad_chunk_extension;
        }
    };
    parser_->on_chunk_header(on_chunk_);
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        self->on_header(error);
    };
    std::visit(
        [&](auto& from) { http::async_read_header(from, buffer_, *parser_, done); }, stream_
    );
}

void http_connection::on_header(error_code error) {
    if (closed_) {
        return;
    }
    if (error) {
        on_request(error);
        return;
    }
    const auto& header = parser_->get();
    request_ = served_request();
    request_.method = to_text(header.method_string());
    request_.target = to_text(header.target());
    for (const auto& field : header) {
        request_.headers.emplace_back(to_text(field.name_string()), to_text(field.value()));
    }
    if (std::optional<served_answer> refused = home_->handler->refuse(request_)) {
        answer(std::move(*refused), header.keep_alive() && parser_->is_done());
    } else if (parser_->is_done()) {
        on_request({});
    } else {
        wait_for_peer_within(limits().body_time);
        if (beast::iequals(request_.header("Expect"), "100-continue")) {
            write_continue();
        } else {
            read_body();
        }
    }
}

void http_connection::write_continue() {
    chunk_ = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        if (error) {
            self->close();
        } else if (!self->closed_) {
            self->read_body();
        }
    };
    std::visit([&](auto& to) { asio::async_write(to, asio::buffer(chunk_), done); }, stream_);
}

void http_connection::read_body() {
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        self->on_request(error);
    };
    std::visit([&](auto& from) { http::async_read(from, buffer_, *parser_, done); }, stream_);
}

void http_connection::on_request(error_code error) {
    if (closed_) {
        return;
    }
    if (error == http::error::body_limit) {
        answer(home_->handler->too_large(), false);
        return;
    }
    if (error) {
        close();
        return;
    }
    waits_since_.reset();
    clear_deadline();
    request_.body = std::move(parser_->get().body());
    carry_out(home_->handler->answer(std::move(request_)));
}

void http_connection::carry_out(served_answer a) {
    if (closed_) {  // the handler has stopped the listener
        return;
    }
    if (a.drop) {
        close();
    } else if (a.upgrade) {
        give_away(std::move(a));
    } else if (a.stream) {
        start_stream(std::move(a));
    } else {
        answer(std::move(a), parser_->get().keep_alive());
    }
}

void http_connection::answer(served_answer a, bool keep_alive) {
    response_.emplace(static_cast<http::status>(a.status), parser_->get().version());
    for (const auto& [name, text] : a.headers) {
        response_->insert(name, text);
    }
    response_->keep_alive(keep_alive);
    if (parser_->get().method() == http::verb::head) {
        response_->content_length(a.body.size());  // of what GET would give
    } else {
        response_->body() = std::move(a.body);
        response_->prepare_payload();
    }
    serializer_.emplace(*response_);
    write_more(response_->keep_alive());
}

void http_connection::write_more(bool keep_alive) {
    set_deadline(limits().answer_time);
    const auto done = [self = shared_from_this(), keep_alive](error_code error, std::size_t) {
        if (self->closed_) {
            return;
        }
        if (error) {
            self->close();
        } else if (!self->serializer_->is_done()) {
            self->write_more(keep_alive);
        } else if (keep_alive) {
            self->serializer_.reset();
            self->response_.reset();
            self->await_request();
        } else {
            self->end_gently();
        }
    };
    std::visit([&](auto& to) { http::async_write_some(to, *serializer_, done); }, stream_);
}

/// Bytes of the peer that were not read when a socket is closed would take away from it what was
/// sent: it is told first that this is the end, and what it still sends is passed over.
void http_connection::end_gently() {
    wait_for_peer_within(limits().answer_time);
    auto* tls = std::get_if<tls_stream>(&stream_);
    if (tls == nullptr) {
        discard_rest();
        return;
    }
    tls->async_shutdown([self = shared_from_this()](error_code) { self->discard_rest(); });
}

void http_connection::discard_rest() {
    error_code failed;
    socket().shutdown(tcp::socket::shutdown_send, failed);
    if (closed_ || failed || parser_->is_done() || discarded_ > limits().body) {
        close();
        return;
    }
    const auto done = [self = shared_from_this()](error_code error, std::size_t got) {
        self->discarded_ += got;
        if (error) {
            self->close();
        } else {
            self->discard_rest();
        }
    };
    buffer_.clear();
    socket().async_read_some(buffer_.prepare(4096), done);
}

void http_connection::start_stream(served_answer a) {
    body_ = std::move(a.stream);
    body_->on_ready([weak = weak_from_this()] {
        // From within a write: only posted, and once for many events.
        const auto self = weak.lock();
        if (self && !std::exchange(self->pump_posted_, true)) {
            asio::post(self->socket().get_executor(), [self] {
                self->pump_posted_ = false;
                self->pump();
            });
        }
    });
    body_header_.emplace(static_cast<http::status>(a.status), 11);
    body_header_->keep_alive(false);
    for (const auto& [name, text] : a.headers) {
        body_header_->insert(name, text);
    }
    body_header_->chunked(true);
    body_serializer_.emplace(*body_header_);
    writing_ = true;
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        self->on_written(error);
    };
    std::visit([&](auto& to) { http::async_write_header(to, *body_serializer_, done); }, stream_);
    watch_for_the_end();
}

void http_connection::give_away(served_answer a) {
    if (buffer_.size() == 0) {  // a peer that spoke before the answer breaks the protocol
        taken_connection taken{
            std::move(stream_), parser_->release(), [home = home_](open_connection& gone) {
                home->open.erase(&gone);
            }};
        if (const auto made = a.upgrade(std::move(taken))) {
            home_->open.insert(made.get());
        }
    }
    close();
}

void http_connection::watch_for_the_end() {
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        if (self->closed_) {
            return;
        }
        if (error) {
            self->close();
        } else {
            self->watch_for_the_end();
        }
    };
    std::visit([&](auto& from) { from.async_read_some(asio::buffer(ignored_), done); }, stream_);
}

void http_connection::pump() {
    if (closed_ || writing_ || !body_) {
        return;
    }
    std::string text = body_->next(answer_stream::piece_size);
    if (!text.empty()) {
        write_chunk(std::move(text));
    } else if (body_->finished() && body_->broken()) {
        close();
    } else if (body_->finished()) {
        end_chunks();
    }
}

void http_connection::on_written(error_code error) {
    writing_ = false;
    if (error) {
        close();
    } else {
        pump();
    }
}

void http_connection::write_chunk(std::string text) {
    writing_ = true;
    chunk_ = fmt::format("{:x}\r\n", text.size());
    chunk_ += text;
    chunk_ += "\r\n";
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        self->on_written(error);
    };
    std::visit([&](auto& to) { asio::async_write(to, asio::buffer(chunk_), done); }, stream_);
}

void http_connection::end_chunks() {
    writing_ = true;
    chunk_ = "0\r\n\r\n";
    const auto done = [self = shared_from_this()](error_code, std::size_t) { self->close(); };
    std::visit([&](auto& to) { asio::async_write(to, asio::buffer(chunk_), done); }, stream_);
}

}  // namespace

void connections::close_all() {
    while (!open.empty()) {
        (*open.begin())->close();  // which takes it out
    }
}

bool connections::make_room() {
    if (open.size() < limits.connections) {
        return true;
    }
    open_connection* longest = nullptr;
    for (open_connection* each : open) {
        if (each->waits_since() &&
            (longest == nullptr || *each->waits_since() < *longest->waits_since())) {
            longest = each;
        }
    }
    if (longest != nullptr) {
        longest->close();
    }
    return longest != nullptr;
}

void serve_http(
    std::shared_ptr<connections> home, tcp::socket socket, std::shared_ptr<asio::ssl::context> tls
) {
    std::make_shared<http_connection>(std::move(home), std::move(socket), std::move(tls))->start();
}

}  // namespace signalbox::k8sio::serving

namespace signalbox::k8sio {

std::optional<std::string_view> served_request::find_header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
        if (boost::beast::iequals(key, name)) {
            return value;
        }
    }
    return std::nullopt;
}

}  // namespace signalbox::k8sio
