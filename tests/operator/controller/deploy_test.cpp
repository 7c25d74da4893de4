// SPDX-License-Identifier: Apache-2.0
//
// The permissions in the table are those that the operator uses, no more and no fewer. What is made
// of the table, tests/operator/cli/rbac_test.py looks at.
#include "controller/resource_table.hpp"
#include "k8sio/leader_election.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "roles/permissions.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/virtual_time.hpp"
#include "scenario/world.hpp"
#include "signalbox_test/source_files.hpp"

#include <jobcore/policy_fields.hpp>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <rapidjson/document.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;

std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == by) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

/// `verb group/resource[/subresource]` of a request, as the API server's authoriser sees it. Empty
/// for discovery, which every cluster grants to whoever it knows (`system:discovery`).
std::string permission_of(const std::string& method, const std::string& target) {
    const std::string path = target.substr(0, target.find('?'));
    std::vector<std::string> parts = split(path.substr(1), '/');
    std::size_t at = parts[0] == "api" ? 2 : 3;
    const std::string group = parts[0] == "api" ? "" : parts[1];
    if (parts.size() == at) {
        return {};
    }
    if (parts.at(at) == "namespaces" && parts.size() > at + 2) {
        at += 2;
    }
    std::string resource = group + "/" + parts.at(at);
    const bool named = parts.size() > at + 1;
    if (parts.size() > at + 2) {
        resource += "/" + parts[at + 2];
    }
    std::string verb = "create";
    if (method == "GET") {
        const bool watch = target.find("watch=") != std::string::npos;
        verb = watch ? "watch" : (named ? "get" : "list");
    } else if (method == "PUT") {
        verb = "update";
    } else if (method == "PATCH") {
        verb = "patch";
    } else if (method == "DELETE") {
        verb = "delete";
    }
    return verb + " " + resource;
}

/// As permission_of() has it. `without`: features that are left out.
std::set<std::string> granted(
    const std::vector<op::permission>& rules, const op::feature_set& without = {}
) {
    std::set<std::string> all;
    for (const op::permission& rule : rules) {
        if (rule.of && without.count(*rule.of) != 0) {
            continue;
        }
        for (const std::string& resource : rule.resources) {
            for (const std::string& verb : rule.verbs) {
                all.insert(verb + " " + rule.group + "/" + resource);
            }
        }
    }
    return all;
}

using used_permissions = std::set<std::string>;

/// A world whose operator's requests are noted in `used`, from its first on.
std::unique_ptr<world> observed_world(const world_options& options, used_permissions& used) {
    auto w = std::make_unique<world>(options);
    w->on_request = [&used](const k8sio::http_request& request) {
        used.insert(permission_of(request.method, request.target));
    };
    w->kill_operator();
    return w;
}

/// A worker fails, and its log is read.
void run_with_logs(used_permissions& used) {
    world_options options;
    options.controller.reads_logs = true;
    options.script.defaults = {{"fail-at", "1s"}};
    const auto w = observed_world(options, used);
    w->start_operator();
    w->create_job(job_builder("told").replicas("worker", 1));
    w->run_for(seconds{10});
}

/// Every object of ours of that kind is edited, so that it has to be patched back.
void edit_all(world& w, core::object_kind kind, const std::string& patch) {
    const k8sio::resource_type& type = op::type_of(kind, core::job_kind::pytorch);
    const auto all = w.list(type);
    CAPTURE(type.plural());
    CHECK_FALSE(all.empty());
    for (const std::string& object : all) {
        CHECK(w.patch(type, k8sio::read_object_meta(object)->name, patch).has_value());
    }
}

constexpr const char* no_component =
    R"({"metadata":{"labels":{"tensorstack.dev/component":null}}})";
constexpr const char* all_and_short_life =
    R"("runPolicy":{"ttlSecondsAfterFinished":5,"cleanUpPolicy":"All"})";

