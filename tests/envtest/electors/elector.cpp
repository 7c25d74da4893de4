// SPDX-License-Identifier: Apache-2.0
//
// Our elector alone, which says when it believes to be the leader:
//
//   begin T    it leads from now on
//   until T    and no longer than that, if it renews no more
//   end T      it leads no more
//
// Times are seconds of CLOCK_MONOTONIC, which all processes of a machine share. After a loss it
// competes again, under another name. SIGTERM lets the Lease go and ends it.
//
// usage: elector KUBECONFIG NAMESPACE NAME LEASE_DURATION RENEW_DEADLINE RETRY_PERIOD (seconds)
#include "k8sio/config.hpp"
#include "k8sio/leader_election.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace {

using namespace signalbox;
namespace asio = boost::asio;

void say(const char* what, k8sio::steady_time at) {
    std::printf("%s %.6f\n", what, std::chrono::duration<double>(at.time_since_epoch()).count());
    std::fflush(stdout);
}

/// Tells what has changed since the last look.
class belief {
public:
    void look(const k8sio::leader_election& election, k8sio::steady_time now) {
        const bool leads = election.leads();
        if (leads && !leads_) {
            say("begin", now);
        }
        if (leads && until_ != election.leads_until()) {
            until_ = election.leads_until();
            say("until", *until_);
        }
        if (!leads && leads_) {
            say("end", now);
        }
        leads_ = leads;
    }

private:
    bool leads_ = false;
    std::optional<k8sio::steady_time> until_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fputs("elector KUBECONFIG NAMESPACE NAME LEASE DEADLINE RETRY\n", stderr);
        return 2;
    }
    k8sio::leader_election_options options;
    options.ns = argv[2];
    options.name = argv[3];
    options.lease_duration = std::chrono::seconds{std::atoi(argv[4])};
    options.renew_deadline = std::chrono::seconds{std::atoi(argv[5])};
    options.retry_period = std::chrono::seconds{std::atoi(argv[6])};
    asio::io_context loop(1);
    const auto time = k8sio::make_machine_clock(loop.get_executor());
    auto config = k8sio::load_kubeconfig(argv[1], "");
    if (config.has_error()) {
        std::fprintf(stderr, "%s\n", config.error().text().c_str());
        return 2;
    }
    auto transport = k8sio::make_http_transport(loop.get_executor(), *time, std::move(*config));
    if (transport.has_error()) {
        std::fprintf(stderr, "%s\n", transport.error().text().c_str());
        return 2;
    }
    k8sio::client api(**transport, *time);
    bool stopping = false;
    std::optional<k8sio::leader_election> election;
    asio::signal_set signals(loop, SIGTERM);
    signals.async_wait([&](boost::system::error_code failed, int) {
        stopping = !failed;
        election->stop();
    });
    while (!stopping) {
        options.identity = k8sio::make_identity();
        options.seed = static_cast<std::uint64_t>(time->steady_now().time_since_epoch().count());
        election.emplace(api, options);
        bool ended = false;
        asio::co_spawn(loop, election->run(), [&ended](std::exception_ptr) { ended = true; });
        belief told;
        // After each step, so that nothing is believed that was not told.
        while (!ended && loop.run_one() > 0) {
            told.look(*election, time->steady_now());
        }
    }
    return 0;
}
