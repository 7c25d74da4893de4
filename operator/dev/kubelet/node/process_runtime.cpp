// SPDX-License-Identifier: Apache-2.0
#include "kubelet/node/process_runtime.hpp"

#include "kubelet/disk/atomic_files.hpp"
#include "kubelet/life/claims.hpp"
#include "kubelet/names/name_server.hpp"
#include "kubelet/node/cluster_view.hpp"
#include "kubelet/node/node_object.hpp"
#include "kubelet/node/object_watch.hpp"
#include "kubelet/node/scheduler.hpp"
#include "kubelet/node/streams.hpp"
#include "pods/binding.hpp"

#include <k8sio/reflector.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds bind_again{500};
/// Between looks for a claim that was not there.
constexpr std::chrono::seconds claims_again{2};
constexpr int missing = 404, conflicting = 409;
constexpr std::size_t node_file_limit = 1 << 20;

struct pod_entry {
    pod_spec pod;  ///< until it has a worker
    std::shared_ptr<pod_worker> worker;
    bool placing = false;  ///< being bound, or waiting for room
    bool claimed = false;  ///< its claims are there
    bool removing = false;
    std::string told;  ///< why there is no room
};

bool is_over(const pod_spec& pod) {
    return pod.phase == "Succeeded" || pod.phase == "Failed";
}

class node_runtime final : public process_runtime, private k8sio::reflector_sink {
public:
    node_runtime(
        asio::any_io_executor executor,
        k8sio::client& api,
        std::unique_ptr<containers::container_runtime> containers,
        process_options options
    )
        : options_(std::move(options)),
          containers_(std::move(containers)),
          node_(executor, api, *containers_, options_),
          scheduler_(node_offers(
              options_.node_name.empty() ? machine_name() : options_.node_name,
              options_.nodes,
              options_.resources
          )),
          services_(read_service),
          config_maps_([this](const k8sio::object_key& key) { changed("c/" + key.text()); }),
          secrets_([this](const k8sio::object_key& key) { changed("s/" + key.text()); }) {
        measure_machine(node_.place);
        node_.place.host_address = containers_->node_address();
        node_.hosts_file = read_file("/etc/hosts", node_file_limit).value_or("");
        node_.resolver_file = read_file("/etc/resolv.conf", node_file_limit).value_or("");
        node_.services = [this](const std::string& ns) { return services_of(services_, ns); };
        node_.released = [this](const std::string& uid) { released(uid); };
        node_.gone = [this](const std::string& uid) { gone(uid); };
        services_.on_change([this](const service_record* before, const service_record* now) {
            if (now != nullptr) {
                names_.put(now->names);
            } else {
                names_.remove_service(before->uid);
            }
        });
        add_reflector(k8sio::resources::services(), services_);
        add_reflector(k8sio::resources::config_maps(), config_maps_);
        add_reflector(k8sio::resources::secrets(), secrets_);
        add_reflector(k8sio::resources::pods(), *this, options_.label_selector);
    }

    ~node_runtime() override { streams_->detach(); }

    std::shared_ptr<k8sio::server::pod_streams> streams() override { return streams_; }

    asio::awaitable<void> run() override {
        k8sio::reflector& of_pods = *reflectors_.back();
        co_await create_nodes();
        start_name_server();
        node_.spawn(node_.events.run());
        for (std::size_t i = 0; i + 1 < reflectors_.size(); ++i) {
            node_.spawn(reflectors_[i]->run());
        }
        co_await of_pods.run();
        stop();
        abandon_all();
        co_await node_.idle();
        co_await containers_->stop();
        entries_.clear();
    }

    void stop() override {
        stopping_ = true;
        for (const auto& r : reflectors_) {
            r->stop();
        }
        if (name_server_) {
            name_server_->stop();
        }
        node_.events.stop();
        node_.time().cancel(claims_timer_);
    }

    const pods::runtime_counters& counters() const override { return node_.counters; }

