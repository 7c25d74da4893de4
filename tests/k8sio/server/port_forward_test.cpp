// SPDX-License-Identifier: Apache-2.0
//
// Port-forward without a socket: the test speaks SPDY as kubectl does.
#include "server/streams/port_forward.hpp"

#include "server/scripted_socket.hpp"
#include "server/streams/spdy_framing.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::test {
namespace {

using k8sio::test::virtual_loop;
using server::spdy_frame;
using server::spdy_headers;
using server::spdy_reader;
using server::spdy_reset;
using server::spdy_type;
using server::spdy_writer;

/// What a client has seen of one stream.
struct stream_seen {
    std::string data;
    bool replied = false, fin = false;
    std::uint32_t reset = 0;
};

struct forwarding_world {
    forwarding_world() : pods(loop.loop.get_executor()) {
        client = std::make_unique<running_session>(
            loop,
            make_port_forward(
                loop.loop.get_executor(),
                pods,
                pod_ref("default", "w", "uid"),
                "SPDY/3.1+portforward.k8s.io"
            )
        );
    }

    void open(std::uint32_t id, const spdy_headers& headers) {
        client->send(writer.opening(spdy_type::syn_stream, id, headers));
    }
    /// As kubectl does: the error stream, its end, then the data stream, which has the id behind.
    void open_pair(
        std::uint32_t id, const std::string& request = "0", const std::string& port = "80"
    ) {
        open(id, {{"streamtype", "error"}, {"port", port}, {"requestid", request}});
        client->send(spdy_writer::data(id, "", true));
        open(id + 2, {{"streamtype", "data"}, {"port", port}, {"requestid", request}});
    }

    stream_seen& operator[](std::uint32_t id) {
        spdy_frame frame;
        for (const std::string& message : client->got()) {
            reader.feed(message);
            while (reader.next(frame)) {
                stream_seen& s = streams[frame.stream];
                s.replied = s.replied || frame.type == spdy_type::syn_reply;
                s.data += frame.data;
                s.fin = s.fin || (frame.type == spdy_type::data && frame.fin);
                s.reset = frame.type == spdy_type::rst_stream ? frame.value : s.reset;
                pings += frame.type == spdy_type::ping ? " " + std::to_string(frame.stream) : "";
                goaway = goaway || frame.type == spdy_type::goaway;
            }
        }
        return streams[id];
    }

    virtual_loop loop;
    scripted_pods pods;
    std::unique_ptr<running_session> client;
    spdy_writer writer;
    spdy_reader reader;
    std::map<std::uint32_t, stream_seen> streams;
    std::string pings;
    bool goaway = false;
};

}  // namespace

TEST_CASE(
    "[requirement A8] a pair of streams becomes a connection, in both directions to their ends"
) {
    forwarding_world w;
    const auto port = w.pods.prepare();
    w.open_pair(1);
    CHECK(w[1].replied);
    CHECK(w[3].replied);
    CHECK(w.pods.ports == std::vector<int>{80});
    CHECK(w.pods.pods[0].uid == "uid");
    w.client->send(spdy_writer::data(3, "GET"));
    w.client->send(spdy_writer::data(3, " /"));
    CHECK(port->written == "GET /");
    port->out->put("200");
    CHECK(w[3].data == "200");
    w.client->send(spdy_writer::data(3, "!", true));
    CHECK(port->written == "GET /!");
    CHECK(port->finished);
    CHECK_FALSE(port->closed);
    port->out->put(" OK");
    port->out->end();
    CHECK(w[3].data == "200 OK");
    CHECK(w[3].fin);
    CHECK(w[1].fin);
    CHECK(w[1].data.empty());
    CHECK(port->closed);
    CHECK(port->destroyed);
    w.client->send(spdy_writer::reset(3, spdy_reset::cancel));
    CHECK_FALSE(w.client->done());
}

TEST_CASE("all of a connection in one message, and byte by byte") {
    spdy_writer writer;
    std::string all =
        writer.opening(spdy_type::syn_stream, 1, {{"streamtype", "error"}, {"port", "8"}});
    all += writer.opening(spdy_type::syn_stream, 3, {{"streamtype", "data"}, {"port", "8"}});
    all += spdy_writer::data(3, "hello", true) + spdy_writer::ping(1);
    for (const std::size_t size : {all.size(), std::size_t{1}, std::size_t{7}}) {
        forwarding_world w;
        const auto port = w.pods.prepare();
        for (std::size_t i = 0; i < all.size(); i += size) {
            w.client->send(all.substr(i, size));
        }
        CHECK(port->written == "hello");
        CHECK(port->finished);
        CHECK(w[3].replied);
        CHECK(w.pings == " 1");
        CHECK(w.pods.ports == std::vector<int>{8});
    }
}

