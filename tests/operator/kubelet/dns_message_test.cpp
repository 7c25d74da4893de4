// SPDX-License-Identifier: Apache-2.0
#include "kubelet/names/dns_message.hpp"

#include "dns_query.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::op::kubelet;
using namespace signalbox::op::test;

namespace {

constexpr char ipv6 = 28, any = static_cast<char>(255);

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

TEST_CASE("answers carry the addresses") {
    const dns_reply r = answer_query(query_for("SVC.ns.svc.Cluster.local"), look_up, false);
    REQUIRE(r.what == dns_reply::kind::send);
    CHECK(r.message.substr(0, 2) == "\x12\x34");
    CHECK((static_cast<unsigned char>(r.message[2]) & 0x80U) != 0);
    CHECK(code_of(r.message) == 0);
    CHECK(answers_of(r.message) == 2);
    // The question as it was asked, and records of its name (RFC 1035, 4.1).
    CHECK(r.message.substr(2, 10) == std::string("\x85\x80\0\1\0\2\0\0\0\0", 10));
    const std::string record("\xC0\x0C\0\1\0\1\0\0\0\5\0\4\x0a\x01\x02", 15);
    CHECK(
        r.message.substr(12) ==
        query_for("SVC.ns.svc.Cluster.local").substr(12) + record + "\3" + record + "\4"
    );
    CHECK(
        answers_of(answer_query(query_for("svc.ns.svc.cluster.local", any), look_up, false).message
        ) == 2
    );
    SECTION("there is no IPv6") {
        const dns_reply six =
            answer_query(query_for("svc.ns.svc.cluster.local", ipv6), look_up, false);
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
    CHECK(id_of(query.substr(0, 2)) == 0x1234);
    CHECK_FALSE(id_of(query.substr(0, 1)).has_value());
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
        // What a resolver adds behind the question is of its own talk with us.
        std::string extended = query;
        extended[11] = 1;
        extended += std::string("\0\0\x29\x04\xD0\0\0\0\0\0\0", 11);
        CHECK(answer_query(extended, look_up, false).message == r.message);
        CHECK(code_of(answer_query(query, look_up, true).message) == 3);
        std::string answer = query_for("example.com");
        answer[2] = static_cast<char>(0x81);
        answer[7] = 1;
        answer +=
            std::string("\xC0\x0C\x00\x01\x00\x01\x00\x00\x00\x09\x00\x04\x01\x02\x03\x04", 16);
        const std::string made = forwarded_reply(query, r.alias, answer);
        CHECK(answers_of(made) == 2);
        CHECK(made.find("\7example\3com") != std::string::npos);
        CHECK(made.ends_with("\1\2\3\4"));
        // The alias of another: its records have names that are written out.
        std::string chain = query_for("example.com");
        chain[7] = 2;
        chain += std::string("\xC0\x0C\0\5\0\1\0\0\0\x09\0\5\3net\0", 17) +
                 std::string("\3net\0\0\1\0\1\0\0\0\x09\0\4\1\2\3\4", 19);
        CHECK(forwarded_reply(query, r.alias, chain) == made);
        for (std::size_t cut = 0; cut < answer.size(); ++cut) {
            CHECK(answers_of(forwarded_reply(query, r.alias, answer.substr(0, cut))) <= 1);
        }
    }
    SECTION("of one of ours") {
        const dns_reply r = answer_query(query_for("near.ns.svc.cluster.local"), look_up, false);
        REQUIRE(r.what == dns_reply::kind::send);
        CHECK(answers_of(r.message) == 3);
        const std::string asked = query_for("near.ns.svc.cluster.local");
        const std::string alias = query_for("svc.ns.svc.cluster.local").substr(12, 26);
        // The addresses are those of the alias, which stands behind the question and 12 bytes.
        const std::string owner = std::string("\xC0") + static_cast<char>(asked.size() + 12);
        CHECK(
            r.message.substr(asked.size()) ==
            std::string("\xC0\x0C\0\5\0\1\0\0\0\5\0\x1A", 12) + alias + owner +
                std::string("\0\1\0\1\0\0\0\5\0\4\x0a\1\2\3", 14) + owner +
                std::string("\0\1\0\1\0\0\0\5\0\4\x0a\1\2\4", 14)
        );
        const auto answers = [&](char type) {
            return answers_of(
                answer_query(query_for("near.ns.svc.cluster.local", type), look_up, false).message
            );
        };
        CHECK(answers(any) == 3);
        CHECK(answers(ipv6) == 1);
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
            CHECK(r.message.substr(4, 2) == std::string("\0\0", 2));  // no question
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

TEST_CASE("a label has up to 63 bytes, and capitals are none") {
    std::string asked;
    const name_lookup listen = [&](std::string_view name) {
        asked = name;
        return name_result();
    };
    const std::string longest(63, 'x');
    answer_query(query_for(longest + ".AMZamz@[.cluster.local"), listen, false);
    CHECK(asked == longest + ".amzamz@[.cluster.local");
    const std::string longer = query_for(longest + "x.cluster.local");
    CHECK(code_of(answer_query(longer, listen, false).message) == 1);
}

TEST_CASE("more addresses than fit are left out") {
    const name_lookup many = [](std::string_view) {
        return name_result{true, std::vector<std::string>(500, "10.0.0.1"), {}};
    };
    const dns_reply r = answer_query(query_for("svc.ns.svc.cluster.local"), many, false);
    CHECK(r.message.size() <= 1232);
    CHECK(r.message.size() > 1200);
}
