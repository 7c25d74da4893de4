// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 with keep-alive; watches and logs are chunked and own their connection. Callbacks, no
// coroutines: a watch writes and waits for the peer to leave at the same time.
#include "server/faces/http_face.hpp"

#include "k8sio/base64.hpp"
#include "k8sio/same_secret.hpp"
#include "server/answers/body_stream.hpp"
#include "server/answers/socket_session.hpp"
#include "server/faces/tls_identity.hpp"
#include "server/faces/web_socket.hpp"
#include "server/values/text.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace signalbox::k8sio::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint64_t body_limit = 3 * 1024 * 1024;  // as the real server's
constexpr std::uint32_t header_limit = 64 * 1024;

std::string_view to_view(beast::string_view text) {
    return {text.data(), text.size()};
}

/// An address or localhost: a page of a foreign host whose name was made to resolve to this machine
/// still sends that host's name.
bool is_local_host(std::string_view host) {
    if (!host.empty() && host.front() == '[') {
        return true;
    }
    host = host.substr(0, host.find(':'));
    return host == "localhost" || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

refusal unauthorized() {
    refusal r;
    r.code = 401;
    r.reason = "Unauthorized";
    r.message = "Unauthorized";
    return r;
}

refusal browser_refused() {
    refusal r;
    r.code = 403;
    r.reason = "Forbidden";
    r.message = "requests from web pages are refused by a server without a token";
    return r;
}

refusal too_large() {
    refusal r;
    r.code = 413;
    r.reason = "RequestEntityTooLarge";
    r.message = fmt::format("Request entity too large: limit is {}", body_limit);
    return r;
}

upgrade_offer offer_of(const http::request<http::string_body>& request) {
    upgrade_offer offer;
    if (!http::token_list(request[http::field::connection]).exists("upgrade")) {
        return offer;
    }
    offer.to = lower(to_view(request[http::field::upgrade]));
    const auto range = request.equal_range(http::field::sec_websocket_protocol);
    for (auto line = range.first; line != range.second; ++line) {
        // No list of tokens: names of Kubernetes have a slash.
        std::string_view rest = to_view(line->value());
        while (!rest.empty()) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            offer.protocols.emplace_back(without_blanks(rest.substr(0, comma)));
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    return offer;
}

class listener;

class session final : public std::enable_shared_from_this<session>,
                      public open_connection,
                      public open_watch {
public:
    /// `door` is valid until close(), which the listener calls before the server goes. `tls` may be
    /// null, and must outlive it else.
    session(
        reception& door, tcp::socket socket, asio::ssl::context* tls, std::weak_ptr<listener> home
    )
        : door_(&door), stream_(std::move(socket)), home_(std::move(home)) {
        if (tls != nullptr) {
            tcp::socket plain = std::get<tcp::socket>(std::move(stream_));
            stream_.emplace<tls_stream>(std::move(plain), *tls);
        }
    }
    ~session() override { close(); }

    void start();
    void close() override;

    /// open_watch: the server ends the stream cleanly; the connection goes with it.
    void end() override {
        if (body_) {
            body_->finish();
        }
    }

private:
    using request_parser = http::request_parser<http::string_body>;
    using response = http::response<http::string_body>;

    tcp::socket& socket() {
        auto* tls = std::get_if<tls_stream>(&stream_);
        return tls != nullptr ? tls->next_layer() : std::get<tcp::socket>(stream_);
    }
    void read_request();
    void on_request(error_code error);
    std::optional<refusal> check_access(std::string_view target) const;
    void answer(api_answer a, bool keep_alive);
    void start_body(api_answer a);
    void start_session(std::shared_ptr<socket_session> of);
    void wait_for_peer();
    void pump();
    void write_chunk(std::string text);
    void end_chunks();
    void fill_headers(http::fields& into, const api_answer& a) const;

    reception* door_;
    server_stream stream_;
    std::weak_ptr<listener> home_;
    beast::flat_buffer buffer_;
    std::optional<request_parser> parser_;
    std::optional<response> response_;

    std::unique_ptr<body_stream> body_;
    std::optional<http::response<http::empty_body>> body_header_;
    std::optional<http::response_serializer<http::empty_body>> body_serializer_;
    std::string chunk_;
    char ignored_ = 0;
    bool writing_ = false;
    bool pump_posted_ = false;
    bool closed_ = false;
};

class listener final : public http_face, public std::enable_shared_from_this<listener> {
public:
    explicit listener(reception& door) : door_(&door), acceptor_(door.executor()) {}

    result<std::uint16_t> listen(const std::string& address, std::uint16_t port) override {
        error_code error;
        const auto ip = asio::ip::make_address(address, error);
        const tcp::endpoint endpoint(ip, port);
        if (!error) {
            acceptor_.open(endpoint.protocol(), error);
        }
        if (!error) {
            acceptor_.set_option(asio::socket_base::reuse_address(true), error);
        }
        if (!error) {
            acceptor_.bind(endpoint, error);
        }
        if (!error) {
            acceptor_.listen(asio::socket_base::max_listen_connections, error);
        }
        if (error) {
            api_error e;
            e.code = errc::connect;
            e.message = fmt::format("cannot listen on {}:{}: {}", address, port, error.message());
            return e;
        }
        if (!door_->options().token.empty()) {
            tls_.emplace(make_tls_identity(address));
            certificate_ = tls_->certificate_pem;
        }
        const std::uint16_t got = acceptor_.local_endpoint(error).port();
        accept();
        return got;
    }

    const std::string& certificate() const override { return certificate_; }

    void stop() override {
        error_code ignored;
        acceptor_.close(ignored);
        const std::set<open_connection*> all = connections_;
        for (open_connection* c : all) {
            c->close();
        }
    }

    void add(open_connection& c) { connections_.insert(&c); }
    void remove(open_connection& c) { connections_.erase(&c); }

private:
    void accept() {
        acceptor_.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
            if (error == asio::error::operation_aborted || !self->acceptor_.is_open()) {
                return;
            }
            if (!error) {
                socket.set_option(tcp::no_delay(true), error);
                asio::ssl::context* tls = self->tls_ ? &self->tls_->context : nullptr;
                std::make_shared<session>(*self->door_, std::move(socket), tls, self)->start();
            }
            self->accept();
        });
    }

    reception* door_;
    tcp::acceptor acceptor_;
    std::set<open_connection*> connections_;
    std::optional<tls_identity> tls_;
    std::string certificate_;
};

