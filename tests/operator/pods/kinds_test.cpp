// SPDX-License-Identifier: Apache-2.0
//
// What the simulated cluster knows of kinds: which pods wait, and Deployments.
#include "jobcore/decide.hpp"
#include "pods/deployments.hpp"
#include "pods/pod_facts.hpp"
#include "scenario/job_texts.hpp"

#include <k8sio/resource.hpp>
#include <k8sio/server/api_server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <chrono>
#include <string>

using namespace signalbox;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

/// Whether the simulated kubelet lets that pod of the job wait until it is deleted. The pod is the
/// one that the operator would create.
bool idles(const std::string& job_text, core::pod_identity pod) {
    rapidjson::Document text;
    text.Parse(job_text.c_str());
    rapidjson::Pointer("/metadata/uid").Set(text, "cffea855-5ce2-496a-8956-f6e76fe2f565");
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    text.Accept(out);
    const auto job = core::read_job(buffer.GetString());
    REQUIRE(job);
    REQUIRE(job->compiled->plan);
    rapidjson::Document rendered;
    rendered.Parse(core::render_pod(*job->compiled->plan, pod, {}).c_str());
    rapidjson::Pointer("/metadata/uid").Set(rendered, "u");
    rapidjson::StringBuffer pod_text;
    rapidjson::Writer<rapidjson::StringBuffer> pod_out(pod_text);
    rendered.Accept(pod_out);
    const auto facts = op::pods::read_pod(pod_text.GetString());
    REQUIRE(facts);
    return facts->idles;
}

core::pod_identity replica(std::size_t type, std::int32_t index) {
    core::pod_identity pod;
    pod.type = type;
    pod.index = index;
    return pod;
}

std::string pod_with(const std::string& spec) {
    return R"({"metadata":{"name":"a","uid":"u"},"spec":{)" + spec + "}}";
}

/// Embedded server and simulated Deployments in virtual time.
class cluster {
public:
    cluster() {
        asio::co_spawn(loop_, deployments_.run(), [this](std::exception_ptr) { ended_ = true; });
        settle();
    }
    ~cluster() {
        deployments_.stop();
        settle();
        CHECK(ended_);
    }

    void run_for(std::chrono::nanoseconds duration) {
        const k8sio::steady_time end = time_.steady_now() + duration;
        settle();
        while (time_.has_pending() && time_.next_at() <= end) {
            time_.advance_to_next();
            settle();
        }
        time_.advance(end - time_.steady_now());
        settle();
    }

    std::string send(std::string method, std::string target, std::string body = {}) {
        std::string answer;
        const std::string type =
            method == "PATCH" ? "application/merge-patch+json" : "application/json";
        asio::co_spawn(
            loop_,
            user_.raw(std::move(method), std::move(target), type, std::move(body)),
            [&](std::exception_ptr, k8sio::result<std::string> r) {
                CAPTURE((r.has_error() ? r.error().text() : ""));
                REQUIRE(r.has_value());
                answer = *r;
            }
        );
        settle();
        return answer;
    }

    /// `availableReplicas`, -1 if there is none;
    int available(const std::string& name) {
        rapidjson::Document object;
        object.Parse(send("GET", path + ("/" + name)).c_str());
        const auto* count = rapidjson::Pointer("/status/availableReplicas").Get(object);
        return count == nullptr ? -1 : count->GetInt();
    }

    void create(const std::string& name, const std::string& labels) {
        send(
            "POST",
            path,
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name +
                R"(","labels":{)" + labels +
                R"(}},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":)"
                R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[)"
                R"({"name":"c","image":"i"}]}}}})"
        );
    }

    static constexpr const char* path = "/apis/apps/v1/namespaces/default/deployments";
    std::vector<std::string> complaints;

    k8sio::server::api_server& server() { return server_; }
    void stop() { deployments_.stop(); }

