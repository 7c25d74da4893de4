// SPDX-License-Identifier: Apache-2.0
#include "client/server_url.hpp"
#include "client/surroundings.hpp"
#include "k8sio/base64.hpp"
#include "k8sio/config.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace signalbox::k8sio;
using test::environment;
using test::folder;
namespace fs = std::filesystem;

namespace {

std::string kubeconfig(const std::string& cluster, const std::string& user) {
    return "apiVersion: v1\nkind: Config\ncurrent-context: c\npreferences: {}\nclusters:\n- name: "
           "k\n"
           "  cluster: " +
           cluster + "\nusers:\n- name: u\n  user: " + user +
           "\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n, extra: [1]}\n"
           "- name: plain\n  context: {cluster: k}\n- name: broken\n  context: {cluster: gone}\n"
           "- name: none\n";
}

std::string failure(
    const folder& dir,
    const std::string& cluster,
    const std::string& user,
    const std::string& context = ""
) {
    const std::string file = dir.write("config", kubeconfig(cluster, user));
    const auto loaded = load_kubeconfig(file, context);
    REQUIRE(loaded.has_error());
    CHECK(loaded.error().code == errc::invalid_argument);
    const std::string prefix = "kubeconfig " + file + ": ";
    CHECK(loaded.error().message.substr(0, prefix.size()) == prefix);
    return loaded.error().message.substr(prefix.size());
}

const std::string server = "{server: 'https://h:6443'}";

}  // namespace

TEST_CASE("[requirement C6] a server address in all its forms") {
    struct row {
        const char* url;
        const char* expected;
    };
    const row rows[] = {
        {"https://h", "https h 443 "},
        {"http://h", "http h 80 "},
        {"https://h:6443/", "https h 6443 "},
        {"https://r.example/k8s/clusters/c-1/", "https r.example 443 /k8s/clusters/c-1"},
        {"https://[fd00::1]:6443/x", "https fd00::1 6443 /x"},
        {"https://[::1]", "https ::1 443 "},
    };
    for (const row& r : rows) {
        cluster_config config;
        INFO(r.url);
        CHECK(read_server_url(r.url, config).empty());
        CHECK(
            config.scheme + " " + config.host + " " + config.port + " " + config.path_prefix ==
            r.expected
        );
    }
    for (const char* bad :
         {"",
          "h:6443",
          "ftp://h",
          "https://",
          "https://h:x",
          "https://h:",
          "https://fd00::1:6443",
          "https://[::1",
          "https://h:0",
          "https://h:65536",
          "https://h\r\nX: y",
          "https://h/a\tb",
          "https://[h]",
          "https://[[::1]",
          "https://u@h",
          "https://h?x"}) {
        cluster_config config;
        INFO(bad);
        CHECK_FALSE(read_server_url(bad, config).empty());
    }
}

TEST_CASE("[requirement C4] context, namespace, and paths relative to their file") {
    const folder dir;
    dir.write("pki/ca.pem", "CA");
    dir.write("token", "T\n");
    const std::string file = dir.write(
        "config",
        kubeconfig(
            "{server: 'https://h:6443', certificate-authority: pki/ca.pem, "
            "tls-server-name: other, disable-compression: true}",
            "{tokenFile: token, unknown: {a: 1}}"
        )
    );
    const auto loaded = load_kubeconfig(file, "");
    REQUIRE(loaded.has_value());
    CHECK(loaded->host == "h");
    CHECK(loaded->port == "6443");
    CHECK(loaded->ca_pem == "CA");
    CHECK(loaded->ca_file == dir.path() + "/pki/ca.pem");
    CHECK(loaded->tls_server_name == "other");
    CHECK(loaded->token_file == dir.path() + "/token");
    CHECK(loaded->ns == "n");
    const auto other = load_kubeconfig(file, "plain");
    REQUIRE(other.has_value());
    CHECK(other->ns == "default");
    CHECK(other->token_file.empty());
}

