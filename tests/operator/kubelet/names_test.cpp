// SPDX-License-Identifier: Apache-2.0
#include "kubelet/names/dns_message.hpp"
#include "kubelet/names/name_server.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::op::kubelet;

namespace {

named_service service(const std::string& name, string_map selector = {{"app", "x"}}) {
    named_service out;
    out.uid = "s-" + name;
    out.ns = "ns";
    out.name = name;
    out.selector = std::move(selector);
    out.headless = true;
    return out;
}

named_pod member_pod(const std::string& name, const std::string& address) {
    named_pod out;
    out.uid = "p-" + name;
    out.ns = "ns";
    out.address = address;
    out.hostname = name;
    out.subdomain = "svc";
    out.labels = {{"app", "x"}, {"other", "y"}};
    out.ready = true;
    return out;
}

using addresses = std::vector<std::string>;

addresses find(const cluster_names& in, const std::string& name) {
    const name_result r = in.find(name + ".cluster.local");
    return r.found ? r.addresses : addresses{"(none)"};
}

const addresses none{"(none)"};

/// A query for one name, as a resolver sends it.
std::string query_for(const std::string& name, char type = 1) {
    std::string out("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
    std::string label;
    for (const char c : name + ".") {
        if (c != '.') {
            label += c;
            continue;
        }
        out += static_cast<char>(label.size());
        out += label;
        label.clear();
    }
    out += '\0';
    out += std::string("\x00", 1) + type + std::string("\x00\x01", 2);
    return out;
}

int code_of(const std::string& message) {
    return message[3] & 0x0F;
}
int answers_of(const std::string& message) {
    return message[7];
}

name_result look_up(std::string_view name) {
    if (name == "svc.ns.svc.cluster.local") {
        return {true, {"10.1.2.3", "10.1.2.4"}, {}};
    }
    if (name == "ext.ns.svc.cluster.local") {
        return {true, {}, "example.com"};
    }
    if (name == "near.ns.svc.cluster.local") {
        return {true, {}, "svc.ns.svc.cluster.local"};
    }
    return {};
}

}  // namespace

TEST_CASE("[launchers 1.1] a headless Service names its pods") {
    cluster_names names;
    names.put(member_pod("a", "10.0.0.1"));
    names.put(service("svc"));
    names.put(member_pod("b", "10.0.0.2"));
    CHECK(find(names, "svc.ns.svc") == addresses{"10.0.0.1", "10.0.0.2"});
    CHECK(find(names, "a.svc.ns.svc") == addresses{"10.0.0.1"});
    CHECK(find(names, "b.svc.ns.svc") == addresses{"10.0.0.2"});
    CHECK(find(names, "c.svc.ns.svc") == none);
    CHECK(find(names, "a.other.ns.svc") == none);
    CHECK(find(names, "svc.other.svc") == none);
    CHECK(find(names, "svc.ns") == none);
    CHECK(find(names, "x.a.svc.ns.svc") == none);
    CHECK(find(names, "svc") == none);
    CHECK_FALSE(names.find("svc.ns.svc").found);

    SECTION("a pod that goes takes its name along") {
        names.remove_pod("p-a");
        CHECK(find(names, "a.svc.ns.svc") == none);
        CHECK(find(names, "svc.ns.svc") == addresses{"10.0.0.2"});
    }
    SECTION("another pod takes the name over") {
        named_pod next = member_pod("a", "10.0.0.9");
        next.uid = "p-next";
        names.remove_pod("p-a");
        names.put(next);
        CHECK(find(names, "a.svc.ns.svc") == addresses{"10.0.0.9"});
    }
    SECTION("a Service that goes takes all names along") {
        names.remove_service("s-svc");
        CHECK(find(names, "svc.ns.svc") == none);
        CHECK(find(names, "a.svc.ns.svc") == none);
    }
    SECTION("a new Service of the name is another one") {
        named_service next = service("svc", {{"app", "z"}});
        next.uid = "s-next";
        names.put(next);
        names.remove_service("s-svc");
        CHECK(find(names, "a.svc.ns.svc") == none);
        next.selector = {{"app", "x"}, {"other", "y"}};
        names.put(next);
        CHECK(find(names, "a.svc.ns.svc") == addresses{"10.0.0.1"});
        next.selector = {{"app", "x"}, {"other", "z"}};
        names.put(next);
        CHECK(find(names, "a.svc.ns.svc") == none);
    }
    SECTION("a pod whose labels change is no member any more") {
        named_pod changed = member_pod("a", "10.0.0.1");
        changed.labels = {{"other", "y"}};
        names.put(changed);
        CHECK(find(names, "svc.ns.svc") == addresses{"10.0.0.2"});
        CHECK(find(names, "a.svc.ns.svc") == none);
    }
}

TEST_CASE("[launchers 1.2] names are there before readiness only if the Service says so") {
    cluster_names names;
    named_pod pod = member_pod("a", "10.0.0.1");
    pod.ready = false;
    names.put(pod);
    named_service s = service("svc");
    names.put(s);
    CHECK(find(names, "a.svc.ns.svc") == none);
    CHECK(find(names, "svc.ns.svc") == none);
    s.also_not_ready = true;
    names.put(s);
    CHECK(find(names, "a.svc.ns.svc") == addresses{"10.0.0.1"});
    pod.deleting = true;
    names.put(pod);
    CHECK(find(names, "a.svc.ns.svc") == addresses{"10.0.0.1"});
    pod.ended = true;
    names.put(pod);
    CHECK(find(names, "a.svc.ns.svc") == none);
    s.also_not_ready = false;
    names.put(s);
    pod.ended = false;
    pod.ready = true;
    names.put(pod);
    CHECK(find(names, "a.svc.ns.svc") == none);  // it is being deleted
    pod.deleting = false;
    names.put(pod);
    CHECK(find(names, "a.svc.ns.svc") == addresses{"10.0.0.1"});
}

TEST_CASE("other Services give names too") {
    cluster_names names;
    named_service alias = service("ext", {});
    alias.alias = "example.com";
    names.put(alias);
    CHECK(names.find("ext.ns.svc.cluster.local").alias == "example.com");
    named_service with_address = service("web", {{"app", "none"}});
    with_address.headless = false;
    names.put(with_address);
    CHECK(find(names, "web.ns.svc") == addresses{});
}

TEST_CASE("answers carry the addresses") {
    const dns_reply r = answer_query(query_for("SVC.ns.svc.Cluster.local"), look_up, false);
    REQUIRE(r.what == dns_reply::kind::send);
    CHECK(r.message.substr(0, 2) == "\x12\x34");
    CHECK((static_cast<unsigned char>(r.message[2]) & 0x80U) != 0);
    CHECK(code_of(r.message) == 0);
    CHECK(answers_of(r.message) == 2);
    CHECK(r.message.ends_with(std::string("\x00\x04\x0a\x01\x02\x04", 6)));
    SECTION("there is no IPv6") {
        const dns_reply six =
            answer_query(query_for("svc.ns.svc.cluster.local", 28), look_up, false);
        CHECK(code_of(six.message) == 0);
        CHECK(answers_of(six.message) == 0);
    }
}

TEST_CASE("a name that the cluster does not have is refused at once") {
    for (const char* name :
         {"no.ns.svc.cluster.local", "cluster.local", "example.com.cluster.local"}) {
        const dns_reply r = answer_query(query_for(name), look_up, false);
        REQUIRE(r.what == dns_reply::kind::send);
        CHECK(code_of(r.message) == 3);
    }
}

TEST_CASE("other names are forwarded, or refused where nothing leaves the machine") {
    const std::string query = query_for("example.com");
    const dns_reply r = answer_query(query, look_up, false);
    CHECK(r.what == dns_reply::kind::forward);
    CHECK(r.message == query);
    CHECK(with_id(query, 0xABCD).substr(0, 2) == "\xAB\xCD");
    CHECK(id_of(query) == 0x1234);
    const dns_reply off = answer_query(query, look_up, true);
    REQUIRE(off.what == dns_reply::kind::send);
    CHECK(code_of(off.message) == 3);
    CHECK(code_of(forwarded_reply(query, {}, {})) == 2);
    CHECK(forwarded_reply(query, {}, with_id(r.message, 7)) == query);
    // Not ours, though it ends so.
    CHECK(
        answer_query(query_for("mycluster.local"), look_up, false).what == dns_reply::kind::forward
    );
}

TEST_CASE("an ExternalName is answered as an alias") {
    SECTION("of another server's name") {
        const std::string query = query_for("ext.ns.svc.cluster.local");
        const dns_reply r = answer_query(query, look_up, false);
        REQUIRE(r.what == dns_reply::kind::forward);
        CHECK(r.message == query_for("example.com"));
        CHECK(r.alias == "example.com");
        std::string answer = query_for("example.com");
        answer[2] = static_cast<char>(0x81);
        answer[7] = 1;
        answer +=
            std::string("\xC0\x0C\x00\x01\x00\x01\x00\x00\x00\x09\x00\x04\x01\x02\x03\x04", 16);
        const std::string made = forwarded_reply(query, r.alias, answer);
        CHECK(answers_of(made) == 2);
        CHECK(made.find("\7example\3com") != std::string::npos);
        CHECK(made.ends_with("\1\2\3\4"));
        for (std::size_t cut = 0; cut < answer.size(); ++cut) {
            CHECK(answers_of(forwarded_reply(query, r.alias, answer.substr(0, cut))) <= 1);
        }
    }
    SECTION("of one of ours") {
        const dns_reply r = answer_query(query_for("near.ns.svc.cluster.local"), look_up, false);
        REQUIRE(r.what == dns_reply::kind::send);
        CHECK(answers_of(r.message) == 3);
    }
}

TEST_CASE("malformed queries end in a clear answer or in none") {
    const std::string good = query_for("svc.ns.svc.cluster.local");
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        const dns_reply r = answer_query(good.substr(0, cut), look_up, false);
        if (cut < 12) {
            CHECK(r.what == dns_reply::kind::drop);
        } else {
            REQUIRE(r.what == dns_reply::kind::send);
            CHECK(code_of(r.message) == 1);
            CHECK(r.message.size() == 12);
        }
    }
    std::string answer = good;
    answer[2] = static_cast<char>(0x80);
    CHECK(answer_query(answer, look_up, false).what == dns_reply::kind::drop);
    std::string update = good;
    update[2] = 0x28;
    CHECK(code_of(answer_query(update, look_up, false).message) == 4);
    std::string two = good;
    two[5] = 2;
    CHECK(code_of(answer_query(two, look_up, false).message) == 1);
    std::string loop = good;
    loop[12] = static_cast<char>(0xC0);
    CHECK(code_of(answer_query(loop, look_up, false).message) == 1);
    std::string longest;
    for (int i = 0; i < 9; ++i) {
        longest += std::string(31, 'x') + ".";
    }
    CHECK(code_of(answer_query(query_for(longest + "com"), look_up, false).message) == 1);
}

TEST_CASE("more addresses than fit are left out") {
    const name_lookup many = [](std::string_view) {
        return name_result{true, std::vector<std::string>(500, "10.0.0.1"), {}};
    };
    const dns_reply r = answer_query(query_for("svc.ns.svc.cluster.local"), many, false);
    CHECK(r.message.size() <= 1232);
    CHECK(r.message.size() > 1200);
}

TEST_CASE("the server for other names is the first of resolv.conf") {
    CHECK(first_name_server("search x\nnameserver ::1\nnameserver \t 10.0.2.3\n") == "10.0.2.3");
    CHECK(first_name_server("nameserver 1.2.3.4") == "1.2.3.4");
    CHECK(first_name_server("nameservers 1.2.3.4\n#nameserver 1.1.1.1\nnameserver\n").empty());
    CHECK(first_name_server("").empty());
}
