// SPDX-License-Identifier: Apache-2.0
#include "controller/view_feed.hpp"

#include <string>

namespace signalbox::op {

void view_feed::sending(k8sio::write_step step) {
    controller_counters& counters = *counters_;
    switch (step) {
        case k8sio::write_step::create:
            ++counters.creates;
            break;
        case k8sio::write_step::patch:
        case k8sio::write_step::restore:
            ++counters.patches;
            break;
        case k8sio::write_step::remove:
        case k8sio::write_step::take_back:
            ++counters.removes;
            break;
        case k8sio::write_step::confirm:
            ++counters.confirms;
            break;
        case k8sio::write_step::inspect:
            break;
    }
    asked_ = updates_->mark(kind_, job_);
}

void view_feed::shown(k8sio::write_step step, std::string_view object_json) {
    updates_->note_object(*entry_, kind_, object_json, asked_, step);
}

void view_feed::gone(std::string_view uid) {
    updates_->note_gone(kind_, std::string(uid));
}

}  // namespace signalbox::op
