// SPDX-License-Identifier: Apache-2.0
#include "pods/deployed_pods.hpp"

#include "controller/resource_table.hpp"
#include "k8sio/synchronization.hpp"
#include "pods/json_value.hpp"
#include "pods/status_writes.hpp"

#include <jobcore/plan.hpp>
#include <k8sio/resource.hpp>
#include <k8sio/store.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>
#include <vector>

namespace signalbox::op::pods {

namespace asio = boost::asio;

namespace {

std::string pod_body(const deployment_record& of, std::int64_t number) {
    rapidjson::Document pod;
    parse(pod, of.pod_template);
    auto& a = pod.GetAllocator();
    const auto copy = [&](const std::string& s) {
        return json_value(s.c_str(), static_cast<rapidjson::SizeType>(s.size()), a);
    };
    const auto object = [](json_value& in, const char* key, auto& allocator) -> json_value& {
        if (!in.HasMember(key)) {
            in.AddMember(rapidjson::StringRef(key), json_value(rapidjson::kObjectType), allocator);
        }
        return in[key];
    };
    const std::string hash = template_hash(of);
    json_value& metadata = object(pod, "metadata", a);
    metadata.AddMember("name", copy(fmt::format("{}-{}-{}", of.name, hash, number)), a);
    metadata.AddMember("namespace", copy(of.ns), a);
    object(metadata, "labels", a).AddMember(rapidjson::StringRef(hash_label), copy(hash), a);
    json_value owner(rapidjson::kObjectType);
    owner.AddMember("apiVersion", "apps/v1", a);
    owner.AddMember("kind", "Deployment", a);
    owner.AddMember("name", copy(of.name), a);
    owner.AddMember("uid", copy(of.uid), a);
    owner.AddMember("controller", true, a);
    owner.AddMember("blockOwnerDeletion", true, a);
    json_value owners(rapidjson::kArrayType);
    owners.PushBack(owner, a);
    metadata.AddMember("ownerReferences", owners, a);
    pod.AddMember("apiVersion", "v1", a);
    pod.AddMember("kind", "Pod", a);
    return to_text(pod);
}

}  // namespace

std::optional<deployment_step> next_step(
    const deployment_record& of, std::span<const deployed_pod* const> pods, core::instant now
) {
    const std::string hash = template_hash(of);
    std::vector<const deployed_pod*> present, going;
    for (const deployed_pod* pod : pods) {
        const bool good = pod->template_hash == hash && !pod->ended && !pod->deleting;
        (good ? present : going).push_back(pod);
    }
    std::ranges::sort(present, {}, &deployed_pod::name);
    while (static_cast<std::int64_t>(present.size()) > of.wanted) {
        going.push_back(present.back());
        present.pop_back();
    }
    for (const deployed_pod* pod : going) {
        if (!pod->deleting) {
            return remove_pod{pod->name, pod->uid};
        }
    }
    const auto there = static_cast<std::int64_t>(present.size());
    const std::int64_t ready = std::ranges::count(present, true, &deployed_pod::ready);
    if (!of.says(there, ready)) {
        return write_status{status_patch(of, there, ready, now)};
    }
    if (there == of.wanted || !going.empty()) {
        return std::nullopt;
    }
    std::int64_t number = 0;
    const auto is_taken = [&] {
        const std::string name = fmt::format("{}-{}-{}", of.name, hash, number);
        return std::ranges::any_of(present, [&](const auto* pod) { return pod->name == name; });
    };
    while (is_taken()) {
        ++number;
    }
    return make_pod{pod_body(of, number)};
}

namespace {

using deployment_store = k8sio::store<deployment_record>;
using pod_store = k8sio::store<deployed_pod, k8sio::by<&deployed_pod::deployment>>;

class deployed_pods final : public deployment_controller {
public:
    deployed_pods(asio::any_io_executor executor, k8sio::client& api, deployment_options options)
        : executor_(std::move(executor)),
          api_(api),
          options_(std::move(options)),
          deployments_(read_deployment_record),
          pods_(read_deployed_pod),
          of_deployments_(
              api_, deployment_type(), deployments_, reflect(options_, children_selector)
          ),
          of_pods_(api_, k8sio::resources::pods(), pods_, reflect(options_, hash_label)),
          changed_(executor_),
          idle_(executor_) {
        deployments_.on_change([this](const auto* before, const auto* now) {
            if (now == nullptr) {
                known_.erase(before->uid);
            } else {
                known_.insert(now->uid);
            }
            changed_.notify();
        });
        pods_.on_change([this](const auto*, const auto*) { changed_.notify(); });
    }