TEST_CASE("[requirement C5] inline data, certificates, token, password") {
    const folder dir;
    dir.write("ignored.pem", "IGNORED");
    const std::string file = dir.write(
        "config",
        kubeconfig(
            "{server: 'https://h', certificate-authority: ignored.pem, "
            "certificate-authority-data: " +
                base64_encode("CA") + "}",
            "{client-certificate-data: " + base64_encode("CERT") + ", client-key-data: " +
                base64_encode("KEY") + ", token: T, username: U, password: P}"
        )
    );
    const auto loaded = load_kubeconfig(file, "c");
    REQUIRE(loaded.has_value());
    CHECK(loaded->ca_pem == "CA");
    CHECK(loaded->ca_file.empty());
    CHECK(loaded->client_cert_pem == "CERT");
    CHECK(loaded->client_key_pem.reveal() == "KEY");
    CHECK(loaded->token.reveal() == "T");
    CHECK(loaded->username == "U");
    CHECK(loaded->password.reveal() == "P");
}

TEST_CASE("[requirement C4] files of KUBECONFIG are merged, the first definition wins") {
    const folder dir;
    const std::string a =
        dir.write("a", "clusters: [{name: k, cluster: {server: 'https://first'}}]\nusers: null\n");
    const std::string b = dir.write("b", kubeconfig("{server: 'https://second'}", "{token: T}"));
    const environment list("KUBECONFIG", a + ":" + dir.path() + "/missing::" + b);
    const auto loaded = load_kubeconfig("", "");
    REQUIRE(loaded.has_value());
    CHECK(loaded->host == "first");
    CHECK(loaded->token.reveal() == "T");
}

TEST_CASE("[requirement C4] without KUBECONFIG it is ~/.kube/config") {
    const folder dir;
    const environment list("KUBECONFIG", "");
    const environment home("HOME", dir.path());
    CHECK(
        load_kubeconfig("", "").error().message ==
        "kubeconfig cannot read a kubeconfig from " + dir.path() + "/.kube/config"
    );
    dir.write(".kube/config", kubeconfig("{server: 'https://home'}", "{}"));
    CHECK(load_kubeconfig("", "")->host == "home");
}

TEST_CASE("[requirement C8] errors name the file, the entry and the field") {
    const folder dir;
    CHECK(
        failure(dir, "{server: h}", "{}") ==
        "cluster \"k\": server: 'h' does not begin with https:// or http://"
    );
    CHECK(
        failure(dir, "", "{}") ==
        "cluster \"k\": server: '' does not begin with https:// or http://"
    );
    CHECK(
        failure(dir, "{server: 'https://h', certificate-authority: none.pem}", "{}") ==
        "cluster \"k\": certificate-authority: cannot read " + dir.path() + "/none.pem"
    );
    CHECK(
        failure(dir, server, "{client-key-data: '***'}") ==
        "user \"u\": client-key-data: is not base64"
    );
    CHECK(
        failure(dir, server, "{client-key-data: YQ==}") ==
        "user \"u\": client-certificate: needs client-key, and the reverse"
    );
    CHECK(
        failure(dir, server, "{tokenFile: none}") ==
        "user \"u\": tokenFile: cannot read " + dir.path() + "/none"
    );
    CHECK(failure(dir, server, "{token: [1]}") == "user \"u\": token: is no text");
    CHECK(
        failure(dir, "{server: 'https://h', insecure-skip-tls-verify: maybe}", "{}") ==
        "cluster \"k\": insecure-skip-tls-verify: is neither true nor false"
    );
    CHECK(
        failure(
            dir,
            "{server: 'https://h', insecure-skip-tls-verify: true, "
            "certificate-authority-data: YQ==}",
            "{}"
        ) == "cluster \"k\": insecure-skip-tls-verify: excludes a certificate-authority"
    );
    CHECK(
        failure(dir, server, "{}", "nowhere") == "context \"nowhere\" (asked for) does not exist"
    );
    CHECK(
        failure(dir, server, "{}", "broken") ==
        "cluster \"gone\" (context \"broken\") does not exist"
    );
    CHECK(failure(dir, server, "{}", "none") == "context \"none\": cluster: is not set");
    CHECK(failure(dir, server, "{}\n- name: u\n  user: {}") == "user \"u\": name: is used twice");
}

TEST_CASE("[requirement C7] what we cannot honour is refused by name, not ignored") {
    const folder dir;
    CHECK(
        failure(dir, server, "{auth-provider: {name: gcp}}") ==
        "user \"u\": auth-provider: is not supported, nor by Kubernetes since 1.26; use exec"
    );
    CHECK(
        failure(dir, "{server: 'https://h', proxy-url: 'socks5://p'}", "{}") ==
        "cluster \"k\": proxy-url: is of another scheme than http, and other proxies are not "
        "supported"
    );
    CHECK(
        failure(dir, server, "{as-groups: [g]}") ==
        "user \"u\": as: is not set, but as-uid, as-groups or as-user-extra is"
    );
    CHECK(
        failure(dir, server, "{as: jane, as-user-extra: [g]}") ==
        "user \"u\": as-user-extra: is no map"
    );
    CHECK(
        failure(dir, server, "{as: jane, as-user-extra: {g: 1}}") ==
        "user \"u\": as-user-extra: g: is no list"
    );
}

