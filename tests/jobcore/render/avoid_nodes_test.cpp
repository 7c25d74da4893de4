// SPDX-License-Identifier: Apache-2.0
#include "render/avoid_nodes.hpp"

#include <catch2/catch.hpp>

using signalbox::core::node_avoidance;
using signalbox::core::with_avoided_nodes;

namespace {

std::string pod_with(const std::string& affinity) {
    return R"({"kind":"Pod","spec":{"a":1)" +
           (affinity.empty() ? "" : ",\"affinity\":" + affinity) + "}}";
}

const std::string both_names = R"({"key":"metadata.name","operator":"NotIn","values":["a"]},)"
                               R"({"key":"metadata.name","operator":"NotIn","values":["b.c"]})";

}  // namespace

TEST_CASE("[behaviour 13.6] node affinity beside the user's own", "[render]") {
    const node_avoidance must{{"a", "b.c"}, true};
    const node_avoidance rather{{"a", "b.c"}, false};
    CHECK(with_avoided_nodes(pod_with(""), {}) == pod_with(""));
    CHECK(
        with_avoided_nodes(pod_with(""), must) ==
        pod_with(
            R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[)" +
            both_names + "]}]}}}"
        )
    );
    CHECK(
        with_avoided_nodes(pod_with("null"), rather) ==
        pod_with(
            R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"preference":{"matchFields":[)" +
            both_names + "]}}]}}"
        )
    );
}

TEST_CASE("[behaviour 13.6] each of the terms gets it, but an empty one", "[render]") {
    const std::string theirs =
        R"({"podAffinity":{},"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
        R"({"matchExpressions":[{"key":"gpu","operator":"Exists"}]},{},{"matchFields":[{"key":"metadata.name","operator":"In","values":["z"]}]}]},)"
        R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}]}})";
    const std::string merged =
        R"({"podAffinity":{},"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
        R"({"matchExpressions":[{"key":"gpu","operator":"Exists"}],"matchFields":[)" +
        both_names +
        R"(]},{},{"matchFields":[{"key":"metadata.name","operator":"In","values":["z"]},)" +
        both_names +
        R"(]}]},"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}]}})";
    CHECK(with_avoided_nodes(pod_with(theirs), {{"a", "b.c"}, true}) == pod_with(merged));
    const std::string rather = with_avoided_nodes(pod_with(theirs), {{"a"}, false});
    CHECK(rather.find(R"("weight":1,"preference":{}},{"weight":100,)") != rather.npos);
}

TEST_CASE("[behaviour 13.6] what is no pod stays", "[render]") {
    for (const char* text : {"", "null", "[]", "{}", R"({"spec":7})", "{"}) {
        CHECK(with_avoided_nodes(text, {{"a"}, true}) == text);
    }
    const std::string odd = with_avoided_nodes(pod_with(R"({"nodeAffinity":7})"), {{"a"}, true});
    CHECK(odd.find("NotIn") != odd.npos);
}