TEST_CASE("a port that cannot be reached is told on the error stream, and the next one is tried") {
    forwarding_world w;
    w.pods.prepare(status_error(500, "", "connection refused"));
    w.open_pair(1, "0", "81");
    CHECK(w[1].data == "error forwarding port 81 to pod w, uid uid: connection refused");
    CHECK(w[1].fin);
    CHECK(w[3].reset == 5);
    CHECK_FALSE(w[3].fin);
    const auto port = w.pods.prepare();
    w.open_pair(5, "1");
    port->out->put("x");
    CHECK(w[7].data == "x");
    api_error broken = of_code(errc::connection_lost);
    broken.message = "reset by peer";
    port->out->fail(broken);
    CHECK(w[5].data == "error forwarding port 80 to pod w, uid uid: reset by peer");
    CHECK(w[7].reset == 5);
    CHECK(port->destroyed);
}

TEST_CASE("connections do not mix") {
    forwarding_world w;
    std::vector<std::shared_ptr<scripted>> ports;
    for (std::uint32_t i = 0; i < 50; ++i) {
        ports.push_back(w.pods.prepare());
        w.open_pair(1 + 4 * i, std::to_string(i));
    }
    for (std::uint32_t i = 0; i < 50; ++i) {
        w.client->send(spdy_writer::data(3 + 4 * i, "in " + std::to_string(i)));
        ports[i]->out->put("out " + std::to_string(i));
    }
    for (std::uint32_t i = 0; i < 50; ++i) {
        CHECK(ports[i]->written == "in " + std::to_string(i));
        CHECK(w[3 + 4 * i].data == "out " + std::to_string(i));
    }
}

TEST_CASE("a client that resets a stream ends its connection") {
    for (const std::uint32_t id : {1U, 3U}) {
        forwarding_world w;
        const auto port = w.pods.prepare();
        w.open_pair(1);
        w.client->send(spdy_writer::reset(id, spdy_reset::cancel));
        w.loop.settle();
        CHECK(port->closed);
        CHECK(port->destroyed);
        CHECK(w[1].fin);
        CHECK(w[1].data.empty());
        w.client->send(spdy_writer::data(3, "late"));
        CHECK(port->written.empty());
        CHECK_FALSE(w.client->done());
    }
}

TEST_CASE("streams that are no half of a connection are reset") {
    struct row {
        spdy_headers headers;
        std::uint32_t reset;
    };
    forwarding_world w;
    std::uint32_t id = 1;
    for (const row& each : std::vector<row>{
             {{}, 5},
             {{{"streamtype", "data"}}, 5},
             {{{"port", "80"}}, 5},
             {{{"streamtype", "data"}, {"port", "0"}}, 5},
             {{{"streamtype", "data"}, {"port", "65536"}}, 5},
             {{{"streamtype", "data"}, {"port", "80 "}}, 5},
             {{{"streamtype", "data"}, {"port", "-1"}}, 5},
             {{{"streamtype", "resize"}, {"port", "80"}}, 5},
             {{{"streamtype", "data"}, {"port", "80"}}, 0},
             {{{"streamtype", "data"}, {"port", "80"}}, 5},
         }) {
        w.open(id, each.headers);
        INFO(id);
        CHECK(w[id].reset == each.reset);
        CHECK(w[id].replied == (each.reset == 0));
        id += 2;
    }
    w.open(2, {{"streamtype", "error"}, {"port", "80"}});
    CHECK(w[2].reset == 1);
    w.open(1, {{"streamtype", "error"}, {"port", "80"}});
    CHECK(w[1].reset == 1);
    CHECK(w.pods.ports.empty());
    // What was given up makes room for its name again.
    w.client->send(spdy_writer::reset(17, spdy_reset::cancel));
    (void)w.pods.prepare();
    w.open_pair(21, "");
    CHECK(w.pods.ports.size() == 1);
}