private:
    static op::pods::deployment_options options(std::vector<std::string>& complaints) {
        op::pods::deployment_options out;
        out.complain = [&](const std::string& what) { complaints.push_back(what); };
        return out;
    }
    void settle() {
        do {
            loop_.restart();
        } while (loop_.poll() > 0);
    }

    asio::io_context loop_;
    k8sio::virtual_clock time_{
        loop_.get_executor(), k8sio::wall_time(std::chrono::seconds{1'700'000'000})};
    k8sio::server::api_server server_{loop_.get_executor(), time_};
    std::unique_ptr<k8sio::transport> transport_ = server_.connect(),
                                      user_transport_ = server_.connect();
    k8sio::client api_{*transport_, time_}, user_{*user_transport_, time_};
    op::pods::simulated_deployments deployments_{loop_.get_executor(), api_, options(complaints)};
    bool ended_ = false;
};

}  // namespace

TEST_CASE("sshd workers of the ssh kinds wait until they are deleted, launchers do not") {
    using test::colossalai;
    using test::deepspeed;
    const std::string debug = R"("runMode":{"debug":{"enabled":true}})";
    CHECK_FALSE(idles(deepspeed("j", 2), replica(0, 0)));
    CHECK(idles(deepspeed("j", 2), replica(0, 1)));
    CHECK(idles(deepspeed("j", 2, debug), replica(0, 0)));
    CHECK_FALSE(idles(colossalai("j", 2), replica(0, 0)));
    CHECK(idles(colossalai("j", 2), replica(1, 0)));
    CHECK(idles(colossalai("j", 2, debug), replica(0, 0)));
    // Keys in another place: the bootstrap prepares them before it waits.
    const std::string elsewhere = R"(,"ssh":{"authMountPath":"/keys"})";
    CHECK(idles(colossalai("j", 2, debug + elsewhere), replica(0, 0)));
}

TEST_CASE("a rank of an ssh-free DeepSpeedJob ends like any other program") {
    const std::string job =
        R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"DeepSpeedJob",)"
        R"("metadata":{"name":"j","namespace":"default"},"spec":{"config":{)"
        R"("run":{"python":["train.py"]},"otherArgs":["--no_ssh"]},"worker":{"replicas":2,)"
        R"("template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}}}})";
    CHECK_FALSE(idles(job, replica(0, 1)));
}

TEST_CASE("a pod that its kubelet would start again does not end") {
    const std::string containers = R"("containers":[{"name":"c","image":"i"}])";
    CHECK(op::pods::read_pod(pod_with(R"("restartPolicy":"Always",)" + containers))->idles);
    CHECK_FALSE(op::pods::read_pod(pod_with(R"("restartPolicy":"Never",)" + containers))->idles);
}

TEST_CASE("replicas of the operator's Deployments are available soon, and follow their number") {
    cluster c;
    c.create("ours", R"("app.kubernetes.io/managed-by":"signalbox")");
    c.create("theirs", R"("app.kubernetes.io/managed-by":"helm")");
    CHECK(c.available("ours") == -1);
    c.run_for(1s);
    CHECK(c.available("ours") == 1);
    c.send("PATCH", cluster::path + std::string("/ours"), R"({"spec":{"replicas":0}})");
    c.run_for(1s);
    CHECK(c.available("ours") == -1);  // a count of zero is left out
    c.send("PATCH", cluster::path + std::string("/ours"), R"({"spec":{"replicas":3}})");
    c.run_for(1s);
    CHECK(c.available("ours") == 3);
    CHECK(c.available("theirs") == -1);
    CHECK(c.complaints.empty());
}

TEST_CASE("a status of a Deployment that cannot be written is told, unless all ends") {
    cluster c;
    bool stops = false;
    c.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault out;
        if (method == "PATCH" && target.find("/status") != std::string_view::npos) {
            out.status = 403;
            out.reason = "Forbidden";
            if (stops) {
                c.stop();
            }
        }
        return out;
    });
    c.create("a", R"("app.kubernetes.io/managed-by":"signalbox")");
    c.run_for(1s);
    REQUIRE(c.complaints.size() == 1);
    CHECK(c.complaints[0].find("Deployment default/a: ") == 0);
    stops = true;
    c.create("b", R"("app.kubernetes.io/managed-by":"signalbox")");
    c.run_for(1s);
    CHECK(c.complaints.size() == 1);
}