    std::vector<std::string> notices() const override {
        std::vector<std::string> out{
            "every container sees this machine's own file system, copy on write, in place of its "
            "image, but where --image names a folder",
            options_.outputs.empty()
                ? "what pods write is lost at their end, but below --bind, --claims and hostPath, "
                  "or "
                  "with --outputs DIR; /tmp is empty in pods"
                : "what pods write is kept in " + options_.outputs + "; /tmp is empty in pods",
            "requests of cpu and memory are not counted"};
        for (const std::string& s : containers_->shortcomings()) {
            out.push_back(s);
        }
        return out;
    }

    int service_socket() override {
        const auto socket = containers_->service_socket();
        return socket.has_value() ? *socket : -1;
    }

    std::string logs_folder() const override { return options_.folder + "/logs"; }
    std::string kept_logs() const override { return options_.log_dir; }

private:
    void add_reflector(
        const k8sio::resource_type& type, k8sio::reflector_sink& to, std::string selector = {}
    ) {
        k8sio::reflector_options options;
        options.ns = options_.ns;
        options.label_selector = std::move(selector);
        reflectors_.push_back(
            std::make_unique<k8sio::reflector>(node_.api, type, to, std::move(options))
        );
    }

    void start_name_server() {
        const auto socket = containers_->name_server_socket();
        if (socket.has_error()) {
            node_.complain("no names for pods: " + socket.error().message);
            return;
        }
        name_server_options options;
        options.offline = options_.offline;
        options.uplink = first_name_server(node_.resolver_file);
        name_server_ = std::make_unique<name_server>(
            node_.executor,
            node_.time(),
            *socket,
            [this](std::string_view name) { return names_.find(name); },
            std::move(options)
        );
        node_.spawn(name_server_->run());
    }

    // What the reflector of pods sees.
    void replace_begin() override { listed_.clear(); }
    void replace_item(std::string_view json) override {
        if (const auto pod = read_pod_spec(json)) {
            listed_.insert(pod->uid);
            see(*pod, json);
        }
    }
    void replace_end(std::string_view) override {
        for (const std::string& uid : uids()) {
            if (!listed_.contains(uid)) {
                forget(uid);
            }
        }
        listed_.clear();
    }
    void replace_abort() override { listed_.clear(); }
    void upsert(std::string_view json) override {
        if (const auto pod = read_pod_spec(json)) {
            see(*pod, json);
        }
    }
    void remove(std::string_view json) override {
        if (const auto pod = read_pod_spec(json)) {
            forget(pod->uid);
        }
    }

    std::vector<std::string> uids() const {
        std::vector<std::string> out;
        for (const auto& [uid, e] : entries_) {
            out.push_back(uid);
        }
        return out;
    }

    void see(const pod_spec& pod, std::string_view json) {
        names_.put(named(pod));
        if (stopping_) {
            return;
        }
        pod_entry& e = entries_[pod.uid];
        if (const std::shared_ptr<pod_worker> worker = e.worker) {
            worker->update(pod);
            return;
        }
        e.pod = pod;
        if (pod.node.empty()) {
            if (pod.deleting) {
                remove_object(e);
            } else if (pod.gates.empty() && !e.placing) {
                e.placing = true;
                place(pod.uid);
            }
        } else if (!scheduler_.has_node(pod.node)) {
            return;
        } else if (is_over(pod)) {
            if (pod.deleting) {
                remove_object(e);
            }
        } else {
            begin(e, json);
        }
    }

    void begin(pod_entry& e, std::string_view json) {
        scheduler_.take(e.pod);
        pods::behaviour faults;
        if (const auto facts = pods::read_pod(json)) {
            const std::string key =
                fmt::format("{}/{}/{}", facts->job_uid, facts->type, facts->index);
            const std::int32_t nth = facts->job_uid.empty() ? 1 : ++seen_[key];
            std::string problem;
            faults = pods::behaviour_of(*facts, nth, options_.script, problem);
            if (!problem.empty()) {
                node_.complain(fmt::format("pod {}/{}: {}", e.pod.ns, e.pod.name, problem));
            }
        }
        device_map devices = scheduler_.devices_of(e.pod);
        const auto worker = std::make_shared<pod_worker>(
            node_, std::move(e.pod), std::move(devices), std::move(faults)
        );
        e.worker = worker;
        e.pod = pod_spec();
        for (const std::string& key : keys_of(*worker)) {
            referrers_[key].insert(worker->pod().uid);
        }
        worker->begin();
    }

