// SPDX-License-Identifier: Apache-2.0
//
// The verbs: each sends one request of protocol/requests with repetitions (REQUIREMENTS.md R2, R4,
// R5), and reads the answer.
#include "k8sio/client.hpp"

#include "client/cancellable_task.hpp"
#include "client/refused_stream.hpp"
#include "protocol/api_json.hpp"
#include "protocol/http_date.hpp"
#include "protocol/json_cursor.hpp"
#include "protocol/list_stream.hpp"
#include "protocol/printable.hpp"
#include "protocol/request_retry.hpp"
#include "protocol/requests.hpp"
#include "protocol/server_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

using protocol::request_error;

constexpr std::string_view json_type = "application/json";
constexpr std::size_t excerpt_size = 2048;

/// What a proxy or a broken server sent instead of an answer (REQUIREMENTS.md T14).
std::string excerpt(const http_response& answer) {
    const std::string type = protocol::printable(answer.header("Content-Type"), 100);
    if (answer.body.empty()) {
        return fmt::format("empty body of type '{}'", type);
    }
    // A broken object may be a Secret (C9); a proxy's page is what one wants to read.
    const std::size_t first = answer.body.find_first_not_of(" \t\r\n");
    const bool page = first != std::string::npos && answer.body[first] == '<';
    if (answer.status < 300 && !page) {
        return fmt::format("body of type '{}', {} bytes", type, answer.body.size());
    }
    return fmt::format(
        "body of type '{}': {}", type, protocol::printable(answer.body, excerpt_size)
    );
}

api_error bad_answer(const http_request& request, const http_response& answer) {
    api_error error = request_error(errc::bad_response, request, excerpt(answer));
    error.http_status = answer.status;
    return error;
}

/// The object of a successful answer.
result<std::string> object_in(const http_request& request, result<http_response> answer) {
    if (answer.has_error()) {
        return std::move(answer).error();
    }
    protocol::object_facts facts;
    if (!protocol::is_json_object(answer->body) ||
        !protocol::read_object_facts(answer->body, facts)) {
        return bad_answer(request, *answer);
    }
    // A Status with a status of success is an object only as the answer to a delete.
    if (facts.kind == "Status" && request.method != "DELETE") {
        return bad_answer(request, *answer);
    }
    return std::move(answer->body);
}

result<list_page> page_of(
    const http_request& request, const resource_type& type, result<http_response> answer
) {
    if (answer.has_error()) {
        return std::move(answer).error();
    }
    list_page page;
    if (!protocol::read_list(answer->body, type, page)) {
        return bad_answer(request, *answer);
    }
    return page;
}

/// The end of a page whose body went to `stream`, or still has to.
result<list_page> end_of_page(
    const http_request& request, protocol::list_stream& stream, result<http_response> answer
) {
    list_page page;
    if (answer.has_value()) {
        stream.feed(answer->body);
        if (stream.finish(page)) {
            return page;
        }
        answer->body.clear();  // it may be of any size
        api_error error = bad_answer(request, *answer);
        error.message = "no whole list";
        answer = error;
    }
    api_error error = std::move(answer).error();
    if (*stream.too_large() != '\0') {
        error.code = errc::too_large;
        error.message = stream.too_large();
    }
    return error;
}

result<std::string> text_of(result<http_response> answer) {
    if (answer.has_error()) {
        return std::move(answer).error();
    }
    return std::move(answer->body);
}

/// Splits answers into values and errors.
result<http_response> judge(const http_request& request, result<http_response> answer) {
    if (answer.has_error()) {
        api_error error = std::move(answer).error();
        if (error.method.empty()) {
            protocol::name_request(error, request);
        }
        return error;
    }
    if (answer->status < 200 || answer->status >= 300) {
        return error_from_response(request, *answer);
    }
    return answer;
}

}  // namespace

api_error error_from_response(const http_request& request, const http_response& answer) {
    api_error error = request_error(errc::http_status, request, {});
    if (!protocol::read_status(answer.body, error)) {
        error.message = excerpt(answer);
    }
    error.http_status = answer.status;
    const std::string_view wish = answer.header("Retry-After");
    int seconds = 0;
    const auto [end, bad] = std::from_chars(wish.data(), wish.data() + wish.size(), seconds);
    if (!wish.empty() && bad == std::errc{} && end == wish.data() + wish.size() && seconds >= 0) {
        error.retry_after = std::chrono::seconds{seconds};
    }
    error.audit_id = answer.header("Audit-Id");
    return error;
}

