// SPDX-License-Identifier: Apache-2.0
//
// A controller: keeps a copy of each ConfigMap of one namespace that has the label replicate=true
// in another namespace, as long as it is there.
#include <k8sio/connect.hpp>
#include <k8sio/controller.hpp>
#include <k8sio/object.hpp>
#include <k8sio/store.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/src.hpp>

#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace asio = boost::asio;
namespace json = boost::json;
namespace k8sio = signalbox::k8sio;

namespace {

/// What the controller looks at of a ConfigMap.
struct config_map : k8sio::object_meta {
    json::value data;
};

std::optional<config_map> read(std::string_view text) {
    auto meta = k8sio::read_object_meta(text);
    if (!meta) {
        return std::nullopt;
    }
    json::value object = json::parse(text);
    return config_map{std::move(*meta), object.as_object()["data"]};
}

std::string copy_of(const config_map& original, const std::string& version) {
    json::object meta{{"name", original.name}, {"labels", {{"replica-of", original.ns}}}};
    if (!version.empty()) {
        meta["resourceVersion"] = version;  // a newer one is not overwritten
    }
    return json::serialize(json::object{
        {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", meta}, {"data", original.data}});
}

class replicator {
public:
    replicator(asio::any_io_executor executor, k8sio::client& api, std::string from, std::string to)
        : api_(&api),
          to_(std::move(to)),
          work_(executor, api, [this](std::string name) { return reconcile(std::move(name)); }) {
        work_.watch(type_, originals_, by_name(), k8sio::watch_options(from, "replicate=true"));
        work_.watch(type_, copies_, by_name(), k8sio::watch_options(to_, "replica-of=" + from));
    }

    asio::awaitable<k8sio::reconcile_result> reconcile(std::string name) {
        const auto original = originals_.find<by_name>(name);
        const auto copy = copies_.find<by_name>(name);
        k8sio::result<std::string> answer = std::string();
        if (original.empty() && !copy.empty()) {
            const k8sio::delete_options only_this(copy[0]->uid);
            answer = co_await api_->remove(type_, to_, name, only_this);
        } else if (!original.empty() && copy.empty()) {
            std::string wanted = copy_of(*original[0], "");
            answer = co_await api_->create(type_, to_, std::move(wanted));
        } else if (!original.empty() && original[0]->data != copy[0]->data) {
            std::string wanted = copy_of(*original[0], copy[0]->resource_version);
            answer = co_await api_->update(type_, to_, name, std::move(wanted));
        }
        k8sio::reconcile_result result;
        result.failed = answer.has_error();  // again, later
        if (result.failed) {
            std::cerr << answer.error().text() << std::endl;
        } else {
            work_.note_answer(name, copies_, *answer);
        }
        co_return result;
    }

    k8sio::controller& work() { return work_; }

private:
    using by_name = k8sio::by<&config_map::name>;

    const k8sio::resource_type& type_ = k8sio::resources::config_maps();
    k8sio::client* api_;
    std::string to_;
    k8sio::store<config_map, by_name> originals_{read}, copies_{read};
    k8sio::controller work_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: config_map_replicator FROM-NAMESPACE TO-NAMESPACE\n";
        return 2;
    }
    asio::io_context loop;
    auto cluster = k8sio::connect(loop.get_executor());
    if (!cluster) {
        std::cerr << cluster.error().text() << '\n';
        return 2;
    }
    replicator replicas(loop.get_executor(), cluster->api(), argv[1], argv[2]);
    k8sio::controller& work = replicas.work();
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    signals.async_wait([&](boost::system::error_code, int) { work.stop(); });
    asio::co_spawn(loop, work.run(), [&](std::exception_ptr) { signals.cancel(); });
    loop.run();
    std::cerr << work.failure();
    return work.failure().empty() ? 0 : 1;
}
