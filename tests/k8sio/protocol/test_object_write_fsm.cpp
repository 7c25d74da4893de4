// SPDX-License-Identifier: Apache-2.0
//
// One write of one object: every answer at every step of every kind of write, and what success
// means at each.
#include "protocol/object_write_fsm.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace object_write_steps {

using namespace signalbox::k8sio;
using protocol::object_write_fsm;
using protocol::write_news;
using protocol::write_request;

namespace {

using answered = result<std::string>;

/// An object with UID `u`, in words that the claims below know.
std::string object(std::string_view words = "ours wanted") {
    std::string out = R"({"kind":"Thing","apiVersion":"v1","metadata":{"uid":"u")";
    if (words.find("deleting") != std::string::npos) {
        out += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
    }
    return out + R"(},"words":")" + std::string(words) + R"("})";
}

bool mentions(std::string_view text, std::string_view word) {
    return text.find(word) != text.npos;
}

class word_claims final : public object_claims {
public:
    bool is_ours(std::string_view live) const override { return mentions(live, "ours"); }
    bool is_wanted(std::string_view live) const override {
        ++asked;
        return mentions(live, "wanted");
    }
    std::string repair_of(std::string_view live, standing found) const override {
        const bool whole = found == standing::wanted;
        return mentions(live, "nonsense") ? "[]"
               : !mentions(live, "torn")  ? ""
               : whole                    ? R"({"all":1})"
                                          : R"({"some":1})";
    }
    std::string lost_of(std::string_view answer) const override {
        return mentions(answer, "stripped") ? "the label" : "";
    }
    mutable int asked = 0;
};

const word_claims claims;

const char* verb_of(write_step step) {
    switch (step) {
        case write_step::create:
            return "POST";
        case write_step::patch:
        case write_step::restore:
            return "PATCH";
        case write_step::remove:
        case write_step::take_back:
            return "DELETE";
        case write_step::confirm:
        case write_step::inspect:
            break;
    }
    return "GET";
}

/// A machine, and what it has asked for.
struct course {
    explicit course(write_order order) : fsm(std::move(order), claims) { go_on(); }

    void answer(answered with) {
        if (with.has_error()) {
            api_error error = with.error();
            error.method = verb_of(now.step);
            with = error;
        }
        last = std::move(with);
        news = fsm.on_answer(last);
        told = std::string(news.text);
        go_on();
    }
    void go_on() {
        auto next = fsm.next();
        // Either there is a request, or there is an outcome.
        REQUIRE(next.has_value() == (fsm.outcome() == nullptr));
        CHECK_FALSE(fsm.next());
        if (next) {
            now = *next;
            sent.push_back(now);
        }
    }
    const write_outcome& outcome() const {
        REQUIRE(fsm.outcome());
        return *fsm.outcome();
    }
    std::string verdict() const { return std::string(to_string(outcome().verdict)); }
    bool shows(std::string_view text) const {
        return news.what == write_news::kind::shown && told == text;
    }
    bool tells_gone() const { return news.what == write_news::kind::gone && told == "u"; }
    bool tells_nothing() const { return news.what == write_news::kind::nothing; }