/// A worker vanishes, an edited Service is put back, and the job goes after its time.
void run_pytorch(used_permissions& used) {
    world_options options;
    options.script.defaults = {{"duration", "8s"}};
    op::pods::rule vanish = pods_of_type("worker", {{"vanish-at", "1s"}});
    vanish.index = core::index_set::parse("1");
    vanish.nth = core::index_set::parse("1");
    options.script.rules.push_back(vanish);
    const auto w = observed_world(options, used);
    w->start_operator();
    w->create_job(job_builder("mnist")
                      .replicas("worker", 2)
                      .torchrun()
                      .elastic(1, 4)
                      .run_policy(R"("ttlSecondsAfterFinished":5,"cleanUpPolicy":"All")"));
    w->run_for(milliseconds{500});
    edit_all(*w, core::object_kind::service, R"({"spec":{"publishNotReadyAddresses":false}})");
    w->run_for(seconds{60});
    CHECK(w->get(op::type_of(core::job_kind::pytorch), "mnist").has_error());
}

/// The ssh kinds, scheduled as gangs; every object beside the pods is edited and put back.
void run_ssh_kinds(used_permissions& used) {
    world_options options;
    options.script.defaults = {{"duration", "8s"}};
    const auto w = observed_world(options, used);
    w->serve("podgroup");
    w->start_operator();
    const std::string gang = R"("scheduler":{"t9kScheduler":{"queue":"q"}},)";
    w->create_job(deepspeed(
        "cifar",
        2,
        gang + R"("elastic":{"enabled":true,"minReplicas":1,"maxReplicas":4},)" + all_and_short_life
    ));
    w->create_job(colossalai(
        "palm", 2, gang + R"("runPolicy":{"cleanUpWorkers":true,"ttlSecondsAfterFinished":5})"
    ));
    w->run_for(seconds{2});
    edit_all(*w, core::object_kind::config_map, no_component);
    edit_all(*w, core::object_kind::pod_group, no_component);
    w->run_for(seconds{60});
    CHECK(w->get(op::type_of(core::job_kind::deepspeed), "cifar").has_error());
    CHECK(w->get(op::type_of(core::job_kind::colossalai), "palm").has_error());
    CHECK(w->list(k8sio::resources::secrets()).empty());
}

/// A gang of a scheduler that has to be asked for; what places it is edited and put back.
void run_gang(used_permissions& used, const std::string& scheduler) {
    world_options options;
    options.script.defaults = {{"duration", "8s"}};
    options.controller.without = {};
    const auto w = observed_world(options, used);
    w->serve("schedulers/" + scheduler);
    w->start_operator();
    w->create_job(job_builder("gang")
                      .replicas("worker", 2)
                      .field("scheduler", "{\"" + scheduler + "\":{}}")
                      .run_policy(R"("ttlSecondsAfterFinished":5)"));
    w->run_for(seconds{2});
    const core::object_kind kind = core::kinds_of_scheduler(scheduler).front();
    if (scheduler == "volcano") {
        CHECK(w->list(k8sio::resources::pods()).empty());
        edit_all(*w, kind, R"({"status":{"phase":"Inqueue"}})");
        w->run_for(seconds{2});
    }
    CHECK(w->list(k8sio::resources::pods()).size() == 2);
    edit_all(*w, kind, no_component);
    w->run_for(seconds{60});
    CHECK(w->get(op::type_of(core::job_kind::pytorch), "gang").has_error());
}

