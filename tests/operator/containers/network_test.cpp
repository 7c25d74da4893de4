// SPDX-License-Identifier: Apache-2.0
//
// The network between sandboxes, and to them.
#include "containers/netlink.hpp"
#include "containers/unix.hpp"
#include "machine.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

namespace {

using namespace signalbox::op::containers;
using namespace signalbox::op::containers::test;

/// Listens, says `listening`, and answers each line in capitals.
const char* const server =
    "exec perl -MIO::Socket -e '$| = 1; my $s = IO::Socket::INET->new(Listen => 5, LocalPort => "
    "$ARGV[0], "
    "LocalAddr => $ARGV[1]) or die $!; print \"listening\\n\"; while (my $c = $s->accept) { "
    "$_ = <$c>; print $c uc; close $c }' ";

/// Says hello to an address and port, and prints the answer.
std::string client(const std::string& address) {
    return "exec perl -MIO::Socket -e 'my $c = IO::Socket::INET->new(PeerAddr => \"" + address +
           ":80\") or die \"no: $!\\n\"; print $c \"hello\\n\"; print <$c>'";
}

TEST_CASE("sandboxes talk to each other over TCP") {
    machine m;
    const sandbox a = m.make_sandbox("a");
    const sandbox b = m.make_sandbox("b");
    CHECK(a.address != b.address);
    const auto listener = m.start(m.shell(a, std::string(server) + "80 0.0.0.0"));
    CHECK(m.line(*listener) == "listening");
    const outcome o = m.run(m.shell(b, client(a.address)));
    INFO(o.err);
    CHECK(o.out == "HELLO\n");
    CHECK(m.run(m.shell(a, client("127.0.0.1"))).out == "HELLO\n");
    // Port 80 of another sandbox is another one's.
    CHECK(m.run(m.shell(b, client("127.0.0.1"))).err == "no: Connection refused\n");
}

TEST_CASE("a sandbox that is cut off reaches no one until it is joined again") {
    machine m;
    const sandbox a = m.make_sandbox("a");
    const sandbox b = m.make_sandbox("b");
    const auto listener = m.start(m.shell(a, std::string(server) + "80 0.0.0.0"));
    CHECK(m.line(*listener) == "listening");
    m.runtime().cut(a.id, true);
    // Not a time-out that could be too short: with no one to answer for its address the kernel says
    // so.
    CHECK(m.run(m.shell(b, client(a.address))).err == "no: No route to host\n");
    m.runtime().cut(a.id, false);
    CHECK(m.run(m.shell(b, client(a.address))).out == "HELLO\n");
}

boost::asio::awaitable<std::string> say_hello(byte_stream& to) {
    const std::string hello = "hello\n";
    std::string answer(6, '\0');
    co_await boost::asio::async_write(to, boost::asio::buffer(hello), boost::asio::use_awaitable);
    co_await boost::asio::async_read(to, boost::asio::buffer(answer), boost::asio::use_awaitable);
    co_return answer;
}

TEST_CASE("the main process connects to ports inside a sandbox, also to its loopback") {
    machine m;
    const sandbox a = m.make_sandbox("a");
    const auto listener = m.start(m.shell(a, std::string(server) + "81 127.0.0.1"));
    CHECK(m.line(*listener) == "listening");
    auto stream = m.await(m.runtime().connect(a.id, "127.0.0.1", 81));
    REQUIRE(stream.has_value());
    CHECK(m.await(say_hello(*stream)) == "HELLO\n");

    const auto refused = m.await(m.runtime().connect(a.id, "127.0.0.1", 82));
    CHECK(refused.error().message == "dial tcp 127.0.0.1:82: connect: connection refused");
    const auto gone = m.await(m.runtime().connect("sandbox-77", "127.0.0.1", 82));
    CHECK(gone.error().message == "the sandbox is gone");
}

TEST_CASE("a name server of the main process answers sandboxes") {
    machine m;
    const int socket = m.runtime().name_server_socket().value();
    CHECK_FALSE(m.runtime().name_server_socket().has_value());
    const sandbox a = m.make_sandbox("a");
    const auto asking = m.start(m.shell(
        a,
        "exec perl -MIO::Socket -e 'my $s = IO::Socket::INET->new(Proto => \"udp\", PeerAddr => "
        "\"" +
            m.runtime().node_address() +
            ":53\") or die $!; $s->send(\"who\"); $s->recv(my $x, 99); print $x'"
    ));
    char question[16];
    sockaddr_in from = {};
    socklen_t size = sizeof from;
    const ssize_t got =
        ::recvfrom(socket, question, sizeof question, 0, reinterpret_cast<sockaddr*>(&from), &size);
    REQUIRE(got == 3);
    char address[INET_ADDRSTRLEN];
    CHECK(::inet_ntop(AF_INET, &from.sin_addr, address, sizeof address) == a.address);
    ::sendto(socket, "me", 2, 0, reinterpret_cast<sockaddr*>(&from), size);
    CHECK(m.finish(*asking).out == "me");
    ::close(socket);
}

TEST_CASE("a service of the main process is reached by sandboxes") {
    machine m;
    const int socket = m.runtime().service_socket().value();
    CHECK_FALSE(m.runtime().service_socket().has_value());
    sockaddr_in at = {};
    socklen_t size = sizeof at;
    REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    const sandbox a = m.make_sandbox("a");
    const auto asking = m.start(m.shell(
        a,
        "exec perl -MIO::Socket -e 'my $s = IO::Socket::INET->new(PeerAddr => \"" +
            m.runtime().node_address() + ":" + std::to_string(ntohs(at.sin_port)) +
            "\") or die $!; print scalar <$s>'"
    ));
    int connected = -1;
    pollfd waits{socket, POLLIN, 0};
    REQUIRE(::poll(&waits, 1, 60000) == 1);
    connected = ::accept(socket, nullptr, nullptr);
    REQUIRE(connected >= 0);
    CHECK(::send(connected, "hello\n", 6, 0) == 6);
    CHECK(m.finish(*asking).out == "hello\n");
    ::close(connected);
    ::close(socket);
}

TEST_CASE("a sandbox may be in the network of the node") {
    machine m;
    const sandbox node = m.make_sandbox("node", true);
    CHECK(node.address == m.runtime().node_address());
    const auto listener = m.start(m.shell(node, std::string(server) + "80 0.0.0.0"));
    CHECK(m.line(*listener) == "listening");
    CHECK(m.run(m.shell(m.make_sandbox(), client(node.address))).out == "HELLO\n");
    const sandbox other = m.make_sandbox("other-name", true);
    CHECK(m.run(m.shell(other, "hostname")).out == "other-name\n");
}

TEST_CASE("the end of a sandbox ends what runs in it") {
    machine m;
    const sandbox a = m.make_sandbox("a");
    const auto p = m.start(m.shell(a, "echo ready; sleep 1000 & wait"));
    const auto q = m.start(m.shell(a, "echo ready; sleep 1000 & wait"));
    CHECK(m.line(*p) == "ready");
    CHECK(m.line(*q) == "ready");
    m.runtime().remove_sandbox(a.id);
    CHECK(m.await(p->wait()).code == 137);
    CHECK(m.await(q->wait()).code == 137);
    CHECK(m.run(m.shell(a, "true")).error.message == "the sandbox is gone");
    m.runtime().remove_sandbox(a.id);
}

TEST_CASE("without an uplink nothing beyond the sandboxes is reached") {
    local_options options;
    options.offline = true;
    machine m(options);
    CHECK(m.run(client("192.0.2.1")).err == "no: Network is unreachable\n");
}

/// Has the process in an empty network for the time of a scope.
class other_network {
public:
    other_network() { REQUIRE(::unshare(CLONE_NEWNET) == 0); }
    ~other_network() { ::setns(before_.get(), CLONE_NEWNET); }
    other_network(const other_network&) = delete;
    other_network& operator=(const other_network&) = delete;

private:
    unique_fd before_{::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)};
};