    object_write_fsm fsm;
    write_request now;
    std::vector<write_request> sent;
    answered last;
    write_news news;
    std::string told;
};

answered without_answer(errc code) {
    api_error error;
    error.code = code;
    return error;
}

answered status(int code, std::string reason = {}, std::string message = {}) {
    api_error error;
    error.http_status = code;
    error.reason = std::move(reason);
    error.message = std::move(message);
    return error;
}

answered with_cause(answered refused, const char* reason, const char* field) {
    api_error error = refused.error();
    error.causes.push_back({reason, "", field});
    return error;
}

/// An answer, and what it means to a POST, PATCH, GET and DELETE: the letters of `words`.
struct row {
    const char* what;
    answered answer;
    const char* means;
};

std::string word_of(char letter) {
    switch (letter) {
        case 'u':
            return "unavailable";
        case '?':
            return "outcome unknown";
        case 'r':
            return "refused";
        case 'c':
            return "cancelled";
        case 'e':
            return "namespace ends";
        case 'k':
            return "not served";
        case 'o':
            return "outdated";
        case 'a':
            return "absent";  // there is no such object
        default:
            return "conflict";  // another may be in its place
    }
}

const std::vector<row>& rows() {
    const auto dying =
        with_cause(status(403, "Forbidden"), "NamespaceTerminating", "metadata.namespace");
    const auto invalid = status(422, "Invalid");
    const char* const no_thing = "things \"t\" not found";
    const char* const no_kind = "the server could not find the requested resource";
    static const std::vector<row> all{
        {"no name", without_answer(errc::resolve), "uuuu"},
        {"connection refused", without_answer(errc::connect), "uuuu"},
        {"no TLS", without_answer(errc::tls), "uuuu"},
        {"no credentials", without_answer(errc::credentials), "uuuu"},
        {"not sent", without_answer(errc::invalid_argument), "uuuu"},
        {"no answer in time", without_answer(errc::timeout), "??u?"},
        {"answer lost", without_answer(errc::connection_lost), "??u?"},
        {"garbage", without_answer(errc::bad_response), "??u?"},
        {"too large", without_answer(errc::too_large), "??u?"},
        {"cancelled", without_answer(errc::cancelled), "cccc"},
        {"moved", status(302), "rrrr"},
        {"bad request", status(400, "BadRequest"), "rrrr"},
        {"who are you", status(401, "Unauthorized"), "uuuu"},
        {"quota", status(403, "Forbidden", "exceeded quota: q"), "rrrr"},
        {"namespace terminating", dying, "errr"},
        {"no object", status(404, "NotFound", no_thing), "koaa"},
        {"no namespace", status(404, "NotFound", "namespaces \"n\" not found"), "eoaa"},
        {"no kind", status(404, "NotFound", no_kind), "koaa"},
        {"wrong method", status(405), "rrrr"},
        {"conflict", status(409, "Conflict"), "oou!"},
        {"name taken", status(409, "AlreadyExists"), "!ou!"},
        {"expired", status(410, "Expired"), "oouu"},
        {"precondition", status(412), "oouu"},
        {"too much", status(413), "rrrr"},
        {"invalid", with_cause(invalid, "FieldValueInvalid", "spec.x"), "rrrr"},
        {"another UID", with_cause(invalid, "FieldValueInvalid", "metadata.uid"), "rorr"},
        {"too many", status(429, "TooManyRequests"), "uuuu"},
        {"server error", status(500, "InternalError"), "??u?"},
        {"not implemented", status(501), "rrrr"},
        {"bad gateway", status(502), "??u?"},
        {"away", status(503), "uuuu"},
        {"gateway gave up", status(504), "??u?"},
        {"no UID", answered(R"({"kind":"Thing"})"), "??ua"},
        {"a Status", answered(R"({"kind":"Status","status":"Success"})"), "??ua"},
    };
    return all;
}

/// A step of a write: how to come there, and what the words of the table mean at it.
struct place {
    const char* name;
    std::function<course()> come;
    write_step step;
    const char* absent = "";         ///< the verdict
    bool looks_at_conflict = false;  ///< the write goes on with a read
    bool of_another = false;         ///< what is put right is not the wanted object
};

const std::vector<place>& places() {
    const auto after = [](write_order order, std::vector<answered> answers) {
        return [order, answers] {
            course made(order);
            for (const answered& each : answers) {
                made.answer(each);
            }
            return made;
        };
    };
    const create_order create("{}");
    const patch_order patch("u", R"({"a":1})");
    const delete_order remove("u");
    const confirm_order confirm;
    const answered taken = status(409, "AlreadyExists");
    const answered conflict = status(409, "Conflict");
    static const std::vector<place> all{
        {"create", after(create, {}), write_step::create, "", true},
        {"create, inspect", after(create, {taken}), write_step::inspect, "outdated"},
        {"create, inspect, restore",
         after(create, {taken, object("ours wanted torn")}),
         write_step::restore},
        {"create, inspect, restore of another",
         after(create, {taken, object("ours torn")}),
         write_step::restore,
         "",
         false,
         true},
        {"create, take back", after(create, {object("stripped")}), write_step::take_back, "unkept"},
        {"patch", after(patch, {}), write_step::patch},
        {"remove", after(remove, {}), write_step::remove, "done", true},
        {"remove, inspect", after(remove, {conflict}), write_step::inspect, "done"},
        {"confirm", after(confirm, {}), write_step::confirm, "done"},
        {"confirm, restore",
         after(confirm, {object("ours torn")}),
         write_step::restore,
         "",
         false,
         true},
    };
    return all;
}

std::string word_of(const row& said, write_step step) {
    const std::string verbs[] = {"POST", "PATCH", "GET", "DELETE"};
    const auto* at = std::find(std::begin(verbs), std::end(verbs), verb_of(step));
    return word_of(said.means[at - std::begin(verbs)]);
}

}  // namespace