/// Who gives quota, and who takes it away.
void run_quota(used_permissions& used) {
    world_options options;
    options.script.defaults = {{"duration", "8s"}};
    options.controller.without = {};
    const auto w = observed_world(options, used);
    for (const char* name : {"kueue", "kueue_flavor", "kueue_priority"}) {
        w->serve(std::string("schedulers/") + name);
    }
    for (const core::object_kind kind : core::all_read_kinds()) {
        w->create(
            op::type_of(kind, core::job_kind::pytorch),
            fmt::format(
                R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"only"}},"value":7,)"
                R"("spec":{{"nodeLabels":{{"pool":"a"}}}}}})",
                core::api_version_of(kind),
                core::to_string(kind)
            )
        );
    }
    w->start_operator();
    w->create_job(
        job_builder("queued")
            .replicas("worker", 2)
            .field("scheduler", R"({"kueue":{"queueName":"q","workloadPriorityClassName":"only"}})")
            .run_policy(R"("ttlSecondsAfterFinished":5)")
    );
    w->run_for(seconds{2});
    const core::object_kind kind = core::kinds_of_scheduler("kueue").front();
    const k8sio::resource_type& type = op::type_of(kind, core::job_kind::pytorch);
    CHECK(w->list(k8sio::resources::pods()).empty());
    edit_all(*w, kind, no_component);
    w->run_for(seconds{2});
    const std::string made = w->list(type).at(0);
    CHECK(made.find(R"("priority":7)") != std::string::npos);
    CHECK(made.find("tensorstack.dev/component") != std::string::npos);
    const std::string name = k8sio::read_object_meta(made)->name;
    constexpr const char* admission =
        R"({"status":{"admission":{"clusterQueue":"c","podSetAssignments":[{"name":"worker","count":2,)"
        R"("flavors":{"cpu":"only"}}]},"conditions":[)"
        R"({"type":"QuotaReserved","status":"True","reason":"QuotaReserved","message":""},)"
        R"({"type":"Admitted","status":"True","reason":"Admitted","message":""}]}})";
    CHECK(w->patch(type, name, admission, "status").has_value());
    w->run_for(seconds{2});
    const auto pods = w->list(k8sio::resources::pods());
    CHECK(pods.size() == 2);
    CHECK(pods.at(0).find(R"("nodeSelector":{"pool":"a"})") != std::string::npos);
    CHECK(w->list(type).at(0).find(R"("type":"PodsReady","status":"True")") != std::string::npos);
    // Somebody deletes it: the pods stop, and quota is asked for anew.
    w->remove(type, name);
    w->run_for(seconds{20});
    CHECK(w->list(k8sio::resources::pods()).empty());
    w->patch_job("queued", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
    w->run_for(seconds{2});
    CHECK(w->list(type).empty());
    w->patch_job("queued", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    w->run_for(seconds{2});
    CHECK(w->patch(type, name, admission, "status").has_value());
    w->run_for(seconds{60});
    CHECK(w->get(op::type_of(core::job_kind::pytorch), "queued").has_error());
}

/// A TensorBoard, edited and then asked for no more.
void run_tensorboard(used_permissions& used, core::object_kind kind) {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    const auto w = observed_world(options, used);
    if (kind == core::object_kind::tensorboard) {
        w->serve("tensorboard");
    }
    w->start_operator();
    w->create_job(job_builder("board").field(
        "tensorboardSpec", R"({"image":"tb","trainingLogFilesets":["t9k://pvc/logs/a"]})"
    ));
    w->run_for(seconds{2});
    edit_all(*w, kind, no_component);
    w->run_for(seconds{2});
    w->patch_job("board", R"({"spec":{"tensorboardSpec":null}})");
    w->run_for(seconds{5});
    CHECK(w->list(op::type_of(kind, core::job_kind::pytorch)).empty());
}

/// Not sent in these stories, but needed: see the comments in the file. Pods are patched when one
/// is stuck, events when one is repeated, live reads (of what is watched) answer AlreadyExists, and
/// who makes an object with an owner must be allowed to keep that owner's finalizers.
bool is_rare(const std::string& grant, const used_permissions& used) {
    const std::string resource = grant.substr(grant.find(' ') + 1);
    const std::string owner = resource.substr(0, resource.rfind('/'));
    return grant == "patch /pods" || grant == "patch /events" ||
           (grant == "get " + resource && used.count("watch " + resource) == 1) ||
           (grant == "update " + owner + "/finalizers" &&
            used.count("update " + owner + "/status") == 1);
}

}  // namespace