void session::start() {
    if (const auto home = home_.lock()) {
        home->add(*this);
    }
    auto* tls = std::get_if<tls_stream>(&stream_);
    if (tls == nullptr) {
        read_request();
        return;
    }
    tls->async_handshake(tls_stream::server, [self = shared_from_this()](error_code error) {
        if (error) {
            self->close();
        } else if (!self->closed_) {
            self->read_request();
        }
    });
}

void session::close() {
    if (std::exchange(closed_, true)) {
        return;
    }
    if (const auto home = home_.lock()) {
        home->remove(*this);
    }
    door_->remove(*this);
    body_.reset();
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_both, ignored);
    socket().close(ignored);
}

void session::read_request() {
    parser_.emplace();
    parser_->body_limit(body_limit);
    parser_->header_limit(header_limit);
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        self->on_request(error);
    };
    std::visit([&](auto& to) { http::async_read(to, buffer_, *parser_, done); }, stream_);
}

std::optional<refusal> session::check_access(std::string_view target) const {
    const auto& request = parser_->get();
    const std::string& token = door_->options().token;
    if (token.empty()) {
        if (request.find(http::field::origin) != request.end() ||
            !is_local_host(to_view(request[http::field::host]))) {
            return browser_refused();
        }
        return std::nullopt;
    }
    if (target == "/healthz" || target == "/livez" || target == "/readyz") {
        return std::nullopt;
    }
    const std::string_view sent = to_view(request[http::field::authorization]);
    constexpr std::string_view scheme = "Bearer ";
    const bool ok =
        sent.substr(0, scheme.size()) == scheme && same_secret(sent.substr(scheme.size()), token);
    return ok ? std::nullopt : std::optional(unauthorized());
}

void session::on_request(error_code error) {
    if (closed_) {
        return;
    }
    if (error == http::error::body_limit) {
        answer(api_answer(too_large()), false);
        return;
    }
    if (error) {
        close();
        return;
    }
    auto& request = parser_->get();
    const bool keep_alive = request.keep_alive();
    const std::string_view target = to_view(request.target());
    if (const auto refused = check_access(target)) {
        answer(api_answer(*refused), keep_alive);
        return;
    }
    reception::outcome_of_request done = door_->receive(
        std::string(to_view(request.method_string())),
        target,
        to_view(request[http::field::content_type]),
        std::string(to_view(request[http::field::accept])),
        std::move(request.body()),
        offer_of(request)
    );
    if (done.dropped) {
        close();
    } else if (done.answer.session) {
        start_session(std::move(done.answer.session));
    } else if (done.answer.stream) {
        start_body(std::move(done.answer));
    } else {
        answer(std::move(done.answer), keep_alive);
    }
}

void session::fill_headers(http::fields& into, const api_answer& a) const {
    for (const auto& [name, text] : a.headers) {
        into.insert(name, text);
    }
    into.set(http::field::content_type, a.content_type);
}

