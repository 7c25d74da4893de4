// SPDX-License-Identifier: Apache-2.0
//
// TLS (REQUIREMENTS.md T9): chain and host name are verified unless the configuration says
// otherwise.
#include "transport/tls_stream.hpp"

#include <boost/asio/ssl/context.hpp>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace signalbox::k8sio {

namespace ssl = boost::asio::ssl;

namespace {

using tcp = asio::ip::tcp;

bool is_address(const std::string& text) {
    boost::system::error_code error;
    asio::ip::make_address(text, error);
    return !error;
}

api_error key_error(std::string_view what, const boost::system::error_code& reason) {
    return make_error(errc::tls, std::string(what) + ": " + reason.message());
}

result<void> load_keys(ssl::context& context, const protocol::tls_keys& keys, bool verify) {
    boost::system::error_code error;
    if (!verify) {
        context.set_verify_mode(ssl::verify_none);
    } else {
        context.set_verify_mode(ssl::verify_peer);
        if (keys.ca_pem.empty()) {
            context.set_default_verify_paths(error);
        } else {
            context.add_certificate_authority(asio::buffer(keys.ca_pem), error);
        }
        if (error) {
            return key_error("certificate authority", error);
        }
    }
    if (keys.client_cert_pem.empty()) {
        return {};
    }
    context.use_certificate_chain(asio::buffer(keys.client_cert_pem), error);
    if (error) {
        return key_error("client certificate", error);
    }
    // OpenSSL compares the key with the certificate just loaded.
    const std::string& key = keys.client_key_pem.reveal();
    if (key.find("ENCRYPTED") != std::string::npos) {
        return make_error(
            errc::tls, "client key: is encrypted, and there is no one to ask for its password"
        );
    }
    context.use_private_key(asio::buffer(key), ssl::context::pem, error);
    if (error) {
        return key_error("client key", error);
    }
    return {};
}

class tls_connector final : public connector {
public:
    tls_connector(
        tcp_opener opener,
        clock& time,
        const cluster_config& config,
        std::chrono::nanoseconds tls_timeout
    )
        : opener_(std::move(opener)),
          time_(&time),
          verify_(!config.insecure_skip_tls_verify),
          name_(config.tls_server_name.empty() ? config.host : config.tls_server_name),
          tls_timeout_(tls_timeout) {}

    result<void> check_keys(const protocol::tls_keys& keys) const override {
        ssl::context fresh(ssl::context::tls_client);
        return load_keys(fresh, keys, verify_);
    }

    result<void> use_keys(const protocol::tls_keys& keys) override {
        ssl::context fresh(ssl::context::tls_client);
        SSL_CTX_set_min_proto_version(fresh.native_handle(), TLS1_2_VERSION);
        auto loaded = load_keys(fresh, keys, verify_);
        if (loaded.has_value()) {
            context_ = std::move(fresh);  // connections that live hold the old one
        }
        return loaded;
    }

    asio::awaitable<result<std::unique_ptr<byte_stream>>> connect(steady_time deadline) override {
        auto socket = co_await opener_.open(deadline);
        if (socket.has_error()) {
            co_return std::move(socket).error();
        }
        auto stream = std::make_unique<tls_stream>(std::move(*socket), context_);
        if (!name_peer(stream->native_handle())) {
            co_return make_error(errc::tls, "bad server name '" + name_ + "'");
        }
        auto done = co_await handshake(*stream, deadline);
        if (done.has_error()) {
            opener_.avoid(stream->socket());
            co_return std::move(done).error();
        }
        std::unique_ptr<byte_stream> ready = std::move(stream);
        co_return ready;
    }

private:
    /// Whom we want to talk to: for SNI (not for addresses, RFC 6066) and for verification.
    bool name_peer(SSL* handle) const {
        const bool address = is_address(name_);
        bool ok = true;
        if (!address) {
            // What the macro SSL_set_tlsext_host_name does, without its C cast.
            char* name = const_cast<char*>(name_.c_str());
            ok = SSL_ctrl(handle, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name) ==
                 1;
        }
        if (verify_ && address) {
            ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(handle), name_.c_str()) == 1;
        } else if (verify_) {
            SSL_set_hostflags(
                handle, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
            );
            ok = ok && SSL_set1_host(handle, name_.c_str()) == 1;
        }
        return ok;
    }

    asio::awaitable<result<void>> handshake(tls_stream& stream, steady_time deadline) {
        const auto limit = std::chrono::duration_cast<steady_time::duration>(tls_timeout_);
        const steady_time until = std::min(deadline, time_->steady_now() + limit);
        deadline_guard guard(*time_, until, stream);
        const boost::system::error_code error = co_await stream.handshake();
        if (!error && !guard.fired()) {
            co_return result<void>();
        }
        api_error failure = network_error(errc::tls, opener_.where(), error);
        const long verdict = SSL_get_verify_result(stream.native_handle());
        if (verdict != X509_V_OK) {
            failure.message += std::string(" (") + X509_verify_cert_error_string(verdict) + ")";
        }
        const std::string hanging = opener_.where() + ": the handshake does not end";
        co_return guard.explain(std::move(failure), hanging, errc::tls);
    }

    tcp_opener opener_;
    clock* time_;
    ssl::context context_{ssl::context::tls_client};
    bool verify_;
    std::string name_;
    std::chrono::nanoseconds tls_timeout_;
};

}  // namespace

result<std::unique_ptr<connector>> make_tls_connector(
    asio::any_io_executor executor,
    clock& time,
    const cluster_config& config,
    const http_transport_options& options
) {
    tcp_opener opener(std::move(executor), time, config, options);
    std::unique_ptr<connector> made =
        std::make_unique<tls_connector>(std::move(opener), time, config, options.tls_timeout);
    auto used = made->use_keys(protocol::tls_keys(config));
    if (used.has_error()) {
        return used.error();
    }
    return made;
}

}  // namespace signalbox::k8sio