TEST_CASE("[requirement X16] [requirement X3] every answer at every step of every write") {
    for (const place& at : places()) {
        for (const row& said : rows()) {
            INFO(at.name << ": " << said.what);
            course made = at.come();
            const std::size_t before = made.sent.size();
            REQUIRE(made.now.step == at.step);
            made.answer(said.answer);
            const std::string word = word_of(said, at.step);
            if (word == "conflict" && at.looks_at_conflict) {
                CHECK_FALSE(made.fsm.outcome());
                CHECK(made.sent.size() == before + 1);
                CHECK(made.now.step == write_step::inspect);
                continue;
            }
            CHECK(made.sent.size() == before);
            const write_outcome& outcome = made.outcome();
            const bool ends = word == "outdated" || word == "absent";
            const std::string expected = word == "absent"                      ? at.absent
                                         : word == "outdated" || at.of_another ? "outdated"
                                                                               : "failed";
            CHECK(made.verdict() == expected);
            REQUIRE(outcome.failure.has_value() == !ends);
            if (!ends) {
                CHECK(outcome.failure->step == at.step);
                CHECK(
                    to_string(outcome.failure->why) == (word == "conflict" ? "unavailable" : word)
                );
                const bool error = said.answer.has_error();
                CHECK(
                    outcome.failure->error.code ==
                    (error ? said.answer.error().code : errc::bad_response)
                );
                CHECK(
                    outcome.failure->error.http_status ==
                    (error ? said.answer.error().http_status : 0)
                );
            }
            // Of what it did not see it says nothing.
            const bool gone =
                expected == "done" && verb_of(made.sent.front().step) == std::string("DELETE");
            const bool made_stays = at.step == write_step::take_back && expected == "failed";
            CHECK(made.tells_gone() == gone);
            CHECK(made.shows(object("stripped")) == made_stays);
            CHECK(made.tells_nothing() == (!gone && !made_stays));
        }
    }
}

TEST_CASE("[requirement X17] every write ends behind its third answer, whatever the answers are") {
    std::vector<answered> answers;
    for (const row& each : rows()) {
        answers.push_back(each.answer);
    }
    for (const char* words :
         {"ours wanted",
          "ours",
          "ours torn",
          "ours wanted torn",
          "ours deleting torn",
          "stripped",
          "theirs"}) {
        answers.emplace_back(object(words));
    }
    std::size_t ends = 0;
    std::size_t longest = 0;
    const std::function<void(const course&)> explore = [&](const course& so_far) {
        if (const write_outcome* outcome = so_far.fsm.outcome()) {
            ++ends;
            longest = std::max(longest, so_far.sent.size());
            // What comes later changes nothing.
            course late = so_far;
            late.answer(object());
            CHECK(late.outcome().verdict == outcome->verdict);
            CHECK(late.sent.size() == so_far.sent.size());
            return;
        }
        REQUIRE(so_far.sent.size() <= 3);
        for (const answered& each : answers) {
            course next = so_far;
            next.answer(each);
            explore(next);
        }
    };
    explore(course(create_order("{}")));
    explore(course(patch_order("u", "{}")));
    explore(course(delete_order("u")));
    explore(course(confirm_order()));
    CHECK(longest == 3);
    CHECK(ends > 300);
}

