// SPDX-License-Identifier: Apache-2.0
#include "http/http_server.hpp"

#include "http/changing_file.hpp"
#include "http/listen_address.hpp"

#include <k8sio/resource.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace signalbox::op {

std::optional<std::string_view> below(std::string_view path, std::string_view endpoint) {
    if (!path.starts_with(endpoint)) {
        return std::nullopt;
    }
    path.remove_prefix(endpoint.size());
    const bool exact = path.empty() || path == "/";
    return exact                 ? std::optional(std::string_view())
           : path.front() == '/' ? std::optional(path.substr(1))
                                 : std::nullopt;
}

http_answer plain_answer(unsigned status, std::string text) {
    http_answer out;
    out.status = status;
    out.body = std::move(text);
    return out;
}

namespace {

/// Editors end a file with a newline.
std::string_view without_end(std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \r\n") + 1);
}

}  // namespace

struct http_server::impl final : k8sio::request_handler {
    impl(
        boost::asio::any_io_executor executor,
        k8sio::clock& time,
        http_server_options settings,
        http_handler answers
    )
        : options(std::move(settings)),
          handler(std::move(answers)),
          certificate(options.tls_cert_file),
          key(options.tls_key_file),
          token(options.token_file),
          listener(std::move(executor), time, options.limits, *this) {}

    std::string start();
    std::string read_files();
    std::string load_identity();
    bool is_trusted(const k8sio::served_request& request);

    void connecting() override;
    k8sio::served_answer answer(k8sio::served_request request) override;

    http_server_options options;
    http_handler handler;
    changing_file certificate;
    changing_file key;
    changing_file token;
    k8sio::http_listener listener;
};

std::string http_server::impl::load_identity() {
    const auto used = listener.use_identity(certificate.text(), key.text());
    if (used) {
        return {};
    }
    const std::string& why = used.error().message;
    return used.error().code == k8sio::errc::tls
               ? fmt::format("{}: no certificate: {}", options.tls_cert_file, why)
               : fmt::format("{}: no key of the certificate: {}", options.tls_key_file, why);
}

std::string http_server::impl::read_files() {
    if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
        return "a certificate and its key belong together";
    }
    for (changing_file* file : {&certificate, &key, &token}) {
        file->refresh();
        if (!file->problem().empty()) {
            return file->problem();
        }
    }
    if (!options.token_file.empty() && without_end(token.text()).empty()) {
        return fmt::format("{}: there is no token in it", options.token_file);
    }
    if (!options.tls_cert_file.empty()) {
        return load_identity();
    }
    return {};
}

std::string http_server::impl::start() {
    const std::optional<listen_address> wanted = read_listen_address(options.address);
    if (!wanted) {
        return fmt::format("`{}` is not ADDRESS:PORT", options.address);
    }
    if (std::string wrong = read_files(); !wrong.empty()) {
        return wrong;
    }
    const std::string host = wanted->host == "localhost" ? "127.0.0.1" : wanted->host;
    const auto listens = listener.listen(host, wanted->port);
    if (listens) {
        return {};
    }
    return listens.error().code == k8sio::errc::invalid_argument
               ? fmt::format("`{}` is not ADDRESS:PORT", options.address)
               : fmt::format("cannot listen at {}: {}", options.address, listens.error().message);
}

void http_server::impl::connecting() {
    const bool other_certificate = certificate.refresh();
    const bool other_key = key.refresh();
    if (other_certificate || other_key) {
        load_identity();  // one half of a new pair: the one before stays
    }
}

bool http_server::impl::is_trusted(const k8sio::served_request& request) {
    if (options.token_file.empty()) {
        return true;
    }
    token.refresh();
    return k8sio::bears_token(request, without_end(token.text()));
}

k8sio::served_answer http_server::impl::answer(k8sio::served_request request) {
    const std::string& target = request.target;
    const std::size_t mark = std::min(target.find('?'), target.size());
    http_question question;
    question.method = request.method;
    question.path = k8sio::percent_decode(target.substr(0, mark));
    question.query = target.substr(std::min(mark + 1, target.size()));
    question.trusted = is_trusted(request);
    question.bearer = k8sio::bearer_token(request);
    question.from_web_page = k8sio::may_be_from_web_page(request);
    question.body = std::move(request.body);
    http_answer given = handler(question);
    k8sio::served_answer out;
    out.status = given.status;
    out.headers = {
        {"Content-Type", given.content_type},
        {"Cache-Control", "no-cache, private"},
        {"X-Content-Type-Options", "nosniff"}};
    if (given.status == 401) {
        out.headers.emplace_back("WWW-Authenticate", "Bearer");
    }
    out.body = std::move(given.body);
    return out;
}

http_server::http_server(
    boost::asio::any_io_executor executor,
    k8sio::clock& time,
    http_server_options options,
    http_handler handler
)
    : impl_(
          std::make_unique<impl>(std::move(executor), time, std::move(options), std::move(handler))
      ) {}

http_server::~http_server() = default;

std::string http_server::start() {
    return impl_->start();
}

std::string http_server::start(int socket) {
    if (std::string wrong = impl_->read_files(); !wrong.empty()) {
        ::close(socket);
        return wrong;
    }
    const auto listens = impl_->listener.listen(socket);
    return listens ? std::string() : listens.error().message;
}

std::string http_server::address() const {
    return impl_->listener.address();
}

void http_server::stop() {
    impl_->listener.stop();
}

}  // namespace signalbox::op
