// SPDX-License-Identifier: Apache-2.0
//
// Kinds of children that not every API server serves (BEHAVIOUR.md 8.4, 9.1): discovery says which,
// and those that are get their views kept.
#pragma once

#include "controller/child_watches.hpp"
#include "controller/cluster_views.hpp"
#include "controller/settings.hpp"
#include "k8sio/discovery.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <vector>

namespace signalbox::op {

class served_kinds final : public k8sio::discovery_listener {
public:
    /// All of them must outlive run(). `runtime` is woken when settled() or
    /// cluster_views::capabilities() may have changed.
    served_kinds(
        k8sio::client& api,
        const settings& config,
        const cluster_views& views,
        const child_watches& watches,
        k8sio::controller& runtime
    );

    /// Asks the server at once, then every policy::capability_retry, until stop(); sooner after no
    /// answer. Once per object.
    boost::asio::awaitable<void> run() { return poll_.run(); }
    void stop() { poll_.stop(); }

    /// The first look is over, and the views of what is served had time for their first list:
    /// decisions need not take a restart of ours for a server without these kinds.
    bool settled() const { return poll_.settled(); }

    // k8sio::discovery_listener.
    void answered(const k8sio::resource_type& type, bool served) override;
    bool lists_complete() const override;
    void looked() override { runtime_->wake(); }

private:
    struct row {
        child_view* view;
        const k8sio::resource_type* type;
        std::optional<bool> served{};  ///< the last answer
    };

    /// Of a resource in several versions only the first that is served counts.
    void offer(row& r, bool served);

    static std::vector<row> rows_of(const cluster_views& views, const feature_set& without);
    std::vector<const k8sio::resource_type*> types() const;

    std::vector<row> rows_;
    const settings* config_;
    const child_watches* watches_;
    k8sio::controller* runtime_;
    k8sio::discovery_poll poll_;
};

/// What decisions are told of a resource after this answer of discovery (k8sio::ask_discovery).
core::served served_by(std::optional<bool> answer);

}  // namespace signalbox::op
