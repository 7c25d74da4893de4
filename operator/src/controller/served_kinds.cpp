// SPDX-License-Identifier: Apache-2.0
#include "controller/served_kinds.hpp"

#include "controller/resource_table.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// After no answer the server is asked again this soon, then twice as late each time.
constexpr std::chrono::milliseconds first_retry{1000};
/// How long decisions wait for the first lists of kinds that are served. One that cannot be listed
/// must not hold up the jobs that do not need it.
constexpr std::chrono::milliseconds first_list_time{2000};

/// Nothing if the server gave no usable answer.
asio::awaitable<std::optional<core::served>> ask(
    k8sio::client& api, const k8sio::resource_type& type
) {
    std::string target = "/apis/" + type.api_version();
    std::string none;
    const auto answer = co_await api.raw("GET", std::move(target), none, none);
    std::optional<core::served> found;
    if (answer.has_value()) {
        found = find_in_discovery(*answer, type.plural());
    } else if (answer.error().http_status == 404) {
        found = core::served::no;
    }
    co_return found;
}

}  // namespace

std::optional<core::served> find_in_discovery(std::string_view document, std::string_view plural) {
    rapidjson::Document list;
    list.Parse<rapidjson::kParseIterativeFlag>(document.data(), document.size());
    if (list.HasParseError() || !list.IsObject() || !list.HasMember("resources") ||
        !list["resources"].IsArray()) {
        return std::nullopt;
    }
    for (const rapidjson::Value& resource : list["resources"].GetArray()) {
        const bool named = resource.IsObject() && resource.HasMember("name") &&
                           resource["name"].IsString() && resource["name"].GetString() == plural;
        if (named) {
            return core::served::yes;
        }
    }
    return core::served::no;
}

served_kinds::served_kinds(
    asio::any_io_executor loop,
    k8sio::client& api,
    const settings& config,
    const cluster_views& views,
    const child_watches& watches,
    k8sio::controller& runtime
)
    : api_(&api), config_(&config), watches_(&watches), runtime_(&runtime), wake_(loop) {
    for (const watched_kind& kind : watched_children()) {
        if (kind.when == watched::if_served && is_wanted(kind.kind, config.options.without)) {
            rows_.push_back({views.view_of(kind.kind), kind.type});
        }
    }
}

asio::awaitable<void> served_kinds::run() {
    std::chrono::nanoseconds retry = first_retry;
    while (!stopping_) {
        const bool answered = co_await look();
        if (!std::exchange(looked_, true) && !all_synced()) {
            co_await sleep(first_list_time);
        }
        waited_ = true;
        runtime_->wake();
        const std::chrono::nanoseconds regular = config_->rules.capability_retry;
        const std::chrono::nanoseconds pause = answered ? regular : std::min(retry, regular);
        retry = answered ? std::chrono::nanoseconds(first_retry) : pause * 2;
        co_await sleep(pause);
    }
}

void served_kinds::stop() {
    stopping_ = true;
    wake_.notify();
}

asio::awaitable<void> served_kinds::sleep(std::chrono::nanoseconds duration) {
    k8sio::clock& time = api_->time();
    if (stopping_) {
        co_return;
    }
    const auto at =
        time.steady_now() + std::chrono::duration_cast<k8sio::steady_time::duration>(duration);
    timer_ = time.schedule(at, [this] { wake_.notify(); });
    co_await wake_.wait();
    time.cancel(timer_);
}

/// False if the server could not say of every kind.
asio::awaitable<bool> served_kinds::look() {
    bool all = true;
    for (const row& r : rows_) {
        const std::optional<core::served> answer = co_await ask(*api_, *r.type);
        if (stopping_) {
            break;
        }
        if (answer) {
            follow(r, *answer);
        }
        all = all && answer.has_value();
    }
    co_return all;
}

void served_kinds::follow(const row& r, core::served answer) {
    const bool news = r.view->offered != answer;
    r.view->offered = answer;
    // What a reflector leaves in the view is forgotten; the next look may start another.
    const bool is_watched = runtime_->reflector_of(r.view->store) != nullptr;
    if (answer == core::served::yes && !is_watched) {
        watches_->watch(*r.type, r.view->store, false);
    } else if (answer == core::served::no && is_watched) {
        runtime_->unwatch(r.view->store);
    }
    if (news) {
        config_->log->info(
            "the server {} {}",
            answer == core::served::yes ? "serves" : "does not serve",
            r.type->plural() + "." + r.type->group()
        );
    }
}

bool served_kinds::all_synced() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const row& r) {
        return r.view->offered != core::served::yes || r.view->store.synced();
    });
}

bool served_kinds::settled() const {
    return looked_ && (waited_ || all_synced());
}

}  // namespace signalbox::op