    asio::awaitable<void> run() override {
        k8sio::notification& changed = changed_;
        k8sio::notification& idle = idle_;
        watch(of_deployments_);
        watch(of_pods_);
        while (!stopping_) {
            co_await changed.wait();
            // A copy: a step may change the set.
            const std::vector<std::string> now(known_.begin(), known_.end());
            for (const std::string& uid : now) {
                co_await look_after(uid);
            }
        }
        while (watching_ > 0) {
            co_await idle.wait();
        }
    }

    void stop() override {
        stopping_ = true;
        of_deployments_.stop();
        of_pods_.stop();
        changed_.notify();
    }

private:
    void watch(k8sio::reflector& what) {
        ++watching_;
        asio::co_spawn(executor_, what.run(), [this](std::exception_ptr) {
            --watching_;
            idle_.notify();
        });
    }

    /// Goes on until nothing is to be done, or a write fails: then the next event tries again.
    asio::awaitable<void> look_after(std::string uid) {
        bool going = true;
        while (going && !stopping_ && deployments_.synced() && pods_.synced()) {
            const auto of = deployments_.get(uid);
            if (of == nullptr) {
                co_return;
            }
            const auto step = next_step_in_view(*of);
            if (!step) {
                co_return;
            }
            going = co_await carry_out(*of, *step);
        }
    }

    std::optional<deployment_step> next_step_in_view(const deployment_record& of) const {
        const auto pods = pods_.find<k8sio::by<&deployed_pod::deployment>>(of.uid);
        std::vector<const deployed_pod*> each;
        for (const auto& pod : pods) {
            each.push_back(pod.get());
        }
        return next_step(of, each, std::chrono::floor<core::milliseconds>(api_.server_now()));
    }

    asio::awaitable<bool> carry_out(const deployment_record& of, const deployment_step& step) {
        const auto* made = std::get_if<make_pod>(&step);
        if (made != nullptr) {
            std::string body = made->body;
            const auto answer =
                co_await api_.create(k8sio::resources::pods(), of.ns, std::move(body));
            co_return taken(of, answer, pods_);
        }
        if (const auto* gone = std::get_if<remove_pod>(&step)) {
            const k8sio::delete_options precondition(gone->uid);
            const auto answer =
                co_await api_.remove(k8sio::resources::pods(), of.ns, gone->name, precondition);
            co_return taken(of, answer, pods_);
        }
        std::string patch = std::get<write_status>(step).patch;
        const auto answer = co_await api_.merge_patch(
            deployment_type(), of.ns, of.name, std::move(patch), "status"
        );
        co_return taken(of, answer, deployments_);
    }

    /// True if the view now has what was written, so that the next step can be decided on it.
    template <class Store>
    bool taken(const deployment_record& of, const k8sio::result<std::string>& answer, Store& view) {
        if (!answer.has_error()) {
            return !view.insert_answer(std::string_view(*answer)).empty();
        }
        if (!stopping_) {
            complain_of(options_.complain, "Deployment", of.ns, of.name, answer.error());
        }
        return false;
    }

    asio::any_io_executor executor_;
    k8sio::client& api_;
    deployment_options options_;
    deployment_store deployments_;
    pod_store pods_;
    k8sio::reflector of_deployments_, of_pods_;
    k8sio::notification changed_, idle_;
    std::set<std::string> known_;  ///< UIDs of Deployments
    int watching_ = 0;
    bool stopping_ = false;
};

}  // namespace

std::unique_ptr<deployment_controller> make_deployed_pods(
    asio::any_io_executor executor, k8sio::client& api, deployment_options options
) {
    return std::make_unique<deployed_pods>(std::move(executor), api, std::move(options));
}

}  // namespace signalbox::op::pods