TEST_CASE("[requirement X16] an object is created") {
    course made(create_order(R"({"a":1})"));
    CHECK(made.now.step == write_step::create);
    CHECK(made.now.body == R"({"a":1})");
    made.answer(object());
    CHECK(made.verdict() == "done");
    CHECK(made.shows(object()));
    CHECK_FALSE(made.outcome().found);
}

TEST_CASE("[requirement X1] the name is taken: by the wanted object, an older one, another's") {
    struct existing {
        const char* words;
        const char* verdict;
        const char* repair;  ///< empty: none is sent
    };
    const existing all[] = {
        {"ours wanted", "present", ""},
        {"ours wanted torn", "present", R"({"all":1,"metadata":{"uid":"u"}})"},
        {"ours", "outdated", ""},
        {"ours torn", "outdated", R"({"some":1,"metadata":{"uid":"u"}})"},
        {"ours wanted deleting", "outdated", ""},
        {"ours wanted deleting torn", "outdated", R"({"some":1,"metadata":{"uid":"u"}})"},
        {"theirs wanted torn", "foreign", ""},
    };
    for (const existing& each : all) {
        INFO(each.words);
        course made(create_order("{}"));
        made.answer(status(409, "AlreadyExists"));
        CHECK(made.now.step == write_step::inspect);
        claims.asked = 0;
        made.answer(object(each.words));
        const bool foreign = mentions(each.words, "theirs");
        CHECK(made.shows(object(each.words)) == !foreign);
        CHECK(claims.asked == (foreign || mentions(each.words, "deleting") ? 0 : 1));
        const std::string repair = each.repair;
        if (!repair.empty()) {
            CHECK(made.now.step == write_step::restore);
            CHECK(made.now.body == repair);
            made.answer(object("as it is now"));
            CHECK(made.shows(object("as it is now")));
        }
        CHECK(made.sent.size() == (repair.empty() ? 2U : 3U));
        CHECK(made.verdict() == each.verdict);
        CHECK(made.outcome().found.has_value() == !foreign);
        if (!foreign) {
            CHECK((made.outcome().found == standing::wanted) == (made.verdict() == "present"));
        }
    }
}

TEST_CASE("[requirement X18] what was made otherwise than sent is deleted again, by its UID") {
    course made(create_order("{}"));
    made.answer(object("stripped"));
    CHECK(made.tells_nothing());
    CHECK(made.now.step == write_step::take_back);
    CHECK(made.now.uid == "u");
    CHECK(made.now.propagation == "Background");
    SECTION("it goes") {
        made.answer(object("stripped deleting"));
        CHECK(made.verdict() == "unkept");
        CHECK(made.outcome().lost == "the label");
        CHECK(made.tells_nothing());
    }
    SECTION("it stays") {
        made.answer(status(403, "Forbidden"));
        CHECK(made.verdict() == "failed");
        CHECK(made.shows(object("stripped")));
    }
}

TEST_CASE("[requirement X18] a patch that the server takes and drops") {
    course made(patch_order("u", "{}"));
    made.answer(object("stripped"));
    CHECK(made.verdict() == "unkept");
    CHECK(made.outcome().lost == "the label");
    CHECK(made.shows(object("stripped")));
}

