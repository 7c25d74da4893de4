// SPDX-License-Identifier: Apache-2.0
//
// The whole reflector against a small model of a server, with a failure at every single operation.
#include "client/scripted_transport.hpp"
#include "protocol/jitter.hpp"
#include "runtime/recording_sink.hpp"
#include "runtime/virtual_loop.hpp"
#include "signalbox_test/sanitized.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using signalbox::test::sanitized;
using test::answer;
using test::event;
using test::pod;
using test::stream_script;

namespace {

/// One resource type: objects, a log of events, pages of one item, watches.
class model {
public:
    explicit model(signalbox::k8sio::clock& time) : transport(time) {
        transport.on_exchange = [this](const http_request& request) { return list(request); };
        transport.on_open = [this](const http_request& request) { return watch(request); };
        put("a");
        put("b");
        put("c");
    }

    void put(const std::string& name) {
        const bool known = objects.count(name) != 0;
        objects[name] = std::to_string(++version);
        publish(known ? "MODIFIED" : "ADDED", name);
    }
    /// An older copy of the data: as many objects and versions as before `to`.
    void restore(int to, std::map<std::string, std::string> then) {
        ++epoch;
        version = to;
        objects = std::move(then);
        log.clear();
        compacted = to;  // a restarted server has no history
        for (const auto& stream : streams) {
            stream.second->ends = true;
            stream.second->more.wake();
        }
        streams.clear();
    }
    void erase(const std::string& name) {
        objects.erase(name);
        ++version;
        publish("DELETED", name);
    }

    /// Of the event of an addition the watches that are open get one half, and no more.
    void send_half(const std::string& name) {
        objects[name] = std::to_string(++version);
        log.emplace_back(version, event("ADDED", pod(name, objects[name])));
        for (const auto& [from, stream] : streams) {
            stream->pieces.emplace_back(log.back().second.substr(0, 20));
            stream->more.wake();
        }
    }

    /// The watches that are open now are on connections with old keys.
    void replace_keys() {
        for (const auto& stream : streams) {
            stream.second->outdated = true;
        }
    }

    std::map<std::string, std::string> objects;
    test::scripted_transport transport;
    int version = 100;
    int epoch = 0;      // rises with each restore
    int compacted = 0;  // versions up to this are gone from the log
    int lists = 0;
    int probes = 0;
    int watches = 0;

private:
    static std::string parameter(const http_request& request, const std::string& name) {
        const std::size_t at = request.target.find(name + "=");
        if (at == std::string::npos) {
            return {};
        }
        const std::size_t begin = at + name.size() + 1;
        return request.target.substr(begin, request.target.find('&', begin) - begin);
    }
    void publish(const std::string& type, const std::string& name) {
        log.emplace_back(version, event(type, pod(name, std::to_string(version))));
        for (const auto& [from, stream] : streams) {
            if (version > from) {
                send(*stream, log.back().second);
                stream->more.wake();
            }
        }
    }
    /// Split in the middle: events do not come in pieces of their size.
    static void send(stream_script& to, const std::string& line) {
        to.pieces.emplace_back(line.substr(0, line.size() / 2));
        to.pieces.emplace_back(line.substr(line.size() / 2));
    }
    result<http_response> list(const http_request& request) {
        const std::string token = parameter(request, "continue");
        const bool probe = parameter(request, "limit") == "1";
        probes += probe ? 1 : 0;
        lists += !probe && token.empty() ? 1 : 0;
        // A token is one of a snapshot, which is not kept here beyond the next change.
        const std::string snapshot = std::to_string(epoch) + "." + std::to_string(version) + ".";
        if (!token.empty() && token.substr(0, snapshot.size()) != snapshot) {
            return answer(410, R"({"kind":"Status","code":410,"reason":"Expired"})");
        }
        auto at =
            token.empty() ? objects.begin() : objects.upper_bound(token.substr(snapshot.size()));
        std::string body =
            R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" +
            std::to_string(version) + "\"";
        std::string items;
        if (at != objects.end()) {
            items = pod(at->first, at->second);
            const std::string name = at->first;
            if (++at != objects.end()) {
                body += R"(,"continue":")" + snapshot + name + "\"";
            }
        }
        return answer(200, body + "},\"items\":[" + items + "]}");
    }
    result<std::shared_ptr<stream_script>> watch(const http_request& request) {
        ++watches;
        CHECK(parameter(request, "allowWatchBookmarks") == "true");
        const int from = std::stoi(parameter(request, "resourceVersion"));
        auto made = std::make_shared<stream_script>();
        if (from < compacted) {
            made->pieces.emplace_back(event("ERROR", R"({"kind":"Status","code":410})"));
            made->ends = true;
            return made;
        }
        for (const auto& [number, line] : log) {
            if (number > from) {
                send(*made, line);
            }
        }
        streams.emplace_back(from, made);
        return made;
    }

