// SPDX-License-Identifier: Apache-2.0
#include "render/avoid_nodes.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;

namespace {

std::string pod(const std::string& affinity) {
    return R"({"kind":"Pod","spec":{"a":1)" + (affinity.empty() ? "" : ",\"affinity\":" + affinity) +
           "}}";
}

const std::string two =
    R"({"key":"metadata.name","operator":"NotIn","values":["a"]},)"
    R"({"key":"metadata.name","operator":"NotIn","values":["b.c"]})";

}  // namespace

TEST_CASE("[behaviour 13.6] node affinity beside the user's own", "[render]") {
    const node_avoidance must{{"a", "b.c"}, true};
    const node_avoidance rather{{"a", "b.c"}, false};
    CHECK(with_avoided_nodes(pod(""), {}) == pod(""));
    CHECK(
        with_avoided_nodes(pod(""), must) ==
        pod(R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[)" +
            two + "]}]}}}")
    );
    CHECK(
        with_avoided_nodes(pod("null"), rather) ==
        pod(R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"preference":{"matchFields":[)" +
            two + "]}}]}}")
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
        two +
        R"(]},{},{"matchFields":[{"key":"metadata.name","operator":"In","values":["z"]},)" + two +
        R"(]}]},"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}]}})";
    CHECK(with_avoided_nodes(pod(theirs), {{"a", "b.c"}, true}) == pod(merged));
    const std::string rather = with_avoided_nodes(pod(theirs), {{"a"}, false});
    CHECK(rather.find(R"("weight":1,"preference":{}},{"weight":100,)") != rather.npos);
}

TEST_CASE("[behaviour 13.6] what is no pod stays", "[render]") {
    for (const char* text : {"", "null", "[]", "{}", R"({"spec":7})", "{"}) {
        CHECK(with_avoided_nodes(text, {{"a"}, true}) == text);
    }
    const std::string odd = with_avoided_nodes(pod(R"({"nodeAffinity":7})"), {{"a"}, true});
    CHECK(odd.find("NotIn") != odd.npos);
}
