// SPDX-License-Identifier: Apache-2.0
#include "transport/tls_stream.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>

#include <cerrno>
#include <new>

namespace signalbox::k8sio {

namespace {

using tcp = asio::ip::tcp;
using boost::system::error_code;

int handle_of(BIO* bio) {
    return static_cast<tcp::socket*>(BIO_get_data(bio))->native_handle();
}

/// What recv() or send() gave, as OpenSSL wants it.
int told(BIO* bio, ssize_t count, int why) {
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_flags(bio, why | BIO_FLAGS_SHOULD_RETRY);
    }
    return static_cast<int>(count);
}

int receive(BIO* bio, char* data, int size) {
    const auto count = ::recv(handle_of(bio), data, static_cast<std::size_t>(size), 0);
    return told(bio, count, BIO_FLAGS_READ);
}

/// As OpenSSL's own, but that a peer who has gone is no signal.
int transmit(BIO* bio, const char* data, int size) {
    const auto count = ::send(handle_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    return told(bio, count, BIO_FLAGS_WRITE);
}

long control(BIO*, int what, long, void*) {
    return what == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
    static const BIO_METHOD* const method = [] {
        BIO_METHOD* made =
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "a socket of Asio");
        if (made != nullptr) {
            BIO_meth_set_read(made, receive);
            BIO_meth_set_write(made, transmit);
            BIO_meth_set_ctrl(made, control);
        }
        return made;
    }();
    return method;
}

/// `why`, by SSL_get_error, of a step that neither did anything nor has to wait.
error_code failure_of(int why, int system) {
    switch (why) {
        case SSL_ERROR_ZERO_RETURN:
            return asio::error::eof;
        case SSL_ERROR_SYSCALL:
            return system == 0 ? error_code(asio::ssl::error::stream_truncated)
                               : error_code(system, asio::error::get_system_category());
        default:
            return {static_cast<int>(ERR_get_error()), asio::error::get_ssl_category()};
    }
}

}  // namespace

tls_stream::tls_stream(tcp::socket socket, asio::ssl::context& context)
    : socket_(std::move(socket)), ssl_(SSL_new(context.native_handle())) {
    BIO* const bio = ssl_ ? BIO_new(socket_method()) : nullptr;
    if (bio == nullptr) {
        throw std::bad_alloc();
    }
    BIO_set_data(bio, &socket_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_connect_state(ssl_.get());
    SSL_set_read_ahead(ssl_.get(), 1);  // a record in one call
    SSL_set_mode(
        ssl_.get(),
        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
            SSL_MODE_RELEASE_BUFFERS
    );
    error_code ignored;
    socket_.non_blocking(true, ignored);
}

/// As SSL_read: more than 0 is the number of bytes.
int tls_stream::take(step what, char* data, std::size_t size) {
    switch (what) {
        case step::handshake:
            return SSL_do_handshake(ssl_.get());
        case step::read:
            return SSL_read(ssl_.get(), data, static_cast<int>(size));
        case step::write:
            return SSL_write(ssl_.get(), data, static_cast<int>(size));
    }
    return -1;
}

/// Repeats the step until it has done something; `done`: how many bytes.
asio::awaitable<error_code> tls_stream::carry_out(
    step what, char* data, std::size_t size, std::size_t& done
) {
    bool waited = false;
    while (socket_.is_open()) {
        ERR_clear_error();
        errno = 0;
        const int outcome = take(what, data, size);
        const int system = errno;
        if (outcome > 0) {
            done = static_cast<std::size_t>(outcome);
            if (!waited && what == step::read) {
                // Others have their turn too while there is always something to read.
                co_await asio::post(socket_.get_executor(), asio::use_awaitable);
            }
            co_return error_code();
        }
        const int wanted = SSL_get_error(ssl_.get(), outcome);
        if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
            co_return failure_of(wanted, system);
        }
        const auto until =
            wanted == SSL_ERROR_WANT_READ ? tcp::socket::wait_read : tcp::socket::wait_write;
        auto [error] = co_await socket_.async_wait(until, asio::as_tuple(asio::use_awaitable));
        if (error) {
            co_return error;
        }
        waited = true;
    }
    co_return asio::error::operation_aborted;
}

asio::awaitable<error_code> tls_stream::handshake() {
    std::size_t unused = 0;
    co_return co_await carry_out(step::handshake, nullptr, 0, unused);
}

asio::awaitable<result<std::size_t>> tls_stream::read_some(char* data, std::size_t size) {
    std::size_t count = 0;
    const error_code error = co_await carry_out(step::read, data, size, count);
    if (error && error != asio::error::eof) {
        co_return network_error(errc::connection_lost, "read", error);
    }
    co_return count;
}

asio::awaitable<result<std::size_t>> tls_stream::write_all(std::string_view bytes) {
    std::size_t written = 0;
    while (written < bytes.size()) {
        char* const rest = const_cast<char*>(bytes.data()) + written;  // SSL_write does not write
        std::size_t count = 0;
        const error_code error =
            co_await carry_out(step::write, rest, bytes.size() - written, count);
        if (error) {
            co_return network_error(errc::connection_lost, "write", error);
        }
        written += count;
    }
    co_return written;
}

void tls_stream::close() {
    error_code ignored;
    socket_.close(ignored);
}

bool tls_stream::looks_alive() {
    return has_nothing_to_say(socket_);
}

}  // namespace signalbox::k8sio