    std::vector<std::pair<int, std::string>> log;
    std::vector<std::pair<int, std::shared_ptr<stream_script>>> streams;  // by resume point
};

struct world {
    world()
        : server(loop.time),
          api(server.transport, loop.time),
          subject(api, resources::pods(), sink, options()) {}

    static reflector_options options() {
        reflector_options made;
        made.page_size = 2;
        return made;
    }
    bool converged() const { return subject.synced() && sink.held == server.objects; }
    void change() {
        server.put("d");
        server.put("a");
        server.erase("b");
    }

    test::virtual_loop loop;
    model server;
    client api;
    test::recording_sink sink;
    reflector subject;
};

/// List, watch, changes: with `error` at operation `number`. Gives the number of operations.
std::size_t run_with_failure(std::size_t number, const std::optional<api_error>& error) {
    world w;
    w.server.transport.fail = [&](std::size_t n) -> std::optional<api_error> {
        return n == number ? error : std::nullopt;
    };
    test::task<void> running(w.loop, w.subject.run());
    CHECK(w.loop.run_until([&] { return w.converged(); }));
    w.change();
    CHECK(w.loop.run_until([&] { return w.converged(); }));
    w.server.put("e");
    CHECK(w.loop.run_until([&] { return w.converged(); }));
    // REQUIREMENTS.md W6: nothing but a failed list, or 410, makes another list.
    const bool expired = error && error->http_status == 410;
    CHECK(w.server.lists <= (number < 4 || expired ? 2 : 1));
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
    CHECK_FALSE(running.failure);
    CHECK_FALSE(w.loop.time.has_pending());
    return w.server.transport.operations;
}

}  // namespace

TEST_CASE("[requirement W6] whatever fails at whatever step, the store ends equal and lists are few"
) {
    const std::size_t steps = run_with_failure(SIZE_MAX, std::nullopt);
    REQUIRE(steps > 8);
    std::vector<api_error> errors;
    for (const errc code :
         {errc::resolve,
          errc::connect,
          errc::tls,
          errc::timeout,
          errc::connection_lost,
          errc::bad_response,
          errc::too_large}) {
        errors.push_back(test::failure(code));
    }
    for (const int status : {401, 403, 410, 429, 500, 502, 503, 504}) {
        errors.push_back(test::failure(errc::http_status));
        errors.back().http_status = status;
    }
    for (const api_error& error : errors) {
        for (std::size_t number = 0; number < steps; ++number) {
            INFO(error.text() << " at step " << number << " of " << steps);
            run_with_failure(number, error);
        }
    }
}

TEST_CASE("[requirement W4] after 410 the store is rebuilt, also of what was deleted meanwhile") {
    world w;
    test::task<void> running(w.loop, w.subject.run());
    REQUIRE(w.loop.run_until([&] { return w.converged(); }));
    w.server.transport.fail = [](std::size_t) { return test::failure(errc::connection_lost); };
    w.change();
    w.loop.run_for(30s);
    CHECK_FALSE(w.converged());
    CHECK_FALSE(w.subject.last_error().empty());
    w.server.compacted = w.server.version;
    w.server.transport.fail = nullptr;
    CHECK(w.loop.run_until([&] { return w.converged(); }));
    CHECK(w.server.lists == 2);
    CHECK(w.subject.last_error().empty());
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
}

TEST_CASE("[requirement C3] a watch goes on with new keys, between two events, without a list") {
    world w;
    test::task<void> running(w.loop, w.subject.run());
    REQUIRE(w.loop.run_until([&] { return w.converged(); }));
    w.server.put("d");
    REQUIRE(w.loop.run_until([&] { return w.converged(); }));
    CHECK(w.server.watches == 1);
    w.server.replace_keys();
    w.loop.settle();
    CHECK(w.server.watches == 1);  // what is quiet is left alone
    w.change();
    CHECK(w.loop.run_until([&] { return w.converged() && w.server.watches == 2; }));
    w.server.put("e");
    REQUIRE(w.loop.run_until([&] { return w.converged(); }));
    CHECK(w.server.watches == 2);
    CHECK(w.server.lists == 1);
    CHECK(w.subject.last_error().empty());
    CHECK(w.subject.counters().errors == 0);
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
}