    static std::vector<std::string> keys_of(const pod_worker& worker) {
        std::vector<std::string> out;
        for (const std::string& name : worker.references().config_maps) {
            out.push_back("c/" + worker.pod().ns + "/" + name);
        }
        for (const std::string& name : worker.references().secrets) {
            out.push_back("s/" + worker.pod().ns + "/" + name);
        }
        return out;
    }

    void changed(const std::string& key) {
        const auto it = referrers_.find(key);
        if (it == referrers_.end()) {
            return;
        }
        const std::set<std::string> who = it->second;
        for (const std::string& uid : who) {
            const auto e = entries_.find(uid);
            if (e != entries_.end() && e->second.worker) {
                const std::shared_ptr<pod_worker> worker = e->second.worker;
                worker->object_changed();
            }
        }
    }

    void forget(const std::string& uid) {
        names_.remove_pod(uid);
        const auto it = entries_.find(uid);
        if (it == entries_.end()) {
            return;
        }
        if (const std::shared_ptr<pod_worker> worker = it->second.worker) {
            worker->object_gone();
        } else {
            gone(uid);
        }
    }

    void gone(const std::string& uid) {
        const auto it = entries_.find(uid);
        if (it == entries_.end()) {
            return;
        }
        if (it->second.worker) {
            for (const std::string& key : keys_of(*it->second.worker)) {
                const auto r = referrers_.find(key);
                r->second.erase(uid);
                if (r->second.empty()) {
                    referrers_.erase(r);
                }
            }
        }
        entries_.erase(it);
        ++node_.counters.removed;
        released(uid);
    }

    /// What a pod had is free: those that wait for room are tried again, the oldest first.
    void released(const std::string& uid) {
        scheduler_.release(uid);
        place_waiting();
    }

    void place_waiting() {
        std::deque<std::string> waiting;
        waiting.swap(waiting_);
        for (const std::string& next : waiting) {
            if (entries_.contains(next) && !stopping_) {
                place(next);
            }
        }
    }

    void place(const std::string& uid) {
        pod_entry& e = entries_.at(uid);
        if (!e.claimed && has_claims(e.pod)) {
            node_.spawn(claim(uid));
            return;
        }
        const scheduler::verdict v = scheduler_.place(e.pod);
        if (v.node.empty()) {
            wait_for_room(uid, v.why);
        } else {
            node_.spawn(bind(uid, v.node));
        }
    }

    void wait_for_room(const std::string& uid, const std::string& why) {
        pod_entry& e = entries_.at(uid);
        waiting_.push_back(uid);
        if (e.told != why) {
            e.told = why;
            node_.tell(e.pod, true, "FailedScheduling", why);
            node_.spawn(report_unschedulable(e.pod, why));
        }
    }

    /// Nothing tells when a folder appears, so it is looked for again.
    asio::awaitable<void> claim(std::string uid) {
        pod_spec pod = entries_.at(uid).pod;
        const std::string lacks = co_await provide_claims(node_, std::move(pod));
        if (stopping_ || !entries_.contains(uid)) {
            co_return;
        }
        if (lacks.empty()) {
            entries_.at(uid).claimed = true;
            place(uid);
            co_return;
        }
        wait_for_room(
            uid, fmt::format("0/{} nodes are available: {}.", scheduler_.nodes().size(), lacks)
        );
        node_.time().cancel(claims_timer_);
        claims_timer_ =
            node_.time().schedule(node_.now() + claims_again, [this] { place_waiting(); });
    }

    asio::awaitable<void> report_unschedulable(pod_spec pod, std::string why) {
        pods::pod_status status;
        status.set_condition("PodScheduled", false, "Unschedulable", why, node_.server_now());
        std::string patch = pods::status_patch(status, pod.uid);
        const auto answer = co_await node_.api.merge_patch(
            k8sio::resources::pods(), pod.ns, pod.name, std::move(patch), "status"
        );
        if (answer.has_error() && answer.error().http_status != missing) {
            ++node_.counters.errors;
            node_.complain(answer.error().text());
        }
    }

