// SPDX-License-Identifier: Apache-2.0
//
// What the API server answers over HTTP: who is let in, and requests as the reception takes them.
#include "server/faces/http_face.hpp"

#include "k8sio/base64.hpp"
#include "k8sio/http_listener.hpp"
#include "k8sio/process_memory.hpp"
#include "server/answers/body_stream.hpp"
#include "server/answers/socket_session.hpp"
#include "server/faces/tls_identity.hpp"
#include "server/faces/web_socket.hpp"
#include "server/values/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

constexpr std::uint64_t body_limit = 3 * 1024 * 1024;  // as the real server's

/// Clients keep a connection for 90 s: it ends at their side.
http_limits limits_of(const server_options& options) {
    http_limits out;
    out.connections = options.max_connections;
    out.header = 64 * 1024;
    out.body = body_limit;
    out.body_time = std::chrono::minutes{1};
    out.idle_time = std::chrono::minutes{5};
    out.answer_time = std::chrono::minutes{1};
    return out;
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

refusal body_too_large() {
    refusal r;
    r.code = 413;
    r.reason = "RequestEntityTooLarge";
    r.message = fmt::format("Request entity too large: limit is {}", body_limit);
    return r;
}

/// Adds what stands between commas.
void add_parts(std::vector<std::string>& to, std::string_view list) {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        to.emplace_back(without_blanks(list.substr(0, comma)));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
}

/// What all headers of this name list.
std::vector<std::string> listed(const served_request& request, std::string_view name) {
    std::vector<std::string> out;
    for (const auto& [key, value] : request.headers) {
        if (lower(key) == name) {
            add_parts(out, value);
        }
    }
    return out;
}

/// Whether bytes follow the header, or may.
bool has_body(const served_request& header) {
    return header.find_header("Transfer-Encoding").has_value() ||
           header.find_header("Content-Length").value_or("0") != "0";
}

upgrade_offer offer_of(const served_request& request) {
    upgrade_offer offer;
    const std::vector<std::string> options = listed(request, "connection");
    const bool upgrades = std::any_of(options.begin(), options.end(), [](const auto& one) {
        return lower(one) == "upgrade";
    });
    if (upgrades) {
        offer.to = lower(request.header("Upgrade"));
        offer.protocols = listed(request, "sec-websocket-protocol");
    }
    return offer;
}

/// A stream of the server that it can end, as long as the connection is there.
class watched_stream final : public answer_stream, public open_watch {
public:
    watched_stream(reception& door, std::unique_ptr<body_stream> of)
        : door_(&door), of_(std::move(of)) {
        door_->add(*this);
        of_->on_ready([this] { wake(); });
    }
    ~watched_stream() override { door_->remove(*this); }

    std::string next(std::size_t limit) override { return of_->next(limit); }
    bool finished() const override { return of_->finished(); }
    bool broken() const override { return of_->broken(); }
    void end() override { of_->finish(); }

private:
    reception* door_;
    std::unique_ptr<body_stream> of_;
};

/// Gives what was freed back to the system, some time after much has gone through: the C library
/// keeps it for itself.
class memory_keeper {
public:
    explicit memory_keeper(clock& time) : time_(&time) {}
    ~memory_keeper() { stop(); }
    memory_keeper(const memory_keeper&) = delete;
    memory_keeper& operator=(const memory_keeper&) = delete;

    void stop() { time_->cancel(std::exchange(timer_, 0)); }
    void passed(std::size_t bytes) {
        constexpr std::size_t much = 16 * 1024 * 1024;
        constexpr std::chrono::seconds rest{1};
        bytes_ += bytes;
        if (bytes_ > much && timer_ == 0) {
            timer_ = time_->schedule(time_->steady_now() + rest, [this] {
                timer_ = 0;
                bytes_ = 0;
                release_free_memory();
            });
        }
    }

private:
    clock* time_;
    clock::timer_id timer_ = 0;
    std::size_t bytes_ = 0;
};

class face final : public http_face, public request_handler {
public:
    explicit face(reception& door)
        : door_(&door),
          memory_(door.world().time()),
          listener_(door.executor(), door.world().time(), limits_of(door.options()), *this) {}

    result<std::uint16_t> listen(const std::string& address, std::uint16_t port) override {
        if (!door_->options().token.empty()) {
            const tls_identity own = make_tls_identity(address);
            if (result<void> used = listener_.use_identity(own.certificate, own.key); !used) {
                return used.error();
            }
            certificate_ = own.certificate;
        }
        result<std::uint16_t> got = listener_.listen(address, port);
        if (!got) {
            api_error e = got.error();
            e.code = errc::connect;
            e.message = fmt::format("cannot listen on {}:{}: {}", address, port, e.message);
            return e;
        }
        return got;
    }
    const std::string& certificate() const override { return certificate_; }
    void stop() override {
        listener_.stop();
        memory_.stop();
    }

    std::optional<served_answer> refuse(const served_request& header) override;
    served_answer answer(served_request request) override;
    served_answer too_large() override { return to_served(body_too_large()); }

private:
    served_answer to_served(api_answer from) const;

    reception* door_;
    std::string certificate_;
    memory_keeper memory_;
    http_listener listener_;
};

std::optional<served_answer> face::refuse(const served_request& header) {
    const std::string& token = door_->options().token;
    if (token.empty()) {
        return may_be_from_web_page(header) ? std::optional(to_served(browser_refused()))
                                            : std::nullopt;
    }
    const std::string_view target = header.target;
    const bool open_to_all = target == "/healthz" || target == "/livez" || target == "/readyz";
    if ((open_to_all && !has_body(header)) || bears_token(header, token)) {
        return std::nullopt;
    }
    return to_served(unauthorized());
}

served_answer face::answer(served_request request) {
    const std::size_t received = request.body.size();
    reception::outcome_of_request done = door_->receive(
        request.method,
        request.target,
        request.header("Content-Type"),
        std::string(request.header("Accept")),
        std::move(request.body),
        offer_of(request)
    );
    if (done.dropped) {
        served_answer none;
        none.drop = true;
        return none;
    }
    memory_.passed(received + done.answer.body.size());
    return to_served(std::move(done.answer));
}

served_answer face::to_served(api_answer from) const {
    served_answer out;
    out.status = static_cast<unsigned>(from.status);
    out.headers = std::move(from.headers);
    out.headers.emplace_back("Content-Type", std::move(from.content_type));
    out.body = std::move(from.body);
    if (from.stream) {
        out.stream = std::make_unique<watched_stream>(*door_, std::move(from.stream));
    }
    if (from.session) {
        out.upgrade = [session = std::move(from.session),
                       time = &door_->world().time()](serving::taken_connection&& taken) {
            return serve_web_socket(std::move(taken), session, *time);
        };
    }
    return out;
}

}  // namespace

std::shared_ptr<http_face> make_http_face(reception& door) {
    return std::make_shared<face>(door);
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
