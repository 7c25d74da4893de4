// SPDX-License-Identifier: Apache-2.0
//
// What the answers of one write show goes into the views at once, before its next request is sent:
// a pass that comes in between must not decide without it.
#pragma once

#include "controller/options.hpp"
#include "controller/view_updates.hpp"
#include "k8sio/object_write.hpp"

#include <string_view>

namespace signalbox::op {

/// Of one action on the job of `entry`. Counts the requests, too. What it is made of must outlive
/// it.
class view_feed final : public k8sio::write_listener {
public:
    view_feed(
        view_updates& updates,
        controller_counters& counters,
        job_entry& entry,
        core::job_kind job,
        core::object_kind kind
    )
        : updates_(&updates), counters_(&counters), entry_(&entry), job_(job), kind_(kind) {}

    void sending(k8sio::write_step step) override;
    void shown(k8sio::write_step step, std::string_view object_json) override;
    void gone(std::string_view uid) override;

private:
    view_updates* updates_;
    controller_counters* counters_;
    job_entry* entry_;
    core::job_kind job_;
    core::object_kind kind_;
    k8sio::view_mark asked_;  // before the request under way was sent
};

}  // namespace signalbox::op
