// SPDX-License-Identifier: Apache-2.0
//
// A way to the API server that lies: what a bad proxy, an overloaded balancer or a dying server
// makes of requests and watches. The same faults as of tests/envtest/storm_proxy.py, by a seed.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/transport.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>

namespace signalbox::test {

/// What the way does, for as many faults as it has left; then it is honest.
///
/// Lifetimes: it must outlive the transports over it, as the world's operators come and go.
class storm {
public:
    /// One request and one line of a watch in `every` is hit, `faults` in all.
    storm(std::uint64_t seed, int faults, unsigned every)
        : random_(seed), left_(faults), every_(every) {}

    bool over() const { return left_ <= 0; }
    /// Ends it, whatever is left.
    void stop() { left_ = 0; }
    /// Lines of watches that no one gets, and of which nothing tells. Empty: none.
    std::function<bool(std::string_view target, std::string_view line)> loses;
    /// Requests that are carried out, but whose answers are lost. Empty: none.
    std::function<bool(const k8sio::http_request&)> silences;
    /// How often each fault came.
    const std::map<std::string, int>& counts() const { return counts_; }

    /// True if the next thing is hit.
    bool hits() { return !over() && random_() % every_ == 0; }
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    void count(const char* fault) {
        --left_;
        ++counts_[fault];
    }

private:
    std::mt19937_64 random_;
    int left_;
    unsigned every_;
    std::map<std::string, int> counts_;
};

class lying_transport final : public k8sio::transport {
public:
    lying_transport(std::unique_ptr<k8sio::transport> inner, k8sio::clock& time, storm& how)
        : inner_(std::move(inner)), time_(&time), storm_(&how) {}

    boost::asio::awaitable<k8sio::result<k8sio::http_response>> exchange(
        const k8sio::http_request& request, k8sio::steady_time deadline
    ) override;
    boost::asio::awaitable<k8sio::result<std::unique_ptr<k8sio::response_stream>>> open_stream(
        const k8sio::http_request& request, std::chrono::nanoseconds idle
    ) override;

private:
    class stream;

    std::unique_ptr<k8sio::transport> inner_;
    k8sio::clock* time_;
    storm* storm_;
};

}  // namespace signalbox::test
