// SPDX-License-Identifier: Apache-2.0
//
// Writes of one object against a server of one name, with every request lost, before or after it
// took effect: the same order, given again, comes to what it comes to without faults.
#include "protocol/object_write_fsm.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace object_write_faults {

using namespace signalbox::k8sio;
using protocol::object_write_fsm;
using protocol::write_request;

namespace {

struct thing {
    std::string uid;
    std::string owner = "me";
    std::string place = "here";
    bool label = true;
    bool deleting = false;
    bool held = false;  ///< by a finalizer

    std::string text() const {
        return R"({"metadata":{"uid":")" + uid + R"(",)" +
               (deleting ? R"("deletionTimestamp":"2026-01-01T00:00:00Z",)" : "") +
               R"("labels":{)" + (label ? R"("l":"1")" : "") + R"(}},"owner":")" + owner +
               R"(","place":")" + place + R"("})";
    }
    friend bool operator==(const thing&, const thing&) = default;
};

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

class thing_claims final : public object_claims {
public:
    bool is_ours(std::string_view live) const override { return has(live, R"("owner":"me")"); }
    bool is_wanted(std::string_view live) const override { return has(live, R"("place":"here")"); }
    std::string repair_of(std::string_view live, standing) const override {
        return has(live, R"("l":"1")") ? "" : R"({"metadata":{"labels":{"l":"1"}}})";
    }
    std::string lost_of(std::string_view answer) const override {
        return has(answer, R"("l":"1")") ? "" : "l";
    }
};

result<std::string> refusal(int status, std::string reason, std::string field = {}) {
    api_error error;
    error.http_status = status;
    error.reason = std::move(reason);
    if (!field.empty()) {
        error.causes.push_back({"FieldValueInvalid", "", std::move(field)});
    }
    return error;
}

/// Has at most one object, under the one name that is asked for.
struct server {
    result<std::string> answer(const write_request& request) {
        switch (request.step) {
            case write_step::create:
                return post();
            case write_step::patch:
            case write_step::restore:
                return patch(request.body);
            case write_step::remove:
            case write_step::take_back:
                return remove(request.uid);
            case write_step::confirm:
            case write_step::inspect:
                break;
        }
        return one ? result<std::string>(one->text()) : refusal(404, "NotFound");
    }
    result<std::string> post() {
        if (one) {
            return refusal(409, "AlreadyExists");
        }
        one = thing{"new"};
        one->label = !strips;
        return one->text();
    }
    result<std::string> patch(std::string_view body) {
        if (!one) {
            return refusal(404, "NotFound");
        }
        if (!has(body, R"("uid":")" + one->uid + R"(")")) {
            return refusal(422, "Invalid", "metadata.uid");
        }
        one->label = !strips;
        return one->text();
    }
    result<std::string> remove(std::string_view uid) {
        if (!one) {
            return refusal(404, "NotFound");
        }
        if (one->uid != uid) {
            return refusal(409, "Conflict");
        }
        one->deleting = one->held;
        const std::string last = one->text();
        if (!one->held) {
            one.reset();
        }
        return last;
    }

    std::optional<thing> one;
    bool strips = false;  ///< admission takes the label from what is written
};

/// A fault of one request of a write.
struct fault {
    int request = -1;  ///< from 0; -1: none
    bool after_effect = false;
    errc code = errc::connection_lost;
};

struct ending {
    write_verdict verdict = write_verdict::failed;
    bool failed = false;  ///< a request
    int requests = 0;
};

ending carry_out(server& to, const write_order& order, const fault& hit) {
    const thing_claims claims;
    object_write_fsm fsm(order, claims);
    ending end;
    while (const auto request = fsm.next()) {
        const bool now = end.requests++ == hit.request;
        result<std::string> answer = refusal(0, "");
        if (!now || hit.after_effect) {
            answer = to.answer(*request);
        }
        if (now) {
            api_error lost;
            lost.code = hit.code;
            answer = lost;
        }
        fsm.on_answer(answer);
    }
    end.verdict = fsm.outcome()->verdict;
    end.failed = fsm.outcome()->failure.has_value();
    return end;
}