TEST_CASE("with an uplink containers reach what the machine reaches, but not its loopback") {
    if (::geteuid() != 0) {
        // The machine of this test is a network of its own, which only root may make and keep its
        // rights.
        if (::access("/dev/net/tun", R_OK | W_OK) != 0) {
            machine m;
            CHECK(
                m.runtime().shortcomings().back().find("/dev/net/tun: permission denied") !=
                std::string::npos
            );
        }
        CHECK(::geteuid() != 0);
        return;
    }
    const other_network here;
    netlink links;
    REQUIRE(links.set_up(1, true) == 0);
    REQUIRE(links.add_address(1, parse_address("192.0.2.1"), 32) == 0);
    const auto listen_at = [](const char* address) {
        unique_fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        sockaddr_in at = {};
        at.sin_family = AF_INET;
        at.sin_port = htons(80);
        at.sin_addr.s_addr = parse_address(address);
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
        ::listen(socket.get(), 5);
        return socket;
    };
    const unique_fd outside = listen_at("192.0.2.1");
    const unique_fd loopback = listen_at("127.0.0.1");
    {
        machine m;
        const outcome o = m.run(
            "exec perl -MIO::Socket -e 'my $c = IO::Socket::INET->new(PeerAddr => "
            "\"192.0.2.1:80\") "
            "or die \"no: $!\\n\"; print $c \"hello\\n\"'"
        );
        CHECK(o.err == "");
        const unique_fd connection(::accept4(outside.get(), nullptr, nullptr, SOCK_CLOEXEC));
        REQUIRE(connection);
        char hello[6];
        CHECK(::read(connection.get(), hello, sizeof hello) == 6);
        // 10.0.2.2 is the machine for programs behind slirp4netns.
        CHECK(m.run(client("10.0.2.2")).err.find("no: ") == 0);
    }
}

}  // namespace
