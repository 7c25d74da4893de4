// SPDX-License-Identifier: Apache-2.0
//
// Which proxy is used, and in whose name requests are made.
#include "client/impersonation.hpp"
#include "client/proxy.hpp"

#include <catch2/catch.hpp>

#include <map>

using namespace signalbox::k8sio;

TEST_CASE("[requirement T10] the address of a proxy") {
    struct row {
        const char* url;
        const char* expected;
    };
    const row rows[] = {
        {"http://p:3128", "p 3128 "},
        {"http://p", "p 80 "},
        {"p:3128/", "p 3128 "},
        {"HTTP://[::1]:1", "::1 1 "},
        {"http://u:p%40ss@p:1", "p 1 Basic dTpwQHNz"},
        {"u@p:1", "p 1 Basic dTo="},
    };
    for (const row& r : rows) {
        std::optional<proxy_server> proxy;
        INFO(r.url);
        CHECK(read_proxy_url(r.url, proxy).empty());
        REQUIRE(proxy);
        CHECK(proxy->host + " " + proxy->port + " " + proxy->authorization.reveal() == r.expected);
    }
    for (const char* bad :
         {"socks5://p:1",
          "https://p:1",
          "http://hunter2@",
          "http://u:hunter2@p:x",
          "p\r\nX: y",
          "p/path",
          ""}) {
        std::optional<proxy_server> proxy;
        INFO(bad);
        const std::string wrong = read_proxy_url(bad, proxy);
        CHECK_FALSE(wrong.empty());
        CHECK(wrong.find("hunter2") == std::string::npos);  // C9
        CHECK_FALSE(proxy);
    }
}

TEST_CASE("[requirement T10] NO_PROXY: hosts, suffixes, addresses, ranges, ports") {
    struct row {
        const char* no_proxy;
        const char* host;
        bool expected;
    };
    const row rows[] = {
        {"", "h", false},
        {"", "localhost", true},
        {"", "127.1.2.3", true},
        {"", "::1", true},
        {"*", "h", true},
        {"h", "h", true},
        {"H", "h", true},
        {"a, h ,b", "h", true},
        {",,", "h", false},
        {"example.com", "example.com", true},
        {"example.com", "api.example.com", true},
        {"example.com", "badexample.com", false},
        {".example.com", "api.example.com", true},
        {".example.com", "example.com", false},
        {"*.example.com", "api.example.com", true},
        {"h:6443", "h", true},
        {"h:443", "h", false},
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.10", false},
        {"10.0.0.1:443", "10.0.0.1", false},
        {"10.0.0.0/8", "10.9.8.7", true},
        {"10.0.0.7/8", "10.9.8.7", true},
        {"10.0.0.0/8", "11.0.0.1", false},
        {"0.0.0.0/0", "11.0.0.1", true},
        {"10.0.0.0/33", "10.0.0.1", false},
        {"10.0.0.0/8", "h", false},
        {"fd00::/8", "fd00::1", true},
        {"fd00::1", "FD00:0::1", true},
        {"[fd00::1]:6443", "fd00::1", true},
        {"[fd00::1]:443", "fd00::1", false},
        {"fd00::/8", "10.0.0.1", false},
        {"fd00::/8", "fe80::1", false},
    };
    for (const row& r : rows) {
        INFO(r.no_proxy << " and " << r.host);
        CHECK(bypasses_proxy(r.no_proxy, r.host, "6443") == r.expected);
    }
}

TEST_CASE("[requirement T10] the proxy of the environment, by the server's scheme") {
    std::map<std::string, std::string> set;
    const auto env = [&](const char* name) { return set[name]; };
    cluster_config config;
    config.host = "api.example";
    const auto use = [&] {
        config.proxy.reset();
        const std::string wrong = use_proxy_of_environment(config, env);
        return config.proxy ? config.proxy->host : wrong;
    };
    CHECK(use().empty());
    set["HTTP_PROXY"] = "plain:1";
    CHECK(use().empty());
    set["https_proxy"] = "lower:1";
    CHECK(use() == "lower");
    set["HTTPS_PROXY"] = "upper:1";
    CHECK(use() == "upper");
    config.scheme = "http";
    CHECK(use() == "plain");
    set["no_proxy"] = "xample";
    CHECK(use() == "plain");
    set["no_proxy"] = ".example";
    CHECK(use().empty());
    set["NO_PROXY"] = "other";
    CHECK(use() == "plain");
    set["HTTP_PROXY"] = "socks5://p:1";
    CHECK(
        use() ==
        "HTTP_PROXY is of another scheme than http, and other proxies are not supported; "
        "to go without a proxy, name the server in NO_PROXY"
    );
}

TEST_CASE("[requirement C5] the headers of impersonation") {
    impersonation as;
    CHECK(check_impersonation(as).empty());
    CHECK(impersonation_headers(as).empty());
    as.groups = {"g"};
    CHECK(check_impersonation(as) == "is not set, but as-uid, as-groups or as-user-extra is");
    as.user = "system:serviceaccount:a:b";
    as.uid = "u";
    as.groups = {"g", "h"};
    as.extra = {{"example.com/Scope\xC3\xA4", {"1", "2"}}, {"100%", {"x"}}};
    CHECK(check_impersonation(as).empty());
    using headers = std::vector<std::pair<std::string, std::string>>;
    CHECK(
        impersonation_headers(as) ==
        headers{
            {"Impersonate-User", "system:serviceaccount:a:b"},
            {"Impersonate-Uid", "u"},
            {"Impersonate-Group", "g"},
            {"Impersonate-Group", "h"},
            {"Impersonate-Extra-example.com%2FScope%C3%A4", "1"},
            {"Impersonate-Extra-example.com%2FScope%C3%A4", "2"},
            {"Impersonate-Extra-100%25", "x"},
        }
    );
    as.groups = {"g\r\nX: y"};
    CHECK(check_impersonation(as) == "has a name, group or value with control characters");
}