TEST_CASE("streams are bounded in number, and room comes back") {
    forwarding_world w;
    std::uint32_t id = 1;
    for (int i = 0; i < 1024; ++i, id += 2) {
        w.open(id, {{"streamtype", "error"}, {"port", "80"}, {"requestid", std::to_string(i)}});
    }
    CHECK(w[id - 2].replied);
    w.open(id, {{"streamtype", "error"}, {"port", "80"}, {"requestid", "x"}});
    CHECK(w[id].reset == 3);
    w.client->send(spdy_writer::reset(1, spdy_reset::cancel));
    w.open(id + 2, {{"streamtype", "error"}, {"port", "80"}, {"requestid", "y"}});
    CHECK(w[id + 2].replied);
}

TEST_CASE("[requirement A8] a port that takes nothing holds the client back, and holds little") {
    forwarding_world w;
    const auto port = w.pods.prepare();
    port->slow = true;
    w.open_pair(1);
    const std::string piece(32 * 1024, 'x');
    for (int i = 0; i < 100; ++i) {
        w.client->send(spdy_writer::data(3, piece));
    }
    // Three messages opened the streams; one piece is being written and five wait.
    CHECK(w.client->socket.from_client->reads == 3 + 6);
    port->taking->put("go");
    w.loop.settle();
    CHECK(port->written.size() == piece.size());
    CHECK(w.client->socket.from_client->reads == 3 + 6 + 5);
    w.client->leave();
    CHECK(w.client->done());
    CHECK(port->destroyed);
}

TEST_CASE("a port that does not read any more is spared the rest, and still answers") {
    forwarding_world w;
    const auto port = w.pods.prepare();
    port->slow = true;
    w.open_pair(1);
    w.client->send(spdy_writer::data(3, "x"));
    port->taking->fail(of_code(errc::connection_lost));
    for (int i = 0; i < 100; ++i) {
        w.client->send(spdy_writer::data(3, std::string(32 * 1024, 'x')));
    }
    CHECK(w.client->socket.from_client->reads == 3 + 101 + 1);
    port->out->put("enough");
    CHECK(w[3].data == "enough");
}

TEST_CASE("a client that is slow is waited for") {
    forwarding_world w;
    const auto port = w.pods.prepare();
    w.open_pair(1);
    w.client->socket.slow = true;
    for (int i = 0; i < 100; ++i) {
        port->out->put("x");
    }
    w.loop.settle();
    CHECK(port->out->reads == 1);
    w.client->socket.taking->put("go");
    w.loop.settle();
    CHECK(port->out->reads == 2);
}

TEST_CASE("[requirement A8] what is no SPDY is told, and ends the session with its connections") {
    forwarding_world w;
    const auto port = w.pods.prepare();
    w.open_pair(1);
    w.client->send("\xff\xff\xff\xff\xff\xff\xff\xff");
    CHECK(w.client->done());
    (void)w[1];
    CHECK(w.goaway);
    CHECK(port->closed);
    CHECK(port->destroyed);
}

TEST_CASE("[requirement A8] a client that leaves closes its connections, at any moment") {
    for (const int moment : {0, 1, 2, 3, 4}) {
        INFO(moment);
        forwarding_world w;
        const auto port = w.pods.prepare();
        port->slow = moment == 2;
        w.open_pair(1);
        if (moment > 0) {
            w.client->send(spdy_writer::data(3, "x"));
        }
        if (moment > 2) {
            w.client->socket.slow = true;
            port->out->put("y");
            w.loop.settle();
        }
        if (moment == 4) {
            w.client->send(spdy_writer::ping(1));
        }
        CHECK_FALSE(w.client->done());
        w.client->leave();
        CHECK(w.client->done());
        CHECK(port->closed);
        CHECK(port->destroyed);
    }
}

TEST_CASE("frames that ask for nothing are taken") {
    forwarding_world w;
    std::string odd;
    odd += std::string("\x80\3\0\4\0\0\0\4\0\0\0\0", 12);            // SETTINGS
    odd += std::string("\x80\3\0\7\0\0\0\x8\0\0\0\0\0\0\0\0", 16);   // GOAWAY
    odd += std::string("\x80\3\0\x9\0\0\0\x8\0\0\0\1\0\0\0\1", 16);  // WINDOW_UPDATE
    odd += spdy_writer::reset(99, spdy_reset::cancel) + spdy_writer::data(99, "x", true);
    odd += spdy_writer::ping(2);  // answers one of ours
    w.client->send(odd);
    CHECK_FALSE(w.client->done());
    CHECK(w.client->got().empty());
    w.client->send(spdy_writer::ping(3));
    (void)w[1];
    CHECK(w.pings == " 3");
}

}  // namespace signalbox::k8sio::server::test