TEST_CASE("[behaviour I17] the table of permissions has what the operator sends, and nothing else"
) {
    used_permissions used;
    run_pytorch(used);
    run_ssh_kinds(used);
    run_tensorboard(used, core::object_kind::deployment);
    run_tensorboard(used, core::object_kind::tensorboard);
    run_with_logs(used);
    for (const op::feature_row& row : op::scheduler_features()) {
        if (row.which != op::feature::kueue) {
            run_gang(used, std::string(row.name));
        }
    }
    run_quota(used);
    used.erase("");
    std::set<std::string> allowed = granted(op::job_permissions(core::all_job_kinds));
    allowed.merge(granted(op::cluster_permissions()));
    for (const std::string& need : used) {
        CAPTURE(need);
        CHECK(allowed.count(need) == 1);
    }
    for (const std::string& grant : allowed) {
        CAPTURE(grant);
        CHECK((used.count(grant) == 1 || is_rare(grant, used)));
    }
}

TEST_CASE("[requirement B1] the permissions on Leases are those that an election uses") {
    virtual_time t;
    k8sio::server::api_server server(t.loop.get_executor(), t.time);
    const auto admin_transport = server.connect();
    k8sio::client admin(*admin_transport, t.time);
    boost::asio::co_spawn(
        t.loop,
        admin.create(
            k8sio::resources::namespaces(), "", R"({"metadata":{"name":"signalbox-system"}})"
        ),
        [](std::exception_ptr, k8sio::result<std::string> made) { CHECK(made.has_value()); }
    );
    t.run_for(seconds{1});
    used_permissions used;
    for (const char* identity : {"first", "second"}) {
        mortal_transport transport(server.connect());
        transport.before = [&used](const k8sio::http_request& request) {
            used.insert(permission_of(request.method, request.target));
        };
        k8sio::client api(transport, t.time);
        k8sio::leader_election_options options;
        options.ns = "signalbox-system";
        options.name = "signalbox";
        options.identity = identity;
        k8sio::leader_election election(api, options);
        bool ended = false;
        boost::asio::co_spawn(t.loop, election.run(), [&](std::exception_ptr) { ended = true; });
        t.run_for(seconds{10});
        CHECK(election.leads());
        election.stop();
        t.run_for(seconds{1});
        CHECK(ended);
    }
    CHECK(used == granted(op::election_permissions("signalbox")));
}

TEST_CASE("[behaviour 2.11] without a feature nothing is sent that only this feature needs") {
    const op::feature left_out = GENERATE(
        op::feature::ssh, op::feature::gang, op::feature::tensorboard, op::feature::events
    );
    CAPTURE(op::row_of(left_out).name);
    world_options options;
    options.script.defaults = {{"duration", "8s"}};
    options.controller.without = {left_out};
    used_permissions used;
    const auto w = observed_world(options, used);
    w->serve("podgroup");
    w->start_operator();
    w->create_job(deepspeed("cifar", 2));
    w->create_job(job_builder("board")
                      .replicas("worker", 2)
                      .field(
                          "tensorboardSpec",
                          R"({"image":"tb","trainingLogFilesets":["t9k://pvc/logs/a"]})"
                      ));
    w->create_job(job_builder("gang")
                      .replicas("worker", 2)
                      .field("scheduler", R"({"t9kScheduler":{"queue":"q"}})"));
    w->run_for(seconds{60});
    used.erase("");
    const auto allowed = granted(op::job_permissions(core::all_job_kinds), {left_out});
    for (const std::string& need : used) {
        CAPTURE(need);
        CHECK(allowed.count(need) == 1);
    }
    CHECK(w->is_phase("cifar", left_out == op::feature::ssh ? "Pending" : "Succeeded"));
    CHECK(w->is_phase("board", "Succeeded"));
    CHECK(w->is_phase("gang", left_out == op::feature::gang ? "Pending" : "Succeeded"));
    const bool boards = !w->list(op::type_of(core::object_kind::deployment, {})).empty();
    CHECK(boards == (left_out != op::feature::tensorboard));
    CHECK((w->event_count("board", "Succeeded") > 0) == (left_out != op::feature::events));
    if (left_out == op::feature::ssh) {
        CHECK(w->status("cifar").reason == "ObjectRefused");
        const auto job = w->get(op::type_of(core::job_kind::deepspeed), "cifar");
        CHECK(job->find("this operator runs without ssh (--without ssh)") != std::string::npos);
    }
}

