// SPDX-License-Identifier: Apache-2.0
#include "transport/http_transport.hpp"

#include "client/cancellable_task.hpp"
#include "client/files.hpp"
#include "client/impersonation.hpp"
#include "client/server_url.hpp"

namespace signalbox::k8sio {

namespace {

/// Each connection that waits for bytes has room for so many: most answers and events are smaller.
constexpr std::size_t read_size = 8u << 10;
/// Of an answer that says why there is no body in pieces.
constexpr std::size_t refusal_limit = 1u << 20;

/// Reads on until the header of the answer is there, or, for `whole`, all of it. Errors:
/// connection_lost, bad_response, too_large, cancelled. The body of an answer with 2xx goes to
/// `on_body` as it comes, if there is one.
using body_function = std::function<bool(std::string_view)>;
asio::awaitable<result<void>> read_answer(
    byte_stream& connection,
    protocol::answer_reader& reader,
    bool whole,
    const body_function& on_body
) {
    std::string buffer(read_size, '\0');
    while (whole ? !reader.done() : !reader.header_done()) {
        auto count = co_await connection.read_some(buffer.data(), buffer.size());
        if (count.has_error()) {
            co_return std::move(count).error();
        }
        const bool ended = *count == 0;
        const bool good =
            ended ? reader.feed_end() : reader.feed(std::string_view(buffer).substr(0, *count));
        if (!good) {
            co_return make_error(reader.failure(), reader.failure_text());
        }
        if (ended && !reader.done()) {
            co_return make_error(errc::connection_lost, "end of stream");
        }
        const bool wanted = on_body && reader.header_done() && reader.status() / 100 == 2;
        if (on_body && !wanted && reader.body_size() > refusal_limit) {
            co_return make_error(errc::too_large, "the answer's body");
        }
        if (wanted && reader.has_body() && !on_body(reader.take_body())) {
            co_return make_error(errc::bad_response, "the body is not what was asked for");
        }
    }
    co_return result<void>();
}

class http_stream final : public response_stream {
public:
    http_stream(
        clock& time,
        connection_pool& pool,
        std::unique_ptr<byte_stream> connection,
        std::unique_ptr<protocol::answer_reader> reader,
        std::chrono::nanoseconds idle,
        std::uint64_t keys_number,
        const std::uint64_t& keys_now
    )
        : time_(&time),
          mark_(pool),
          connection_(std::move(connection)),
          reader_(std::move(reader)),
          idle_(idle),
          status_(reader_->status()),
          keys_number_(keys_number),
          keys_now_(&keys_now) {}

    int status() const override { return status_; }
    std::string_view header(std::string_view name) const override { return reader_->header(name); }

    asio::awaitable<result<std::string_view>> read_some() override {
        asio::cancellation_signal signal;
        if (!closed_ && !reader_->has_body() && !reader_->done()) {
            asio::awaitable<result<void>> task = read_more();
            auto done = co_await run_cancellable(signal, std::move(task));
            if (done.has_error()) {
                connection_->close();
                closed_ = true;
                co_return std::move(done).error();
            }
        }
        if (closed_) {
            co_return make_error(errc::cancelled, "stream is closed");
        }
        piece_ = reader_->take_body();
        co_return std::string_view(piece_);
    }

    void close() override {
        closed_ = true;
        connection_->close();
    }
    bool outdated() const override { return keys_number_ != *keys_now_; }

private:
    /// Until there are bytes of the body, or its end.
    asio::awaitable<result<void>> read_more() {
        std::string buffer(read_size, '\0');
        co_await asio::this_coro::throw_if_cancelled(false);
        const steady_time until =
            time_->steady_now() + std::chrono::duration_cast<steady_time::duration>(idle_);
        deadline_guard guard(*time_, until, *connection_);
        while (!reader_->has_body() && !reader_->done()) {
            auto count = co_await connection_->read_some(buffer.data(), buffer.size());
            if (count.has_error()) {
                co_return guard.explain(std::move(count).error(), "stream idle");
            }
            const bool ended = *count == 0;
            const bool good = ended ? reader_->feed_end()
                                    : reader_->feed(std::string_view(buffer).substr(0, *count));
            if (!good) {
                co_return make_error(reader_->failure(), reader_->failure_text());
            }
        }
        co_return result<void>();
    }

