// SPDX-License-Identifier: Apache-2.0
#include "kubelet/names/cluster_names.hpp"

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
        names.remove_service("s-svc");
        names.put(service("svc"));
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

TEST_CASE("a Service has the pods of its own namespace") {
    cluster_names names;
    named_pod other = member_pod("a", "10.0.0.1");
    other.ns = "other";
    names.put(other);
    names.put(service("svc"));
    CHECK(find(names, "svc.ns.svc") == none);
    CHECK(find(names, "a.svc.ns.svc") == none);
    other.uid = "p-mine";
    other.ns = "ns";
    other.address = "10.0.0.2";
    names.put(other);
    CHECK(find(names, "svc.ns.svc") == addresses{"10.0.0.2"});
    CHECK(find(names, "a.svc.ns.svc") == addresses{"10.0.0.2"});
    CHECK(find(names, "svc.other.svc") == none);
}