/// Gives the order until no request fails; how often it must be given.
int give(server& to, const write_order& order, const fault& first, ending& last) {
    for (int times = 1; times <= 4; ++times) {
        last = carry_out(to, order, times == 1 ? first : fault());
        if (!last.failed) {
            return times;
        }
    }
    return 5;
}

std::vector<server> worlds() {
    std::vector<server> all(1);
    for (const char* owner : {"me", "somebody"}) {
        for (const char* place : {"here", "there"}) {
            for (int bits = 0; bits < 8; ++bits) {
                thing made{"old", owner, place};
                made.label = (bits & 1) != 0;
                made.held = (bits & 2) != 0;
                made.deleting = made.held && (bits & 4) != 0;
                all.push_back({made});
            }
        }
    }
    return all;
}

std::vector<write_order> orders() {
    return {
        create_order("{}"),
        patch_order("old", R"({"metadata":{"labels":{"l":"1"}}})"),
        patch_order("other", R"({"metadata":{"labels":{"l":"1"}}})"),
        delete_order("old"),
        delete_order("other"),
        confirm_order()};
}

}  // namespace

TEST_CASE(
    "[requirement X19] [requirement R4] an order whose answer was lost is given again, and finds "
    "out"
) {
    std::size_t lost = 0;
    for (const server& world : worlds()) {
        for (const write_order& order : orders()) {
            server calm = world;
            ending end;
            REQUIRE(give(calm, order, fault(), end) == 1);
            for (int request = 0; request < end.requests; ++request) {
                for (const bool after : {false, true}) {
                    INFO((world.one ? world.one->text() : "nothing") << " order " << order.index());
                    INFO("request " << request << (after ? " after" : " before") << " its effect");
                    server stormy = world;
                    ending last;
                    CHECK(give(stormy, order, {request, after}, last) <= 2);
                    CHECK(stormy.one == calm.one);
                    // What is found may be one's own work; then there is nothing left to be done.
                    const bool ours = order.index() == 0 && request == 0 && after && !world.one;
                    CHECK(last.verdict == (ours ? write_verdict::present : end.verdict));
                    ++lost;
                }
            }
        }
    }
    CHECK(lost > 300);
}

TEST_CASE("[requirement X16] nothing of others is changed, whatever is asked for and goes wrong") {
    for (const server& world : worlds()) {
        const bool theirs = world.one && world.one->owner == "somebody";
        for (const write_order& order : orders()) {
            const auto* deletion = std::get_if<delete_order>(&order);
            const auto* patch = std::get_if<patch_order>(&order);
            const bool by_its_uid =
                (deletion && deletion->uid == "old") || (patch && patch->uid == "old");
            if (!theirs || by_its_uid) {
                continue;
            }
            for (int request = -1; request < 3; ++request) {
                INFO(world.one->text() << " order " << order.index() << " request " << request);
                server stormy = world;
                carry_out(stormy, order, {request, true});
                carry_out(stormy, order, fault());
                CHECK(stormy.one == world.one);
            }
        }
    }
}

TEST_CASE("[requirement X18] where admission takes what matters, nothing is left of what was made"
) {
    server stripping;
    stripping.strips = true;
    const fault none;
    CHECK(carry_out(stripping, create_order("{}"), none).verdict == write_verdict::unkept);
    CHECK_FALSE(stripping.one);
    SECTION("a deletion that is lost before its effect: the next order finds it") {
        carry_out(stripping, create_order("{}"), {1, false});
        REQUIRE(stripping.one);
        CHECK(carry_out(stripping, create_order("{}"), none).verdict == write_verdict::present);
    }
    SECTION("one that is lost after it") {
        carry_out(stripping, create_order("{}"), {1, true});
        CHECK_FALSE(stripping.one);
    }
}

TEST_CASE("[requirement X17] a cancelled write sends nothing more") {
    for (const server& world : worlds()) {
        for (const write_order& order : orders()) {
            for (int request = 0; request < 3; ++request) {
                server stopped = world;
                const ending end = carry_out(stopped, order, {request, false, errc::cancelled});
                CHECK(end.requests <= request + 1);
            }
        }
    }
}

}  // namespace object_write_faults