    clock* time_;
    stream_mark mark_;
    std::unique_ptr<byte_stream> connection_;
    std::unique_ptr<protocol::answer_reader> reader_;
    std::chrono::nanoseconds idle_;
    int status_;
    std::uint64_t keys_number_;
    const std::uint64_t* keys_now_;  // the transport's
    std::string piece_;
    bool closed_ = false;
};

}  // namespace

http_transport::http_transport(
    clock& time,
    std::unique_ptr<connector> to_server,
    protocol::request_frame frame,
    std::unique_ptr<login> credentials,
    http_transport_options options
)
    : time_(&time),
      connector_(std::move(to_server)),
      frame_(std::move(frame)),
      credentials_(std::move(credentials)),
      options_(options),
      pool_(time, options.max_connections, options.max_idle) {}

result<std::string> http_transport::prepare(
    const http_request& request, const protocol::access& access
) {
    if (access.keys_number > keys_number_) {
        auto used = connector_->use_keys(credentials_->keys());
        if (used.has_error()) {  // they were found good before
            return make_error(errc::credentials, "new keys: " + used.error().message);
        }
        keys_number_ = access.keys_number;
        pool_.drop_idle();
    }
    protocol::request_frame frame = frame_;
    frame.authorization = access.authorization;
    auto bytes = protocol::render_request(request, frame);
    if (!bytes) {
        return make_error(errc::invalid_argument, "target or header with blanks or line ends");
    }
    return std::move(*bytes);
}

void http_transport::note_failure(const api_error& error) {
    if (error.code == errc::tls) {
        credentials_->doubt();
    }
}

asio::awaitable<result<http_response>> http_transport::exchange(
    const http_request& request, steady_time deadline
) {
    asio::cancellation_signal signal;
    asio::awaitable<result<http_response>> task = exchange_task(request, deadline);
    co_return co_await run_cancellable(signal, std::move(task));
}

asio::awaitable<result<http_response>> http_transport::exchange_task(
    const http_request& request, steady_time deadline
) {
    bool again = false;
    co_await asio::this_coro::throw_if_cancelled(false);
    auto permit = co_await pool_.enter(deadline);
    if (permit.has_error()) {
        co_return std::move(permit).error();
    }
    for (;;) {
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) {
            co_return make_error(errc::cancelled, {});
        }
        const auto access = co_await credentials_->get(deadline);
        if (access.has_error()) {
            co_return access.error();
        }
        auto answer = co_await attempt(request, *access, deadline);
        const bool refused = answer.has_value() && answer->status == 401;
        if (again || !refused || !credentials_->refused(*access)) {
            co_return answer;
        }
        again = true;  // C2, C7: once more with what is new
    }
}

asio::awaitable<result<http_response>> http_transport::attempt(
    const http_request& request, const protocol::access& access, steady_time deadline
) {
    auto bytes = prepare(request, access);
    if (bytes.has_error()) {
        co_return std::move(bytes).error();
    }
    std::unique_ptr<byte_stream> connection = pool_.take_idle();
    const bool kept = connection != nullptr;
    if (!kept) {
        auto made = co_await connector_->connect(deadline);
        if (made.has_error()) {
            note_failure(made.error());
            co_return std::move(made).error();
        }
        connection = std::move(*made);
    }
    if (request.may_send && !request.may_send()) {
        pool_.give_back(std::move(connection));
        co_return make_error(errc::cancelled, "not to be sent any more");
    }
    deadline_guard guard(*time_, deadline, *connection);
    using body_kind = protocol::answer_reader::body_kind;
    protocol::answer_reader reader(
        options_.header_limit,
        options_.body_limit,
        request.on_body ? body_kind::stream : body_kind::unary
    );
    auto sent = co_await connection->write_all(*bytes);
    if (sent.has_error()) {
        pool_.drop_idle();
        co_return guard.explain(std::move(sent).error(), "writing the request");
    }
    auto done = co_await read_answer(*connection, reader, true, request.on_body);
    if (done.has_error()) {
        pool_.drop_idle();
        co_return guard.explain(std::move(done).error(), "waiting for the answer");
    }
    const bool keys_changed = access.keys_number != keys_number_;
    if (reader.reusable() && !guard.fired() && !keys_changed) {
        pool_.give_back(std::move(connection));
    }
    co_return reader.take();
}

asio::awaitable<result<std::unique_ptr<response_stream>>> http_transport::open_stream(
    const http_request& request, std::chrono::nanoseconds idle
) {
    asio::cancellation_signal signal;
    asio::awaitable<result<std::unique_ptr<response_stream>>> task = open_task(request, idle);
    co_return co_await run_cancellable(signal, std::move(task));
}

asio::awaitable<result<std::unique_ptr<response_stream>>> http_transport::open_task(
    const http_request& request, std::chrono::nanoseconds idle
) {
    bool again = false;
    co_await asio::this_coro::throw_if_cancelled(false);
    for (;;) {
        const steady_time until = now() + std::chrono::duration_cast<steady_time::duration>(idle);
        const auto access = co_await credentials_->get(until);
        if (access.has_error()) {
            co_return access.error();
        }
        auto stream = co_await open_attempt(request, *access, idle);
        const bool refused = stream.has_value() && (*stream)->status() == 401;
        if (again || !refused || !credentials_->refused(*access)) {
            co_return stream;
        }
        again = true;
    }
}

