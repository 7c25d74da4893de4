// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/environment.hpp"

#include "kubelet/life/objects.hpp"
#include "kubelet/pod/quantity.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace signalbox::op::kubelet;

namespace {

pod_spec pod_with(const std::string& container, const std::string& spec = "") {
    const std::string text = fmt::format(
        R"({{"metadata":{{"name":"p","namespace":"ns","uid":"u","labels":{{"a":"1","b/c":"2"}},)"
        R"("annotations":{{"note":"say \"hi\""}}}},)"
        R"("spec":{{"serviceAccountName":"sa"{},"containers":[{{"name":"c","image":"i"{}}},)"
        R"({{"name":"other","resources":{{"limits":{{"memory":"1Gi"}}}}}}]}}}})",
        spec,
        container
    );
    return read_pod_spec(text).value();
}

const pod_place place{"node-1", "10.0.0.1", "10.0.0.7", 8000, 16ULL << 30U};

object_data objects() {
    object_data out;
    out.config_maps["cm"] = {{"key", "from cm"}, {"x.y", "dotted"}};
    out.secrets["sec"] = {{"key", std::string("a\0b", 3)}};
    return out;
}

outcome<variables> environment(const pod_spec& pod, std::vector<service_entry> services = {}) {
    return environment_of(pod.containers.front(), pod, place, services, objects());
}

std::string value_of(const outcome<variables>& in, const std::string& name) {
    if (in.has_error()) {
        return in.error().reason + ": " + in.error().message;
    }
    for (const auto& [key, value] : *in) {
        if (key == name) {
            return value;
        }
    }
    return "(none)";
}

}  // namespace

TEST_CASE("references in text are expanded once, and unknown ones stay") {
    const variables in{{"A", "1"}, {"B", "$(A)"}, {"A.b-c", "odd"}};
    CHECK(expand("$(A)", in) == "1");
    CHECK(expand("x$(A)y$(B)", in) == "x1y$(A)");
    CHECK(expand("$(A.b-c)", in) == "odd");
    CHECK(expand("$(NONE)", in) == "$(NONE)");
    CHECK(expand("$$(A)", in) == "$(A)");
    CHECK(expand("$$$(A)", in) == "$1");
    CHECK(expand("$$$$", in) == "$$");
    CHECK(expand("$(A", in) == "$(A");
    CHECK(expand("$A ${A} $", in) == "$A ${A} $");
    CHECK(expand("", in).empty());
}

TEST_CASE("variables refer to those before them") {
    const pod_spec pod =
        pod_with(R"j(,"env":[{"name":"A","value":"1"},{"name":"B","value":"$(A)$(C)"},)j"
                 R"j({"name":"C","value":"3"},{"name":"A","value":"again $(A)"},{"name":"D"}])j");
    const auto env = environment(pod);
    CHECK(value_of(env, "B") == "1$(C)");
    CHECK(value_of(env, "A") == "again 1");
    CHECK(value_of(env, "D").empty());
    CHECK(env->size() == 4);
}

TEST_CASE("variables come from ConfigMaps and Secrets") {
    SECTION("by key") {
        const auto env = environment(pod_with(
            R"(,"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"cm","key":"key"}}},)"
            R"({"name":"B","valueFrom":{"secretKeyRef":{"name":"sec","key":"key"}}},)"
            R"({"name":"N","valueFrom":{"secretKeyRef":{"name":"no","key":"k","optional":true}}},)"
            R"({"name":"M","valueFrom":{"configMapKeyRef":{"name":"cm","key":"k","optional":true}}}])"
        ));
        CHECK(value_of(env, "A") == "from cm");
        CHECK(value_of(env, "B") == std::string("a\0b", 3));
        CHECK(env->size() == 2);
    }
    SECTION("as a whole, behind a prefix, before env") {
        const auto env = environment(pod_with(
            R"j(,"envFrom":[{"prefix":"P_","configMapRef":{"name":"cm"}},)j"
            R"j({"secretRef":{"name":"sec"}},{"configMapRef":{"name":"none","optional":true}}],)j"
            R"j("env":[{"name":"E","value":"$(P_key)"},{"name":"key","value":"own"}])j"
        ));
        CHECK(value_of(env, "P_x.y") == "dotted");
        CHECK(value_of(env, "E") == "from cm");
        CHECK(value_of(env, "key") == "own");
    }
    const auto refused = [](const std::string& container) {
        return value_of(environment(pod_with(container)), "A");
    };
    SECTION("missing ones are named as a kubelet names them") {
        CHECK(
            refused(R"(,"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"no","key":"k"}}}])"
            ) == "CreateContainerConfigError: secret \"no\" not found"
        );
        CHECK(
            refused(
                R"(,"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"cm","key":"k"}}}])"
            ) == "CreateContainerConfigError: couldn't find key k in ConfigMap ns/cm"
        );
        CHECK(
            refused(R"(,"envFrom":[{"configMapRef":{"name":"no"}}])") ==
            "CreateContainerConfigError: configmap \"no\" not found"
        );
    }
}

