// SPDX-License-Identifier: Apache-2.0
//
// Documents of the API, where those of a real server have other names or more.
#include "server/pod_world.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <string>

namespace signalbox::k8sio::server::test {
namespace {

http_response get(pod_world& w, const std::string& target, const std::string& accept) {
    http_request request("GET", target);
    request.accept = accept;
    const steady_time deadline = w.loop.time.steady_now() + std::chrono::seconds{30};
    return *k8sio::test::run(w.loop, w.to_server->exchange(request, deadline));
}

}  // namespace

TEST_CASE("[requirement A5] OpenAPI has the types that fields of built-in kinds refer to") {
    pod_world w;
    rapidjson::Document document;
    document.Parse(get(w, "/openapi/v3/api/v1", "application/json").body.c_str());
    const auto text_at = [&document](const std::string& path) {
        const rapidjson::Value* at =
            rapidjson::Pointer("/components/schemas/io.k8s.api." + path).Get(document);
        return at != nullptr && at->IsString() ? std::string(at->GetString()) : std::string();
    };
    CHECK(text_at("core.v1.Pod/properties/spec/$ref") == "#/components/schemas/io.k8s.api.PodSpec");
    CHECK(text_at("PodSpec/type") == "object");
    CHECK(text_at("PodSpec/properties/nodeName/type") == "string");
    CHECK(text_at("Quantity/oneOf/0/type") == "string");
    CHECK(text_at("Quantity/oneOf/1/type") == "number");
    CHECK(text_at("IntOrString/oneOf/1/type") == "integer");
}

TEST_CASE("[requirement A5] the protobuf form of OpenAPI v2 is a document without definitions") {
    pod_world w;
    const http_response answer =
        get(w, "/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
    CHECK(answer.status == 200);
    const std::string title = "Signalbox embedded API server";
    const std::string info =
        "\x0a" + std::string(1, static_cast<char>(title.size())) + title + "\x12\x02v1";
    CHECK(
        answer.body ==
        "\x0a\x03" + std::string("2.0\x12") + std::string(1, static_cast<char>(info.size())) + info
    );
}

}  // namespace signalbox::k8sio::server::test