TEST_CASE("[requirement C5] [requirement T10] in whose name, and by which proxy") {
    const folder dir;
    const environment https("HTTPS_PROXY", "http://everywhere:1");
    const auto load = [&](const std::string& cluster, const std::string& user) {
        return load_kubeconfig(dir.write("config", kubeconfig(cluster, user)), "");
    };
    const auto named = load(
        "{server: 'https://h', proxy-url: 'http://p:3128'}",
        "{as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {k: [v, w]}}"
    );
    REQUIRE(named.has_value());
    CHECK(named->proxy->host == "p");
    CHECK(named->as.user == "jane");
    CHECK(named->as.uid == "7");
    CHECK(named->as.groups == std::vector<std::string>{"a", "b"});
    REQUIRE(named->as.extra.size() == 1);
    CHECK(named->as.extra[0].second == std::vector<std::string>{"v", "w"});
    CHECK(load(server, "{}")->proxy->host == "everywhere");
    const environment none("NO_PROXY", "h");
    CHECK_FALSE(load(server, "{}")->proxy);
    const environment bad("HTTPS_PROXY", "socks5://p");
    CHECK_FALSE(load(server, "{}")->proxy);
    const environment other("NO_PROXY", "g");
    CHECK(
        load(server, "{}").error().message.find("HTTPS_PROXY is of another") != std::string::npos
    );
}

TEST_CASE("[requirement C7] a credential program, as a kubeconfig describes it") {
    const folder dir;
    const std::string group = "client.authentication.k8s.io/";
    const std::string cluster =
        "{server: 'https://h:6443/p', certificate-authority-data: " + base64_encode("CA") +
        ", tls-server-name: t, extensions: [{name: other, extension: 1}, {name: " + group +
        "exec, extension: {a: 1, b: '1', c: [true, null, x], d: {e: 1.5}, f: 010}}]}";
    const auto load = [&](const std::string& exec) {
        const auto loaded =
            load_kubeconfig(dir.write("config", kubeconfig(cluster, "{exec: " + exec + "}")), "");
        REQUIRE(loaded.has_value());
        return *loaded->exec;
    };
    const exec_plugin plugin = load(
        "{apiVersion: " + group +
        "v1, command: bin/login, args: [get, '1'], env: [{name: A, value: b}, {name: E}], "
        "installHint: get it, interactiveMode: IfAvailable, provideClusterInfo: true}"
    );
    CHECK(plugin.command == dir.path() + "/bin/login");
    CHECK(plugin.args == std::vector<std::string>{"get", "1"});
    CHECK(plugin.env == std::vector<std::pair<std::string, std::string>>{{"A", "b"}, {"E", ""}});
    CHECK(plugin.api_version == group + "v1");
    CHECK(plugin.install_hint == "get it");
    CHECK(
        plugin.info == R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
                       R"("spec":{"interactive":false,"cluster":{"server":"https://h:6443/p",)"
                       R"("tls-server-name":"t","certificate-authority-data":"Q0E=",)"
                       R"("config":{"a":1,"b":"1","c":[true,null,"x"],"d":{"e":1.5},"f":"010"}}}})"
    );
    const exec_plugin beta = load("{apiVersion: " + group + "v1beta1, command: aws}");
    CHECK(beta.command == "aws");  // looked for in PATH
    CHECK(
        beta.info ==
        R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",)"
        R"("spec":{"interactive":false}})"
    );
}