void session::answer(api_answer a, bool keep_alive) {
    response_.emplace();
    response_->result(static_cast<unsigned>(a.status));
    response_->version(11);
    response_->keep_alive(keep_alive);
    fill_headers(*response_, a);
    response_->body() = std::move(a.body);
    response_->prepare_payload();
    const auto done = [self = shared_from_this(), keep_alive](error_code error, std::size_t) {
        if (self->closed_) {
            return;
        }
        if (error || !keep_alive) {
            self->close();
            return;
        }
        self->response_.reset();
        self->read_request();
    };
    std::visit([&](auto& to) { http::async_write(to, *response_, done); }, stream_);
}

void session::start_body(api_answer a) {
    body_ = std::move(a.stream);
    door_->add(*this);
    std::weak_ptr<session> weak = weak_from_this();
    body_->on_ready([weak] {
        // From within a write: only posted, and once for many events.
        const auto self = weak.lock();
        if (self && !std::exchange(self->pump_posted_, true)) {
            asio::post(self->socket().get_executor(), [self] {
                self->pump_posted_ = false;
                self->pump();
            });
        }
    });
    body_header_.emplace();
    body_header_->result(static_cast<unsigned>(a.status));
    body_header_->version(11);
    body_header_->keep_alive(false);
    fill_headers(*body_header_, a);
    body_header_->chunked(true);
    body_serializer_.emplace(*body_header_);
    writing_ = true;
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        self->writing_ = false;
        if (error) {
            self->close();
            return;
        }
        self->pump();
    };
    std::visit([&](auto& to) { http::async_write_header(to, *body_serializer_, done); }, stream_);
    wait_for_peer();
}

void session::start_session(std::shared_ptr<socket_session> of) {
    const auto home = home_.lock();
    if (!home || buffer_.size() > 0) {  // nobody may speak before the answer
        close();
        return;
    }
    home->add(*serve_web_socket(
        std::move(stream_),
        parser_->release(),
        std::move(of),
        door_->world().time(),
        [home = home_](open_connection& gone) {
            if (const auto still = home.lock()) {
                still->remove(gone);
            }
        }
    ));
    close();
}

void session::wait_for_peer() {
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        if (self->closed_) {
            return;
        }
        if (error) {
            self->close();
        } else {
            self->wait_for_peer();
        }
    };
    std::visit(
        [&](auto& from) { from.async_read_some(asio::buffer(&ignored_, 1), done); }, stream_
    );
}

void session::pump() {
    if (closed_ || writing_ || !body_) {
        return;
    }
    std::string text = body_->next(body_stream::piece_size);
    if (!text.empty()) {
        write_chunk(std::move(text));
    } else if (body_->finished() && body_->broken()) {
        close();
    } else if (body_->finished()) {
        end_chunks();
    }
}

void session::write_chunk(std::string text) {
    writing_ = true;
    chunk_ = fmt::format("{:x}\r\n", text.size());
    chunk_ += text;
    chunk_ += "\r\n";
    const auto done = [self = shared_from_this()](error_code error, std::size_t) {
        self->writing_ = false;
        if (error) {
            self->close();
            return;
        }
        self->pump();
    };
    std::visit([&](auto& to) { asio::async_write(to, asio::buffer(chunk_), done); }, stream_);
}

void session::end_chunks() {
    writing_ = true;
    chunk_ = "0\r\n\r\n";
    const auto done = [self = shared_from_this()](error_code, std::size_t) { self->close(); };
    std::visit([&](auto& to) { asio::async_write(to, asio::buffer(chunk_), done); }, stream_);
}

}  // namespace

std::shared_ptr<http_face> make_http_face(reception& door) {
    return std::make_shared<listener>(door);
}

std::string kubeconfig_for(
    const std::string& address,
    std::uint16_t port,
    const std::string& token,
    const std::string& certificate
) {
    const bool tls = !certificate.empty();
    return fmt::format(
        "apiVersion: v1\n"
        "kind: Config\n"
        "clusters:\n"
        "- name: signalbox\n"
        "  cluster:\n"
        "    server: {}://{}:{}\n"
        "{}"
        "contexts:\n"
        "- name: signalbox\n"
        "  context:\n"
        "    cluster: signalbox\n"
        "    user: signalbox\n"
        "    namespace: default\n"
        "current-context: signalbox\n"
        "users:\n"
        "- name: signalbox\n"
        "  user: {}\n",
        tls ? "https" : "http",
        address.find(':') == std::string::npos ? address : "[" + address + "]",
        port,
        tls ? fmt::format("    certificate-authority-data: {}\n", base64_encode(certificate)) : "",
        token.empty() ? "{}" : fmt::format("{{token: \"{}\"}}", token)
    );
}

}  // namespace signalbox::k8sio::server