TEST_CASE("[requirement X8] a patch carries the UID of the object it is for") {
    course made(patch_order("u", R"({"metadata":{"uid":"x","labels":{"a":"b"}}})"));
    CHECK(made.now.step == write_step::patch);
    CHECK(made.now.body == R"({"metadata":{"labels":{"a":"b"},"uid":"u"}})");
    made.answer(object());
    CHECK(made.verdict() == "done");
    CHECK(made.shows(object()));
}

TEST_CASE("[requirement X8] a patch that is no object is not sent") {
    for (const char* patch : {"", "[]", "{", R"({"metadata":1})"}) {
        course made(patch_order("u", patch));
        CHECK(made.sent.empty());
        CHECK(made.verdict() == "failed");
        CHECK(made.outcome().failure->why == write_failure::malformed);
    }
}

TEST_CASE("[requirement X8] what has no UID is neither deleted nor patched") {
    for (const write_order& order :
         {write_order(delete_order("")), write_order(patch_order("", "{}"))}) {
        course made(order);
        CHECK(made.sent.empty());
        CHECK(made.outcome().failure->why == write_failure::malformed);
    }
}

TEST_CASE("[requirement X16] what is to put an object right and is no patch is not sent") {
    for (const char* words : {"ours nonsense", "ours wanted nonsense"}) {
        course made(create_order("{}"));
        made.answer(status(409, "AlreadyExists"));
        made.answer(object(words));
        CHECK(made.sent.size() == 2);
        CHECK(made.verdict() == (mentions(words, "wanted") ? "failed" : "outdated"));
        CHECK(made.outcome().failure->why == write_failure::malformed);
    }
}

TEST_CASE("[requirement X8] a deletion names the UID and how dependents go") {
    course made(delete_order("u"));
    CHECK(made.now.step == write_step::remove);
    CHECK(made.now.uid == "u");
    CHECK(made.now.propagation == "Background");
    CHECK(course(delete_order("u", "Foreground")).now.propagation == "Foreground");
    SECTION("it is gone: that was its last state") {
        made.answer(object());
        CHECK(made.tells_gone());
    }
    SECTION("a finalizer, or its grace, holds it") {
        made.answer(object("deleting"));
        CHECK(made.shows(object("deleting")));
    }
    SECTION("the answer is about another") {
        made.answer(R"({"metadata":{"uid":"v","deletionTimestamp":"2026-01-01T00:00:00Z"}})");
        CHECK(made.tells_gone());
    }
    CHECK(made.verdict() == "done");
}

TEST_CASE(
    "[requirement X8] [requirement E5] behind a conflict of a deletion the object is looked at"
) {
    course made(delete_order("u"));
    made.answer(status(409, "Conflict"));
    CHECK(made.now.step == write_step::inspect);
    SECTION("another has its name") {
        made.answer(R"({"metadata":{"uid":"v"}})");
        CHECK(made.verdict() == "done");
        CHECK(made.tells_gone());
    }
    SECTION("it is there") {
        made.answer(object());
        CHECK(made.verdict() == "outdated");
        CHECK(made.shows(object()));
    }
}

TEST_CASE("[requirement E5] what is there is shown, and put right; another's is none") {
    struct existing {
        const char* words;
        const char* verdict;
    };
    for (const existing& each :
         {existing{"ours", "outdated"},
          existing{"ours wanted torn", "outdated"},
          existing{"theirs torn", "done"}}) {
        INFO(each.words);
        course made(confirm_order{});
        CHECK(made.now.step == write_step::confirm);
        made.answer(object(each.words));
        CHECK(made.shows(object(each.words)) == mentions(each.words, "ours"));
        if (mentions(each.words, "ours wanted torn")) {
            CHECK(made.now.step == write_step::restore);
            CHECK(made.now.body == R"({"some":1,"metadata":{"uid":"u"}})");
            made.answer(object());
            CHECK(made.shows(object()));
        }
        CHECK(made.verdict() == each.verdict);
    }
}

}  // namespace object_write_steps
