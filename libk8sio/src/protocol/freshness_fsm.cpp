// SPDX-License-Identifier: Apache-2.0
#include "protocol/freshness_fsm.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::protocol {

namespace {

/// A view is listed anew for a contradiction no more often than that (REQUIREMENTS.md W13).
constexpr std::chrono::seconds contradiction_interval{10};

}  // namespace

void freshness_fsm::add(
    std::string name, const view_source& source, bool required, std::chrono::nanoseconds max_age
) {
    views_.emplace(std::move(name), watched{&source, required, max_age, false, std::nullopt});
}

void freshness_fsm::end(const std::string& name) {
    const auto found = views_.find(name);
    if (found != views_.end()) {
        found->second.ending = true;
    }
}

void freshness_fsm::remove(const std::string& name) {
    views_.erase(name);
}

void freshness_fsm::expect(
    const std::string& key, const std::string& view, std::string_view version
) {
    fence_.raise(key, view, version);
}

/// Decisions wait for it, or for what they expect of it.
bool freshness_fsm::counts(const watched& view, const view_facts& facts) {
    return !view.ending && (view.required || facts.complete);
}

bool freshness_fsm::is_in_doubt(const watched& view, const view_facts& facts, steady_time now) {
    const bool aged = view.max_age.count() > 0 && now - facts.heard_at > view.max_age;
    // The list of a type that is not served never ends.
    const bool served = facts.listed || (view.required && !facts.failing);
    return !view.ending && ((served && facts.asking) || (facts.listed && aged));
}

bool freshness_fsm::is_complete() const {
    return std::all_of(views_.begin(), views_.end(), [](const auto& each) {
        const view_facts facts = each.second.source->facts();
        return !counts(each.second, facts) || facts.complete;
    });
}

bool freshness_fsm::is_fresh(const std::string& key) const {
    return std::all_of(views_.begin(), views_.end(), [&](const auto& each) {
        const view_facts facts = each.second.source->facts();
        return !counts(each.second, facts) ||
               (facts.complete && fence_.passed(key, each.first, facts.seen));
    });
}

bool freshness_fsm::is_in_doubt(steady_time now) const {
    return std::any_of(views_.begin(), views_.end(), [now](const auto& each) {
        return is_in_doubt(each.second, each.second.source->facts(), now);
    });
}

bool freshness_fsm::may_decide(steady_time now) {
    const bool may = is_complete() && !is_in_doubt(now);
    rewinding_ = rewinding_ && !may;
    return may;
}

freshness_fsm::order freshness_fsm::on_older_answer(steady_time now) const {
    order asked;
    if (is_in_doubt(now)) {
        return asked;  // the answer to that is awaited already
    }
    for (const auto& [name, view] : views_) {
        if (view.required) {
            asked.views.push_back(name);
        }
    }
    return asked;
}

freshness_fsm::order freshness_fsm::on_contradiction(const std::string& view, steady_time now) {
    const auto found = views_.find(view);
    if (found == views_.end() || found->second.ending) {
        return {};
    }
    std::optional<steady_time>& last = found->second.contradicted_at;
    if (last && now - *last < contradiction_interval) {
        return {};
    }
    last = now;
    return order(order::kind::list_anew, {view});
}

freshness_fsm::order freshness_fsm::on_rewound() {
    order all(order::kind::start_over, {});
    if (std::exchange(rewinding_, true)) {
        return all;
    }
    fence_ = {};
    for (const auto& each : views_) {
        all.views.push_back(each.first);
    }
    return all;
}

}  // namespace signalbox::k8sio::protocol
