// SPDX-License-Identifier: Apache-2.0
#include "client/surroundings.hpp"
#include "k8sio/connect.hpp"

#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;

namespace {

std::string kubeconfig(const std::string& host) {
    return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
           "clusters: [{name: k, cluster: {server: 'http://" +
           host +
           "'}}]\nusers: [{name: u, user: {}}]\n"
           "contexts: [{name: c, context: {cluster: k, user: u, namespace: ml}}]\n";
}

}  // namespace

TEST_CASE("[requirement C1] in a pod its service account is taken, if nothing else is named") {
    const test::folder dir;
    const std::string named = dir.write("named", kubeconfig("named"));
    const test::environment usual("KUBECONFIG", dir.write("usual", kubeconfig("usual")));
    {
        const test::environment outside("KUBERNETES_SERVICE_HOST", "");
        CHECK(find_config("", "")->host == "usual");
        CHECK(find_config(named, "")->host == "named");
    }
    const test::environment pod("KUBERNETES_SERVICE_HOST", "10.0.0.1");
    const test::environment port("KUBERNETES_SERVICE_PORT", "443");
    const auto account = find_config("", "");
    REQUIRE(account.has_error());
    CHECK(account.error().message.find("cannot read a token") != std::string::npos);
    CHECK(find_config(named, "")->host == "named");
    CHECK(find_config("", "c")->host == "usual");
}

TEST_CASE("what is needed for a client comes in one piece, or with the error of what is missing") {
    const test::folder dir;
    boost::asio::io_context loop;
    connect_options options;
    options.kubeconfig = dir.write("config", kubeconfig("h"));
    options.client.manager = "mine";
    auto made = connect(loop.get_executor(), options);
    REQUIRE(made.has_value());
    const connection moved = std::move(*made);
    CHECK(moved.ns() == "ml");
    options.context = "other";
    const auto no_context = connect(loop.get_executor(), options);
    REQUIRE(no_context.has_error());
    CHECK(no_context.error().message.find("other") != std::string::npos);
    cluster_config broken;
    broken.scheme = "ftp";
    CHECK(connect(loop.get_executor(), broken).error().code == errc::invalid_argument);
}
