// SPDX-License-Identifier: Apache-2.0
#include "controller/served_kinds.hpp"

#include "controller/resource_table.hpp"

#include <boost/asio/co_spawn.hpp>

#include <rapidjson/document.h>

#include <algorithm>
#include <exception>
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
    context& shared, const k8sio::resource_type& type
) {
    std::string target = "/apis/" + type.api_version();
    std::string none;
    const auto answer = co_await shared.api->raw("GET", std::move(target), none, none);
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

served_kinds::served_kinds(context& shared, std::function<void()> changed)
    : shared_(&shared),
      changed_(std::move(changed)),
      wake_(shared.executor),
      ended_(shared.executor) {
    for (const watched_kind& kind : watched_children()) {
        if (kind.when == watched::if_served) {
            rows_.push_back({shared.view_of(kind.kind), kind.type, nullptr});
        }
    }
}

served_kinds::~served_kinds() = default;

asio::awaitable<void> served_kinds::run() {
    std::chrono::nanoseconds retry = first_retry;
    while (!stopping_) {
        const bool answered = co_await look();
        if (!std::exchange(looked_, true) && !all_synced()) {
            co_await sleep(first_list_time);
        }
        waited_ = true;
        changed_();
        const std::chrono::nanoseconds regular = shared_->rules.capability_retry;
        const std::chrono::nanoseconds pause = answered ? regular : std::min(retry, regular);
        retry = answered ? std::chrono::nanoseconds(first_retry) : pause * 2;
        co_await sleep(pause);
    }
    for (const row& r : rows_) {
        if (r.reflector) {
            r.reflector->stop();
        }
    }
    while (running_ > 0) {
        co_await ended_.wait();
    }
    if (broken_) {
        std::rethrow_exception(broken_);
    }
}

void served_kinds::stop() {
    stopping_ = true;
    wake_.notify();
}

void served_kinds::start_over() {
    for (const row& r : rows_) {
        if (r.reflector) {
            r.reflector->start_over();
        }
    }
}

void served_kinds::refresh() {
    for (const row& r : rows_) {
        if (r.reflector) {
            r.reflector->refresh();
        }
    }
}

bool served_kinds::in_doubt() const {
    return std::any_of(rows_.begin(), rows_.end(), [](const row& r) {
        return r.reflector && r.reflector->synced() && r.reflector->doubtful();
    });
}

asio::awaitable<void> served_kinds::sleep(std::chrono::nanoseconds duration) {
    k8sio::clock& time = shared_->api->time();
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
    for (row& r : rows_) {
        const std::optional<core::served> answer = co_await ask(*shared_, *r.type);
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

void served_kinds::follow(row& r, core::served answer) {
    const bool news = r.view->offered != answer;
    r.view->offered = answer;
    if (answer == core::served::yes && !r.reflector) {
        start(r);
    } else if (answer == core::served::no && r.reflector) {
        r.reflector->stop();
    }
    if (news) {
        shared_->log->info(
            "the server {} {}",
            answer == core::served::yes ? "serves" : "does not serve",
            r.type->plural() + "." + r.type->group()
        );
    }
}

void served_kinds::start(row& r) {
    k8sio::reflector_options options;
    options.ns = shared_->options.ns;
    options.label_selector = children_selector;
    r.reflector = std::make_unique<k8sio::reflector>(
        *shared_->api, *r.type, r.view->store, std::move(options)
    );
    ++running_;
    // The row outlives its reflector: rows_ does not change. What a stopped reflector leaves in the
    // view is forgotten, and the next look may start another.
    auto done = [this, &r](std::exception_ptr broken) {
        if (broken) {
            broken_ = broken;
            stop();
        }
        r.reflector.reset();
        r.view->store.clear();
        --running_;
        ended_.notify();
    };
    asio::co_spawn(shared_->executor, r.reflector->run(), std::move(done));
}

bool served_kinds::all_synced() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const row& r) {
        return r.view->offered != core::served::yes || r.view->store.synced();
    });
}

bool served_kinds::settled() const {
    return looked_ && (waited_ || all_synced());
}

std::vector<std::string> served_kinds::problems() const {
    std::vector<std::string> all;
    for (const row& r : rows_) {
        if (r.reflector && !r.reflector->last_error().empty()) {
            all.push_back(r.type->plural() + ": " + r.reflector->last_error());
        }
    }
    return all;
}

}  // namespace signalbox::op