TEST_CASE("[requirement H1] stop and cancellation end a reflector at every step") {
    const std::size_t steps = run_with_failure(SIZE_MAX, std::nullopt);
    for (const bool by_stop : {true, false}) {
        for (std::size_t number = 0; number < steps; ++number) {
            world w;
            test::task<void> running(w.loop, w.subject.run());
            w.server.transport.fail = [&](std::size_t n) -> std::optional<api_error> {
                if (n == number) {
                    by_stop ? w.subject.stop() : running.cancel();
                }
                return std::nullopt;
            };
            w.loop.run_until([&] { return running.done || w.converged(); });
            w.change();
            w.loop.run_until([&] { return running.done || w.converged(); });
            w.server.put("e");
            INFO("at step " << number);
            w.loop.settle();
            if (!running.done) {  // it is the last read, which waits
                by_stop ? w.subject.stop() : running.cancel();
                w.loop.settle();
            }
            CHECK(running.done);
            CHECK_FALSE(running.failure);
        }
    }
}

TEST_CASE("[requirement W7] an event of which half came is given up after ten seconds") {
    world w;
    test::task<void> running(w.loop, w.subject.run());
    REQUIRE(w.loop.run_until([&] { return w.converged(); }));
    w.server.send_half("d");
    w.loop.run_for(9s);
    CHECK_FALSE(w.converged());
    CHECK(w.server.watches == 1);
    w.loop.run_for(1s);
    CHECK(w.converged());
    CHECK(w.server.watches == 2);
    CHECK(w.server.lists == 1);
    w.loop.run_for(100s);
    CHECK(w.server.lists == 2);  // whatever cut it may have swallowed others
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
    CHECK_FALSE(w.loop.time.has_pending());
}

TEST_CASE("[requirement H1] stop wakes a reflector that sleeps") {
    world w;
    w.server.transport.fail = [](std::size_t) { return test::failure(errc::bad_response); };
    test::task<void> running(w.loop, w.subject.run());
    w.loop.settle();
    REQUIRE_FALSE(running.done);
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
    CHECK_FALSE(w.loop.time.has_pending());
}

TEST_CASE("[requirement T4] a silent watch ends after 90 s and resumes without a list") {
    world w;
    test::task<void> running(w.loop, w.subject.run());
    w.loop.run_for(90s - 1ms);
    CHECK(w.server.watches == 1);
    w.loop.run_for(1ms);
    CHECK(w.server.watches == 2);
    w.loop.run_for(2h);
    CHECK(w.server.lists == 1);
    CHECK(w.server.watches == 82);
    CHECK(w.server.probes == 81);
    CHECK(w.subject.counters().probes == 81);
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
}

TEST_CASE("[requirement V6] a restored server is noticed within 100 s, and its older state stays") {
    world w;
    test::task<void> running(w.loop, w.subject.run());
    REQUIRE(w.loop.run_until([&] { return w.converged(); }));
    const auto then = w.server.objects;
    const int version = w.server.version;
    w.change();
    w.server.put("late");
    REQUIRE(w.loop.run_until([&] { return w.converged(); }));
    w.server.restore(version, then);
    const auto begin = w.loop.time.steady_now();
    CHECK(w.loop.run_until([&] { return w.converged(); }));
    CHECK(w.loop.time.steady_now() - begin < 100s);
    CHECK(w.subject.counters().rewinds == 1);
    CHECK(w.sink.log.find("rewound begin") != std::string::npos);
    w.server.put("after");
    CHECK(w.loop.run_until([&] { return w.converged(); }));
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
}

TEST_CASE("[requirement W2] [requirement W1] a watch says how long it lasts, and wants bookmarks") {
    world w;
    test::task<void> running(w.loop, w.subject.run());
    w.loop.settle();
    const http_request& watch = w.server.transport.requests.back();
    REQUIRE(watch.target.find("watch=1") != std::string::npos);
    CHECK(watch.target.find("&resourceVersion=103&") != std::string::npos);
    const std::size_t at = watch.target.find("&timeoutSeconds=");
    REQUIRE(at != std::string::npos);
    const int seconds = std::stoi(watch.target.substr(at + 16));
    CHECK(seconds >= world::options().watch_timeout_min / 1s);
    CHECK(seconds <= world::options().watch_timeout_max / 1s);
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
}

TEST_CASE("[requirement V6] doubt is answered at once; so is what another resource has shown") {
    world w;
    test::task<void> running(w.loop, w.subject.run());
    REQUIRE(w.loop.run_until([&] { return w.converged(); }));
    CHECK_FALSE(w.subject.doubtful());
    w.subject.doubt();
    CHECK(w.subject.doubtful());
    w.loop.settle();
    CHECK_FALSE(w.subject.doubtful());
    CHECK(w.server.probes == 1);
    CHECK(w.server.lists == 1);
    CHECK(w.subject.heard_at() == w.loop.time.steady_now());
    w.subject.start_over();
    CHECK(w.subject.doubtful());
    w.loop.settle();
    CHECK_FALSE(w.subject.doubtful());
    CHECK(w.server.lists == 2);
    w.subject.refresh();
    CHECK(w.subject.doubtful());
    w.loop.settle();
    CHECK_FALSE(w.subject.doubtful());
    CHECK(w.server.lists == 3);
    w.server.put("e");
    CHECK(w.loop.run_until([&] { return w.converged(); }));
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
}

