// SPDX-License-Identifier: Apache-2.0
//
// The real transport and a server on the loopback interface, in one event loop.
#pragma once

#include "k8sio/client.hpp"
#include "k8sio/config.hpp"
#include "transport/certificates.hpp"
#include "transport/raw_server.hpp"

#include <boost/asio/co_spawn.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace signalbox::k8sio::test {

namespace ssl = boost::asio::ssl;

inline reply ok(after next = after::keep) {
    return {"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"kind\":\"Pod\"}", next};
}

struct loopback_world {
    loopback_world() : time(loop.get_executor(), wall_time()) {
        config.scheme = "http";
        config.host = "127.0.0.1";
    }
    ~loopback_world() {
        transport.reset();
        if (server) {
            server->stop();
        }
        loop.restart();
        loop.poll();
    }
    void serve(raw_server::handler answer, const char* address = "127.0.0.1") {
        server = std::make_unique<raw_server>(loop, std::move(answer), tls, address);
        config.port = server->port();
        connect();
    }
    void connect() {
        auto made = make_http_transport(loop.get_executor(), time, config, options);
        REQUIRE(made.has_value());
        transport = std::move(*made);
    }
    /// Runs `work` to its end. As soon as `stalled` is true and nothing happens, an hour passes.
    template <class T>
    T run(boost::asio::awaitable<T> work, const std::function<bool()>& stalled = nullptr) {
        std::optional<T> value;
        boost::asio::co_spawn(loop, std::move(work), [&](std::exception_ptr, T got) {
            value.emplace(std::move(got));
        });
        bool passed = !stalled;
        while (!value) {
            loop.restart();
            if (loop.poll_one() > 0) {
                continue;
            }
            if (!passed && stalled()) {
                passed = true;
                time.advance(std::chrono::hours{1});
            } else {
                loop.run_one();
            }
        }
        return std::move(*value);
    }
    result<http_response> exchange(const std::function<bool()>& stalled = nullptr) {
        return run(
            transport->exchange(request, time.steady_now() + std::chrono::seconds{30}), stalled
        );
    }
    result<std::string> get() {
        client api(*transport, time);
        return run(api.get(resources::pods(), "a", "b"));
    }
    void use_tls(const certificate& own, const certificate* client_ca = nullptr) {
        tls = std::make_shared<ssl::context>(ssl::context::tls_server);
        tls->use_certificate(boost::asio::buffer(own.pem()), ssl::context::pem);
        tls->use_private_key(boost::asio::buffer(own.key_pem()), ssl::context::pem);
        if (client_ca != nullptr) {
            tls->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
            tls->add_certificate_authority(boost::asio::buffer(client_ca->pem()));
        }
        config.scheme = "https";
        config.ca_pem = authority.pem();
    }

    boost::asio::io_context loop;
    virtual_clock time;  // sockets are real, timeouts come when a test says so
    cluster_config config;
    http_transport_options options;
    certificate authority{"authority", "", nullptr};
    std::shared_ptr<ssl::context> tls;
    std::unique_ptr<raw_server> server;
    std::unique_ptr<k8sio::transport> transport;
    http_request request{"GET", "/api"};
};

}  // namespace signalbox::k8sio::test
