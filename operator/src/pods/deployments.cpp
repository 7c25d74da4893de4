// SPDX-License-Identifier: Apache-2.0
#include "pods/deployments.hpp"

#include "controller/resource_table.hpp"
#include "k8sio/synchronization.hpp"

#include <jobcore/time.hpp>
#include <k8sio/reflector.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <exception>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace signalbox::op::pods {

namespace asio = boost::asio;

namespace {

struct deployment_facts {
    std::string ns, name, uid;
    std::int64_t generation = 0, observed_generation = 0;
    std::int64_t wanted = 1, available = 0;

    bool is_settled() const { return observed_generation == generation && available == wanted; }
};

std::string text_at(const rapidjson::Document& object, const char* pointer) {
    const rapidjson::Value* v = rapidjson::Pointer(pointer).Get(object);
    return v != nullptr && v->IsString() ? v->GetString() : "";
}

std::int64_t number(
    const rapidjson::Document& object, const char* pointer, std::int64_t otherwise
) {
    const rapidjson::Value* v = rapidjson::Pointer(pointer).Get(object);
    return v != nullptr && v->IsInt64() ? v->GetInt64() : otherwise;
}

std::optional<deployment_facts> read_deployment(std::string_view json) {
    rapidjson::Document object;
    object.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
    if (object.HasParseError() || !object.IsObject()) {
        return std::nullopt;
    }
    deployment_facts out;
    out.ns = text_at(object, "/metadata/namespace");
    out.name = text_at(object, "/metadata/name");
    out.uid = text_at(object, "/metadata/uid");
    out.generation = number(object, "/metadata/generation", 0);
    out.wanted = number(object, "/spec/replicas", 1);
    out.observed_generation = number(object, "/status/observedGeneration", 0);
    out.available = number(object, "/status/availableReplicas", 0);
    return out;
}

/// Counters of zero are left out by the real controller; a merge patch has to take them away.
std::string status_patch(const deployment_facts& of, core::instant now) {
    const std::string count = of.wanted == 0 ? "null" : std::to_string(of.wanted);
    return fmt::format(
        R"({{"metadata":{{"uid":"{0}"}},"status":{{"observedGeneration":{1},"replicas":{2},)"
        R"("updatedReplicas":{2},"readyReplicas":{2},"availableReplicas":{2},"conditions":[)"
        R"({{"type":"Available","status":"True","reason":"MinimumReplicasAvailable",)"
        R"("message":"simulated","lastUpdateTime":"{3}","lastTransitionTime":"{3}"}}]}}}})",
        of.uid,
        of.generation,
        count,
        core::format_time(now)
    );
}

k8sio::reflector_options reflect_options(const deployment_options& options) {
    k8sio::reflector_options out;
    out.ns = options.ns;
    out.label_selector = children_selector;
    return out;
}

}  // namespace

const k8sio::resource_type& deployment_type() {
    return type_of(core::object_kind::deployment, core::job_kind::pytorch);
}

class simulated_deployments::impl final : public k8sio::reflector_sink {
public:
    impl(asio::any_io_executor executor, k8sio::client& api, deployment_options options)
        : executor_(executor),
          api_(api),
          options_(std::move(options)),
          reflector_(api, deployment_type(), *this, reflect_options(options_)),
          idle_(executor) {}

    asio::awaitable<void> run() {
        k8sio::notification& idle = idle_;
        co_await reflector_.run();
        while (writes_ > 0) {
            co_await idle.wait();
        }
    }

    void stop() {
        stopping_ = true;
        reflector_.stop();
        for (const auto& [uid, timer] : timers_) {
            api_.time().cancel(timer);
        }
        timers_.clear();
    }

    void upsert(std::string_view json) override { see(json); }
    void remove(std::string_view) override {}  // a write that is due finds nothing

private:
    void see(std::string_view json) {
        auto seen = read_deployment(json);
        if (!seen || seen->is_settled() || stopping_) {
            return;
        }
        const auto due = timers_.find(seen->uid);
        if (due != timers_.end()) {
            api_.time().cancel(due->second);
        }
        const auto at = api_.time().steady_now() +
                        std::chrono::duration_cast<k8sio::steady_time::duration>(options_.delay);
        const std::string uid = seen->uid;
        timers_[uid] = api_.time().schedule(at, [this, facts = std::move(*seen)] {
            timers_.erase(facts.uid);
            start(facts);
        });
    }

    void start(const deployment_facts& facts) {
        ++writes_;
        asio::co_spawn(executor_, write(facts), [this](std::exception_ptr) {
            --writes_;
            idle_.notify();
        });
    }

    // Named values only are awaited with; `facts` is a copy that the caller named (style rule 4).
    asio::awaitable<void> write(deployment_facts facts) {
        std::string patch =
            status_patch(facts, std::chrono::floor<core::milliseconds>(api_.server_now()));
        const auto answer = co_await api_.merge_patch(
            deployment_type(), facts.ns, facts.name, std::move(patch), "status"
        );
        // Gone, or another one by now: what follows is observed.
        const bool failed = answer.has_error() && answer.error().http_status != 404 &&
                            answer.error().http_status != 409;
        if (failed && !stopping_ && options_.complain) {
            options_.complain(
                fmt::format("Deployment {}/{}: {}", facts.ns, facts.name, answer.error().text())
            );
        }
    }

    asio::any_io_executor executor_;
    k8sio::client& api_;
    deployment_options options_;
    k8sio::reflector reflector_;
    k8sio::notification idle_;
    std::unordered_map<std::string, k8sio::clock::timer_id> timers_;  // by UID
    std::size_t writes_ = 0;
    bool stopping_ = false;
};

simulated_deployments::simulated_deployments(
    asio::any_io_executor executor, k8sio::client& api, deployment_options options
)
    : impl_(std::make_unique<impl>(executor, api, std::move(options))) {}

simulated_deployments::~simulated_deployments() = default;

asio::awaitable<void> simulated_deployments::run() {
    return impl_->run();
}

void simulated_deployments::stop() {
    impl_->stop();
}

}  // namespace signalbox::op::pods