TEST_CASE("[requirement W6] [requirement V6] many seeds of faults and restores") {
    for (std::uint64_t seed = 1; seed <= (sanitized ? 300 : 1000); ++seed) {
        INFO("seed " << seed);
        world w;
        protocol::jitter random(seed);
        const auto one_of = [&](std::uint64_t n) { return random.next() % n; };
        bool trouble = true;
        w.server.transport.fail = [&](std::size_t) -> std::optional<api_error> {
            if (!trouble || one_of(4) != 0) {
                return std::nullopt;
            }
            const errc codes[] = {
                errc::resolve,
                errc::connect,
                errc::tls,
                errc::credentials,
                errc::timeout,
                errc::connection_lost,
                errc::bad_response,
                errc::too_large,
                errc::http_status};
            api_error error = test::failure(codes[one_of(std::size(codes))]);
            if (error.code == errc::http_status) {
                const int statuses[] = {401, 403, 408, 410, 429, 500, 503, 504};
                error.http_status = statuses[one_of(std::size(statuses))];
            }
            return error;
        };
        test::task<void> running(w.loop, w.subject.run());
        std::map<std::string, std::string> saved = w.server.objects;
        int saved_version = w.server.version;
        for (int step = 0; step < 20; ++step) {
            const std::string name(1, static_cast<char>('a' + one_of(6)));
            switch (one_of(12)) {
                case 0:
                    saved = w.server.objects;
                    saved_version = w.server.version;
                    break;
                case 1:
                    w.server.restore(saved_version, saved);
                    break;
                case 2:
                    w.server.compacted = w.server.version;
                    break;
                case 3:
                    w.subject.doubt();
                    break;
                case 4:
                    w.server.erase(name);
                    break;
                default:
                    w.server.put(name);
            }
            w.loop.run_for(std::chrono::seconds{one_of(40)});
            // A restored server that overtakes its own past before anybody looks cannot be told
            // from one that went on: so time passes after a restore, through all the trouble.
            REQUIRE(w.loop.run_until([&] {
                return w.server.version >= std::stoi("0" + w.sink.seen);
            }));
        }
        trouble = false;
        w.server.put("z");
        REQUIRE(w.loop.run_until([&] { return w.converged(); }));
        w.subject.stop();
        w.loop.settle();
        REQUIRE(running.done);
    }
}

TEST_CASE("[requirement W5] a refused watch is an error with what its answer says, no stream") {
    world w;
    std::vector<steady_time> opened;
    const auto serve = w.server.transport.on_open;
    w.server.transport.on_open = [&](const http_request& request) {
        opened.push_back(w.loop.time.steady_now());
        if (opened.size() > 1) {
            return serve(request);
        }
        auto refused = std::make_shared<stream_script>();
        refused->status = 429;
        refused->headers.emplace_back("Retry-After", "7");
        refused->headers.emplace_back("Audit-Id", "audit-1");
        refused->pieces.emplace_back(std::string(R"({"kind":"Status","message":"too )"));
        refused->pieces.emplace_back(std::string(R"(many"})"));
        refused->ends = true;
        return result<std::shared_ptr<stream_script>>(refused);
    };
    test::task<void> running(w.loop, w.subject.run());
    w.loop.run_for(1s);
    CHECK(w.subject.last_error().find("429: too many (audit id audit-1)") != std::string::npos);
    CHECK(w.subject.counters().errors == 1);
    w.loop.run_for(30s);
    REQUIRE(opened.size() == 2);
    CHECK(opened[1] - opened[0] >= 7s);
    CHECK(opened[1] - opened[0] <= 8s);
    CHECK(w.server.lists == 1);
    w.subject.stop();
    w.loop.settle();
    CHECK(running.done);
}

TEST_CASE("[requirement R6] clients of different seeds come back at different moments") {
    std::set<steady_time> moments;
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
        test::virtual_loop loop;
        model server(loop.time);
        server.transport.fail = [](std::size_t) { return test::failure(errc::bad_response); };
        client_options named;
        named.seed = seed;
        client api(server.transport, loop.time, named);
        test::recording_sink sink;
        reflector subject(api, resources::pods(), sink);
        test::task<void> running(loop, subject.run());
        loop.settle();
        REQUIRE(loop.time.has_pending());
        moments.insert(loop.time.next_at());
        subject.stop();
        loop.settle();
    }
    CHECK(moments.size() == 4);
}