client::client(k8sio::transport& transport, clock& time, client_options options)
    : transport_(&transport),
      time_(&time),
      options_(std::move(options)),
      server_time_(std::make_unique<protocol::server_time>()),
      list_memory_(std::make_unique<protocol::list_memory>(options_.list_memory)) {}

client::~client() {
    time_->cancel(finish_timer_);
}

std::string client::user_agent() const {
    return options_.manager.empty() ? "k8sio/" SIGNALBOX_K8SIO_VERSION
                                    : options_.manager + "/" SIGNALBOX_K8SIO_VERSION;
}

/// A request that finish_by() can end.
class client::under_way {
public:
    explicit under_way(client& owner) : owner_(&owner) { owner_->under_way_.push_back(&signal); }
    ~under_way() {
        std::erase(owner_->under_way_, &signal);
        if (owner_->under_way_.empty()) {
            // A timer that pends keeps the loop, and with it a process that is done.
            owner_->time_->cancel(owner_->finish_timer_);
        }
    }
    under_way(const under_way&) = delete;
    under_way& operator=(const under_way&) = delete;

    asio::cancellation_signal signal;

private:
    client* owner_;
};

void client::finish_by(steady_time at) {
    finish_by_ = at;
    time_->cancel(finish_timer_);
    if (under_way_.empty()) {
        return;  // those that follow have it as their deadline
    }
    finish_timer_ = time_->schedule(at, [this] {
        const auto all = under_way_;  // ending one may take others out
        for (asio::cancellation_signal* each : all) {
            each->emit(asio::cancellation_type::terminal);
        }
    });
}

asio::awaitable<result<std::string>> client::get(
    const resource_type& type, std::string_view ns, std::string_view name
) {
    return object_of(protocol::object_request("GET", type, ns, name));
}

asio::awaitable<result<list_page>> client::list(
    const resource_type& type, std::string_view ns, const list_options& options
) {
    auto request = protocol::list_request(type, ns, options);
    if (request.has_error()) {
        co_return request.error();
    }
    auto answer = co_await send(*request);
    co_return page_of(*request, type, std::move(answer));
}

asio::awaitable<result<list_page>> client::list(
    const resource_type& type, std::string_view ns, const list_options& options, item_function item
) {
    auto request = protocol::list_request(type, ns, options);
    if (request.has_error()) {
        co_return request.error();
    }
    protocol::list_stream stream(type, std::move(item), *list_memory_);
    request->on_body = [&stream](std::string_view piece) { return stream.feed(piece); };
    const steady_time sent = time_->steady_now();
    auto answer = co_await send(*request);
    const std::string date(answer.has_value() ? answer->header("Date") : "");
    auto page = end_of_page(*request, stream, std::move(answer));
    if (page.has_value()) {
        note_server_time(date, sent);
    }
    co_return page;
}

asio::awaitable<result<std::string>> client::create(
    const resource_type& type, std::string_view ns, std::string body
) {
    return object_of(protocol::with_body(
        protocol::create_request(type, ns), options_.manager, json_type, std::move(body)
    ));
}

asio::awaitable<result<std::string>> client::update(
    const resource_type& type, std::string_view ns, std::string_view name, std::string body
) {
    return object_of(protocol::with_body(
        protocol::object_request("PUT", type, ns, name),
        options_.manager,
        json_type,
        std::move(body)
    ));
}

asio::awaitable<result<std::string>> client::update_status(
    const resource_type& type, std::string_view ns, std::string_view name, std::string body
) {
    return object_of(protocol::with_body(
        protocol::object_request("PUT", type, ns, name, "status"),
        options_.manager,
        json_type,
        std::move(body)
    ));
}

asio::awaitable<result<std::string>> client::merge_patch(
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string body,
    std::string_view subresource
) {
    return object_of(protocol::with_body(
        protocol::object_request("PATCH", type, ns, name, subresource),
        options_.manager,
        "application/merge-patch+json",
        std::move(body)
    ));
}

asio::awaitable<result<std::string>> client::remove(
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    const delete_options& options
) {
    return object_of(protocol::with_body(
        protocol::object_request("DELETE", type, ns, name),
        {},
        json_type,
        protocol::delete_body(options)
    ));
}