asio::awaitable<result<std::unique_ptr<response_stream>>> http_transport::open_attempt(
    const http_request& request, const protocol::access& access, std::chrono::nanoseconds idle
) {
    auto bytes = prepare(request, access);
    if (bytes.has_error()) {
        co_return std::move(bytes).error();
    }
    const steady_time until = now() + std::chrono::duration_cast<steady_time::duration>(idle);
    // A kept one, mostly that of the list before: it is the watch's own from here on (T2).
    if (std::unique_ptr<byte_stream> kept = pool_.take_idle()) {
        auto stream = co_await open_on(std::move(kept), *bytes, until, idle, access.keys_number);
        // What was closed meanwhile says nothing about the server.
        if (stream.has_value() || stream.error().code != errc::connection_lost) {
            co_return stream;
        }
        pool_.drop_idle();
    }
    auto connection = co_await connector_->connect(until);
    if (connection.has_error()) {
        note_failure(connection.error());
        co_return std::move(connection).error();
    }
    co_return co_await open_on(std::move(*connection), *bytes, until, idle, access.keys_number);
}

asio::awaitable<result<std::unique_ptr<response_stream>>> http_transport::open_on(
    std::unique_ptr<byte_stream> connection,
    std::string_view bytes,
    steady_time until,
    std::chrono::nanoseconds idle,
    std::uint64_t keys_number
) {
    deadline_guard guard(*time_, until, *connection);
    auto sent = co_await connection->write_all(bytes);
    if (sent.has_error()) {
        co_return guard.explain(std::move(sent).error(), "writing the request");
    }
    auto reader = std::make_unique<protocol::answer_reader>(
        options_.header_limit, options_.body_limit, protocol::answer_reader::body_kind::stream
    );
    const body_function none;
    auto done = co_await read_answer(*connection, *reader, false, none);
    if (done.has_error()) {
        co_return guard.explain(std::move(done).error(), "waiting for the answer's header");
    }
    std::unique_ptr<response_stream> stream = std::make_unique<http_stream>(
        *time_, pool_, std::move(connection), std::move(reader), idle, keys_number, keys_number_
    );
    co_return stream;
}

namespace {

std::string authority(const cluster_config& config) {
    const bool v6 = config.host.find(':') != std::string::npos;
    std::string host = v6 ? "[" + config.host + "]" : config.host;
    const bool usual = config.port == (config.scheme == "https" ? "443" : "80");
    return usual ? host : host + ":" + config.port;
}

bool has_credentials(const cluster_config& config) {
    return !config.token.empty() || !config.token_file.empty() || !config.username.empty() ||
           config.exec.has_value();
}

result<std::unique_ptr<connector>> make_connector(
    const asio::any_io_executor& executor,
    clock& time,
    const cluster_config& config,
    const http_transport_options& options
) {
    if (config.scheme == "http" && has_credentials(config) && !config.credentials_over_http) {
        return make_error(
            errc::invalid_argument,
            "credentials would be readable on their way to http://" + authority(config)
        );
    }
    if (config.scheme == "http") {
        return make_tcp_connector(executor, time, config, options);
    }
    if (config.scheme == "https") {
        return make_tls_connector(executor, time, config, options);
    }
    return make_error(errc::invalid_argument, "bad scheme '" + config.scheme + "'");
}

std::unique_ptr<login> make_login(
    const asio::any_io_executor& executor,
    clock& time,
    const cluster_config& config,
    const connector& to_server,
    const http_transport_options& options
) {
    std::unique_ptr<plugin_runner> runner;
    if (config.exec) {
        runner = make_process_runner(executor, time);
    }
    const auto check = [&to_server](const protocol::tls_keys& keys) {
        const auto good = to_server.check_keys(keys);
        return good.has_error() ? good.error().message : std::string();
    };
    protocol::credentials credentials(config, read_whole_file, check);
    return std::make_unique<login>(time, std::move(credentials), std::move(runner), options.notice);
}

}  // namespace

result<std::unique_ptr<transport>> make_http_transport(
    asio::any_io_executor executor,
    clock& time,
    cluster_config config,
    http_transport_options options
) {
    if (config.host.empty() || !is_port(config.port)) {
        return make_error(errc::invalid_argument, "bad server '" + authority(config) + "'");
    }
    auto to_server = make_connector(executor, time, config, options);
    if (to_server.has_error()) {
        return std::move(to_server).error();
    }
    protocol::request_frame frame;
    frame.host = authority(config);
    frame.path_prefix = config.path_prefix;
    frame.user_agent = config.user_agent;
    frame.headers = impersonation_headers(config.as);
    auto credentials = make_login(executor, time, config, **to_server, options);
    std::unique_ptr<transport> made = std::make_unique<http_transport>(
        time, std::move(*to_server), std::move(frame), std::move(credentials), options
    );
    return made;
}

}  // namespace signalbox::k8sio