TEST_CASE("[requirement C8] what is wrong with a credential program is named") {
    const folder dir;
    const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
    const std::string on = ", interactiveMode: Never";
    struct row {
        std::string exec;
        const char* expected;
    };
    const row rows[] = {
        {"7", "exec: is no map"},
        {"{command: aws}",
         "exec: apiVersion: '' is neither client.authentication.k8s.io/v1 nor "
         "client.authentication.k8s.io/v1beta1"},
        {"{apiVersion: client.authentication.k8s.io/v1alpha1, command: aws}",
         "exec: apiVersion: 'client.authentication.k8s.io/v1alpha1' is neither "
         "client.authentication.k8s.io/v1 nor client.authentication.k8s.io/v1beta1"},
        {"{" + v1 + on + "}", "exec: command: is not set"},
        {"{" + v1 + on + ", command: aws, args: get}", "exec: args: is no list"},
        {"{" + v1 + on + ", command: aws, args: [[1]]}",
         "exec: args: has an entry that is no text"},
        {"{" + v1 + on + ", command: aws, env: [{value: a}]}",
         "exec: env: an entry has no name, or one with '='"},
        {"{" + v1 + ", command: aws}",
         "exec: interactiveMode: '' is not Never, IfAvailable or Always"},
        {"{" + v1 + ", command: aws, interactiveMode: Always}",
         "exec: interactiveMode: Always: credential plugins are run without a terminal"},
        {"{" + v1 + on + ", command: aws, provideClusterInfo: 1}",
         "exec: provideClusterInfo: is neither true nor false"},
    };
    for (const row& r : rows) {
        INFO(r.exec);
        CHECK(
            failure(dir, server, "{exec: " + r.exec + "}") ==
            std::string("user \"u\": ") + r.expected
        );
    }
}

TEST_CASE("[requirement C8] files that are no kubeconfig are errors, not exceptions") {
    const folder dir;
    for (const char* text :
         {"a: [",
          "- 1",
          "clusters: 7\ncurrent-context: c",
          "clusters: [1]",
          "",
          "users: [{name: {}}]",
          "current-context: c\ncontexts: [{name: c, context: 7}]"}) {
        const auto loaded = load_kubeconfig(dir.write("config", text), "");
        INFO(text);
        REQUIRE(loaded.has_error());
        CHECK(loaded.error().message.find(dir.path() + "/config: ") != std::string::npos);
    }
}

TEST_CASE("[requirement C9] credentials are not for servers of plain HTTP") {
    const folder dir;
    const auto loaded = load_kubeconfig(
        dir.write(
            "config", kubeconfig("{server: 'http://127.0.0.1:8001'}", "{token: T, as: jane}")
        ),
        ""
    );
    REQUIRE(loaded.has_value());
    CHECK(loaded->token.empty());
    CHECK(loaded->as.user.empty());
}

TEST_CASE("[requirement C9] a secret that was moved away is gone") {
    secret_text a("short");
    secret_text b(std::move(a));
    CHECK(a.empty());  // NOLINT(bugprone-use-after-move): that is what is asked
    secret_text c(std::string(100, 'x'));
    c = b;
    CHECK(c.reveal() == "short");
    c = std::move(b);
    CHECK(b.empty());  // NOLINT(bugprone-use-after-move)
    CHECK(c.reveal() == "short");
    secret_text& same = c;
    c = same;
    CHECK(c.reveal() == "short");
}

TEST_CASE("[requirement C9] no secret is in the text of an error") {
    const folder dir;
    const std::string text =
        failure(dir, server, "{token: hunter2, password: hunter2, client-key-data: 'hunter2*'}");
    CHECK(text.find("hunter2") == std::string::npos);
}

TEST_CASE("[requirement C1] the service account of a pod") {
    const folder dir;
    const std::string account = "var/run/secrets/kubernetes.io/serviceaccount/";
    std::string host = "fd00::1";
    const auto env = [&](const char* name) {
        return std::string(name) == "KUBERNETES_SERVICE_HOST" ? host : std::string("443");
    };
    const auto load = [&] { return load_in_cluster(dir.path() + "/", env); };
    CHECK(load().error().message.find("cannot read a token") != std::string::npos);
    dir.write(account + "token", "T\n");
    CHECK(load().error().message.find("cannot read certificates") != std::string::npos);
    dir.write(account + "ca.crt", "CA");
    CHECK(load()->ns == "default");
    dir.write(account + "namespace", "jobs\n");
    const auto loaded = load();
    REQUIRE(loaded.has_value());
    CHECK(loaded->host == "fd00::1");
    CHECK(loaded->token.reveal() == "T");
    CHECK(loaded->token_file == dir.path() + "/" + "/" + account + "token");
    CHECK(loaded->ca_pem == "CA");
    CHECK(loaded->ca_file == dir.path() + "/" + "/" + account + "ca.crt");
    CHECK(loaded->ns == "jobs");
    host.clear();
    CHECK(load().error().message.find("KUBERNETES_SERVICE_HOST") != std::string::npos);
}