asio::awaitable<result<std::unique_ptr<response_stream>>> client::open_log(
    std::string_view ns, std::string_view name, const log_query& query
) {
    auto request = protocol::log_request(ns, name, query);
    co_await asio::this_coro::throw_if_cancelled(false);
    if (request.has_error()) {
        co_return request.error();
    }
    request->headers.emplace_back("User-Agent", user_agent());
    auto stream = co_await transport_->open_stream(*request, query.idle);
    if (stream.has_error()) {
        api_error error = std::move(stream).error();
        protocol::name_request(error, *request);
        co_return error;
    }
    const int status = (*stream)->status();
    if (status < 200 || status >= 300) {
        response_stream& refused = **stream;
        co_return co_await read_refusal(*request, refused);
    }
    co_return stream;
}

asio::awaitable<result<std::string>> client::read_log(
    std::string_view ns, std::string_view name, const log_query& query, steady_time until
) {
    auto request = protocol::log_request(ns, name, query);
    co_await asio::this_coro::throw_if_cancelled(false);
    if (request.has_error()) {
        co_return request.error();
    }
    request->headers.emplace_back("User-Agent", user_agent());
    ++requests_sent_;
    const steady_time deadline = std::min(until, finish_by_.value_or(until));
    auto answer = co_await transport_->exchange(*request, deadline);
    auto judged = judge(*request, std::move(answer));
    co_return text_of(std::move(judged));
}

asio::awaitable<result<std::string>> client::raw(
    std::string method, std::string target, std::string content_type, std::string body
) {
    http_request request(std::move(method), std::move(target));
    request.content_type = std::move(content_type);
    request.body = std::move(body);
    auto answer = co_await send(request);
    co_return text_of(std::move(answer));
}

asio::awaitable<result<std::string>> client::object_of(result<http_request> request) {
    result<http_request> asked = std::move(request);
    if (asked.has_error()) {
        co_return asked.error();
    }
    auto answer = co_await send(*asked);
    co_return object_in(*asked, std::move(answer));
}

asio::awaitable<result<http_response>> client::send(http_request& request) {
    under_way self(*this);
    asio::awaitable<result<http_response>> task = send_task(request);
    co_return co_await run_cancellable(self.signal, std::move(task));
}

asio::awaitable<result<http_response>> client::send_task(http_request& request) {
    steady_time deadline =
        time_->steady_now() +
        std::chrono::duration_cast<steady_time::duration>(options_.request_timeout);
    deadline = std::min(deadline, finish_by_.value_or(deadline));
    co_await asio::this_coro::throw_if_cancelled(false);
    protocol::request_retry retry(options_.max_retries, deadline, options_.seed + requests_sent_);
    request.headers.emplace_back("User-Agent", user_agent());
    if (request.method != "GET") {
        request.may_send = options_.may_write;
    }
    bool begun = false;  // what was given out cannot be taken back, so there is no second try
    if (request.on_body) {
        request.on_body = [&begun, inner = std::move(request.on_body)](std::string_view piece) {
            begun = true;
            return inner(piece);
        };
    }
    for (;;) {
        // Of a transport in process, too; and a wait for the next try may have been long.
        if (request.may_send && !request.may_send()) {
            co_return request_error(errc::cancelled, request, "this process may not write now");
        }
        ++requests_sent_;
        const steady_time sent = time_->steady_now();
        auto answer = co_await transport_->exchange(request, deadline);
        // The caller knows whether a body that was given out in pieces was the API's.
        if (answer.has_value() && protocol::is_api_answer(*answer)) {
            note_server_time(answer->header("Date"), sent);
        }
        if (options_.on_exchange) {
            const int status = answer.has_value() ? answer->status : 0;
            options_.on_exchange(request, status, time_->steady_now() - sent);
        }
        auto outcome = judge(request, std::move(answer));
        if (outcome.has_value()) {
            co_return outcome;
        }
        const steady_time now = time_->steady_now();
        const auto again = retry.next(outcome.error(), now);
        if (!again || begun) {
            co_return outcome;
        }
        if (*again <= now) {
            continue;
        }
        const bool reached = co_await sleep_until(*time_, *again);
        if (!reached) {
            co_return request_error(errc::cancelled, request, {});
        }
    }
}

wall_time client::server_now() const {
    return server_time_->at(time_->steady_now(), time_->wall_now());
}

void client::note_server_time(std::string_view header, steady_time sent) {
    const auto date = protocol::parse_http_date(header);
    if (!date) {
        return;
    }
    server_time_->note(*date, sent, time_->steady_now(), time_->wall_now());
    const auto notice = server_time_->take_notice();
    if (notice && options_.notice) {
        options_.notice(*notice);
    }
}

}  // namespace signalbox::k8sio