TEST_CASE("variables tell the pod's fields") {
    const auto field = [](const std::string& path) {
        return value_of(
            environment(pod_with(fmt::format(
                R"(,"env":[{{"name":"A","valueFrom":{{"fieldRef":{{"fieldPath":"{}"}}}}}}])", path
            ))),
            "A"
        );
    };
    CHECK(field("metadata.name") == "p");
    CHECK(field("metadata.namespace") == "ns");
    CHECK(field("metadata.uid") == "u");
    CHECK(field("metadata.labels['a']") == "1");
    CHECK(field("metadata.labels['b/c']") == "2");
    CHECK(field("metadata.labels['none']").empty());
    CHECK(field("metadata.annotations['note']") == "say \"hi\"");
    CHECK(field("metadata.annotations") == "note=\"say \\\"hi\\\"\"");
    CHECK(field("spec.nodeName") == "node-1");
    CHECK(field("spec.serviceAccountName") == "sa");
    CHECK(field("status.hostIP") == "10.0.0.1");
    CHECK(field("status.podIP") == "10.0.0.7");
    CHECK(field("spec.none") == "CreateContainerConfigError: unsupported fieldPath: spec.none");
}

TEST_CASE("variables tell the container's resources") {
    const auto resource = [](const std::string& what, const std::string& more = "") {
        return value_of(
            environment(pod_with(fmt::format(
                R"(,"resources":{{"limits":{{"cpu":"1500m","nvidia.com/gpu":2}},)"
                R"("requests":{{"memory":"100Mi"}}}},)"
                R"("env":[{{"name":"A","valueFrom":{{"resourceFieldRef":{{"resource":"{}"{}}}}}}}])",
                what,
                more
            ))),
            "A"
        );
    };
    CHECK(resource("limits.cpu") == "2");
    CHECK(resource("limits.cpu", R"(,"divisor":"1m")") == "1500");
    CHECK(resource("requests.cpu", R"(,"divisor":"1m")") == "1500");
    CHECK(resource("requests.memory", R"(,"divisor":"1Mi")") == "100");
    CHECK(resource("limits.memory", R"(,"divisor":"1Gi")") == "16");
    CHECK(resource("limits.memory", R"(,"containerName":"other")") == "1073741824");
    CHECK(resource("limits.nvidia.com/gpu") == "2");
    CHECK(
        resource("limits.cpu", R"(,"containerName":"no")") ==
        "CreateContainerConfigError: container no not found"
    );
}

TEST_CASE("[launchers 1.8] Services of the namespace are variables unless the pod says no") {
    const std::vector<service_entry> services{
        {"my-svc", "10.96.0.5", {{"web", "TCP", 80}, {"", "UDP", 53}}},
        {"headless", "None", {{"", "TCP", 1}}}};
    const pod_spec pod = pod_with(R"j(,"env":[{"name":"A","value":"$(MY_SVC_PORT)"}])j");
    const auto env = environment(pod, services);
    CHECK(value_of(env, "MY_SVC_SERVICE_HOST") == "10.96.0.5");
    CHECK(value_of(env, "MY_SVC_SERVICE_PORT") == "80");
    CHECK(value_of(env, "MY_SVC_SERVICE_PORT_WEB") == "80");
    CHECK(value_of(env, "MY_SVC_PORT") == "tcp://10.96.0.5:80");
    CHECK(value_of(env, "MY_SVC_PORT_53_UDP_PROTO") == "udp");
    CHECK(value_of(env, "MY_SVC_PORT_80_TCP_ADDR") == "10.96.0.5");
    CHECK(value_of(env, "A") == "tcp://10.96.0.5:80");
    CHECK(value_of(env, "HEADLESS_SERVICE_HOST") == "(none)");
    const pod_spec own = pod_with(R"(,"env":[{"name":"MY_SVC_SERVICE_PORT","value":"1"}])");
    const auto with_own = environment(own, services);
    CHECK(value_of(with_own, "MY_SVC_SERVICE_PORT") == "1");
    CHECK(std::ranges::count(*with_own, "MY_SVC_SERVICE_PORT", &variables::value_type::first) == 1);
    const auto without = environment(pod_with("", R"(,"enableServiceLinks":false)"), services);
    CHECK(without->empty());
}

TEST_CASE("data of ConfigMaps and Secrets are bytes") {
    CHECK(
        data_of(R"({"kind":"ConfigMap","data":{"a":"dmFs"},"binaryData":{"b":"dmFs"}})") ==
        string_map{{"a", "dmFs"}, {"b", "val"}}
    );
    CHECK(
        data_of(R"({"kind":"Secret","data":{"a":"dmFs","b":"AAE="}})") ==
        string_map{{"a", "val"}, {"b", std::string("\0\1", 2)}}
    );
}

TEST_CASE("quantities are read exactly, and rounded up") {
    CHECK(thousandths_of("1") == 1000);
    CHECK(thousandths_of("500m") == 500);
    CHECK(thousandths_of("0.1") == 100);
    CHECK(thousandths_of("1.0001") == 1001);
    CHECK(thousandths_of("1e3") == 1000000);
    CHECK(bytes_of("2Gi") == 2ULL << 30U);
    CHECK(bytes_of("1.5k") == 1500);
    CHECK(bytes_of("1m") == 1);
    CHECK(bytes_of("1Ei") == 1ULL << 60U);
    CHECK(bytes_of("25e-1") == 3);
    CHECK(thousandths_of("1001u") == 2);
    CHECK_FALSE(bytes_of("").has_value());
    CHECK_FALSE(bytes_of(".").has_value());
    CHECK_FALSE(bytes_of("-1").has_value());
    CHECK_FALSE(bytes_of("1Zi").has_value());
    CHECK_FALSE(bytes_of("x").has_value());
    CHECK_FALSE(bytes_of("99999999999999999999").has_value());
    CHECK_FALSE(bytes_of("18446744073709551615Pi").has_value());
}