TEST_CASE("[behaviour 2.11] kinds of jobs that are left out are not looked at") {
    world_options options;
    options.script.defaults = {{"duration", "1s"}};
    options.controller.kinds = {core::job_kind::pytorch};
    used_permissions used;
    const auto w = observed_world(options, used);
    w->start_operator();
    w->create_job(job_builder("mnist").replicas("worker", 2));
    w->create_job(deepspeed("cifar", 2));
    REQUIRE(w->run_until([&] { return w->is_phase("mnist", "Succeeded"); }, seconds{20}));
    CHECK(w->phase("cifar").empty());
    used.erase("");
    for (const std::string& need : used) {
        CAPTURE(need);
        CHECK(granted(op::job_permissions(options.controller.kinds)).count(need) == 1);
    }
}

TEST_CASE("[behaviour I17] with namespaces, nothing is asked of the cluster as a whole") {
    const bool first = GENERATE(true, false);
    world_options options;
    options.script.defaults = {{"duration", "1s"}};
    options.controller.namespaces = {"team-a", "team-b"};
    options.controller.namespaces.insert(
        first ? options.controller.namespaces.begin() : options.controller.namespaces.end(),
        "default"
    );
    world w(options);
    w.kill_operator();
    std::set<std::string> listed;
    std::set<std::string> elsewhere;
    w.on_request = [&](const k8sio::http_request& request) {
        const std::string path = request.target.substr(0, request.target.find('?'));
        const std::size_t at = path.find("/namespaces/");
        if (at != std::string::npos) {
            const std::string rest = path.substr(at + 12);
            listed.insert(rest.substr(0, rest.find('/')));
        } else if (!permission_of(request.method, request.target).empty()) {
            elsewhere.insert(path);
        }
    };
    w.start_operator();
    w.create_job(job_builder("mnist").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{20}));
    CHECK(w.operator_().synced());
    CHECK(w.operator_().job_count() == 1);
    CHECK(w.operator_().counters().creates >= 3);
    CHECK(listed == std::set<std::string>{"default", "team-a", "team-b"});
    CHECK(elsewhere == std::set<std::string>{});
    w.stop_operator();
    w.run_for(seconds{1});
    CHECK(w.operator_ended());
}

namespace {

rapidjson::Document chart_schema() {
    rapidjson::Document schema;
    schema.Parse(source_text("operator/deploy/chart/values.schema.json").c_str());
    return schema;
}

}  // namespace

TEST_CASE("[behaviour 8.15] the chart takes every default scheduler that there is") {
    const rapidjson::Document schema = chart_schema();
    REQUIRE_FALSE(schema.HasParseError());
    std::vector<std::string> found;
    for (const auto& name : schema["properties"]["defaultScheduler"]["enum"].GetArray()) {
        found.emplace_back(name.GetString());
    }
    std::vector<std::string> expected{""};
    for (const std::string_view name : core::default_schedulers()) {
        expected.emplace_back(name);
    }
    CHECK(found == expected);
}

TEST_CASE("[behaviour I17] the chart has a switch, off, for every scheduler with rights of its own"
) {
    const rapidjson::Document schema = chart_schema();
    REQUIRE_FALSE(schema.HasParseError());
    std::vector<std::string> found;
    for (const auto& each : schema["properties"]["schedulers"]["properties"].GetObject()) {
        found.emplace_back(each.name.GetString());
    }
    std::vector<std::string> expected;
    std::string values = "\nschedulers:\n";
    for (const op::feature_row& row : op::scheduler_features()) {
        expected.emplace_back(row.name);
        values += "  " + expected.back() + ": false\n";
    }
    CHECK(found == expected);
    CHECK(source_text("operator/deploy/chart/values.yaml").find(values) != std::string::npos);
}