    asio::awaitable<void> bind(std::string uid, std::string to) {
        const k8sio::resource_type& type = k8sio::resources::pods();
        while (entries_.contains(uid) && !stopping_) {
            const pod_spec pod = entries_.at(uid).pod;
            std::string body = pods::binding_json(pod.name, pod.ns, pod.uid, to);
            std::string target = type.object_path(pod.ns, pod.name, "binding");
            const k8sio::result<std::string> answer = co_await node_.api.raw(
                "POST", std::move(target), "application/json", std::move(body)
            );
            if (answer.has_value()) {
                ++node_.counters.bound;
                node_.tell(
                    pod,
                    false,
                    "Scheduled",
                    fmt::format("Successfully assigned {}/{} to {}", pod.ns, pod.name, to)
                );
                co_return;
            }
            const int status = answer.error().http_status;
            if (status == missing || status == conflicting) {
                // Gone, or bound by another scheduler: the watch shows what follows.
                scheduler_.release(uid);
                co_return;
            }
            ++node_.counters.errors;
            node_.complain(fmt::format("pod {}/{}: {}", pod.ns, pod.name, answer.error().text()));
            co_await k8sio::sleep_for(node_.time(), bind_again);
        }
        scheduler_.release(uid);
    }

    /// Of a pod of which nothing runs.
    void remove_object(pod_entry& e) {
        if (!e.removing) {
            e.removing = true;
            node_.spawn(remove_now(e.pod.ns, e.pod.name, k8sio::delete_options(e.pod.uid)));
        }
    }

    asio::awaitable<void> remove_now(
        std::string ns, std::string name, k8sio::delete_options options
    ) {
        const k8sio::resource_type& type = k8sio::resources::pods();
        options.grace_seconds = 0;
        const auto answer = co_await node_.api.remove(type, ns, name, options);
        if (answer.has_error() && answer.error().http_status != missing) {
            ++node_.counters.errors;
            node_.complain(answer.error().text());
        }
    }

    void abandon_all() {
        for (const std::string& uid : uids()) {
            const auto it = entries_.find(uid);
            if (it != entries_.end() && it->second.worker) {
                const std::shared_ptr<pod_worker> worker = it->second.worker;
                worker->abandon();
            }
        }
    }

    asio::awaitable<void> create_nodes() {
        const std::vector<node_offer> nodes = scheduler_.nodes();
        for (const node_offer& n : nodes) {
            std::string body = node_body(n);
            const auto made =
                co_await node_.api.create(k8sio::resources::nodes(), "", std::move(body));
            if (made.has_error() && made.error().http_status != conflicting) {
                node_.complain(made.error().text());
                continue;
            }
            std::string patch = node_status(n, node_.place, node_.server_now());
            const auto answer = co_await node_.api.merge_patch(
                k8sio::resources::nodes(), "", n.name, std::move(patch), "status"
            );
            if (answer.has_error()) {
                node_.complain(answer.error().text());
            }
        }
    }

    process_options options_;
    std::unique_ptr<containers::container_runtime> containers_;
    node_services node_;
    scheduler scheduler_;
    cluster_names names_;
    service_store services_;
    object_watch config_maps_, secrets_;
    std::vector<std::unique_ptr<k8sio::reflector>> reflectors_;
    std::unique_ptr<name_server> name_server_;
    std::unordered_map<std::string, pod_entry> entries_;  // by UID
    std::unordered_map<std::string, std::set<std::string>> referrers_;
    std::map<std::string, std::int32_t> seen_;  // pods so far, by job, type and index
    std::set<std::string> listed_;
    std::deque<std::string> waiting_;  // for room, or for a claim
    k8sio::clock::timer_id claims_timer_ = 0;
    bool stopping_ = false;
    std::shared_ptr<node_streams> streams_ =
        std::make_shared<node_streams>(node_, [this](const std::string& uid) {
            const auto it = entries_.find(uid);
            return it == entries_.end() ? nullptr : it->second.worker;
        });
};

}  // namespace

std::unique_ptr<process_runtime> make_process_runtime(
    asio::any_io_executor executor,
    k8sio::client& api,
    std::unique_ptr<containers::container_runtime> containers,
    process_options options
) {
    return std::make_unique<node_runtime>(executor, api, std::move(containers), std::move(options));
}

}  // namespace signalbox::op::kubelet
