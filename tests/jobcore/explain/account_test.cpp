// SPDX-License-Identifier: Apache-2.0
#include "jobcore/account.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace signalbox::test {
namespace {

using namespace core;

instant moment(std::int64_t second) {
    return instant(seconds(1'700'000'000 + second));
}

job_status reporting() {
    job_status s;
    s.phase = job_phase::running;
    s.attempt = 2;
    s.progress.emplace();
    s.progress->attempt = 2;
    s.progress->current_step = 1200;
    s.progress->total_steps = 5000;
    s.progress->percentage = 24;
    s.progress->remaining_seconds = 10'800;
    s.progress->last_updated = moment(0);
    s.progress->metrics = {{"learning_rate", "1e-4"}, {"loss", "2.31"}};
    return s;
}

}  // namespace

TEST_CASE("[behaviour 13.1] an account goes on from the record to the moment", "[account]") {
    time_spent t{10, 20, 300, 40, 50, 60, 70, 5, time_kind::running, moment(0)};
    const time_account then = account_of(t, moment(0));
    CHECK(then.total() == t.total());
    const time_account later = account_of(t, moment(7) + milliseconds(900));
    CHECK(later.total() == t.total() + 7);
    CHECK(later.useful() == 307);
    t.in = time_kind::queued;
    CHECK(account_of(t, moment(7)).held() == then.held());
    CHECK(account_of(t, moment(7)).total() == t.total() + 7);
    // An ended job does nothing any more, and `lost` is nothing that a job does.
    t.in = time_kind::none;
    CHECK(account_of(t, moment(7)) == then);
    // Clocks that go back book nothing.
    t.in = time_kind::running;
    CHECK(account_of(t, moment(-7)) == then);
    t.since.reset();
    CHECK(account_of(t, moment(7)).total() == 0);
}

TEST_CASE("[behaviour 13.12] goodput is what ran of the time with a place", "[account]") {
    constexpr std::int64_t hour = 3600;
    const time_spent t{
        10 * hour,
        2 * hour,
        40 * hour,
        3 * hour,
        0,
        9 * hour,
        5 * hour,
        0,
        time_kind::none,
        moment(0)};
    const time_account a = account_of(t, moment(0));
    CHECK(a.held() == 50 * hour);
    CHECK(a.goodput() == 0.8);
    time_account sum = a;
    const time_spent idle{0, 0, 0, 0, 50 * hour, 0, 0, 0, time_kind::none, moment(0)};
    sum += account_of(idle, moment(0));
    CHECK(sum.goodput() == 0.4);
    const time_spent waits{hour, 0, 0, 0, 0, hour, 0, 0, time_kind::queued, moment(0)};
    CHECK_FALSE(account_of(waits, moment(9)).goodput());
}

TEST_CASE("[behaviour 13.1] percentages add up to a hundred", "[account]") {
    time_account a;
    CHECK(a.percentages() == std::array<std::int64_t, 7>{});
    for (std::size_t i = 0; i < a.shares.size(); ++i) {
        a.shares[i].seconds = 1;
    }
    CHECK(a.percentages() == std::array<std::int64_t, 7>{15, 15, 14, 14, 14, 14, 14});
    a.shares[6].seconds = 1'000'000'000;
    CHECK(a.percentages() == std::array<std::int64_t, 7>{0, 0, 0, 0, 0, 0, 100});
    a.shares = time_account().shares;
    a.shares[0].seconds = 996;
    a.shares[2].seconds = 4;
    CHECK(a.percentages() == std::array<std::int64_t, 7>{100, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("[behaviour 13.2] the present attempt stands behind those that have ended", "[account]") {
    job_status s = reporting();
    CHECK(attempts_of(job_status{}).empty());
    s.attempt_history.push_back(
        {1, moment(-100), moment(-50), "PodFailed", "", "p-0", "n-0", 0, 900}
    );
    s.attempt_start = moment(-40);
    const auto all = attempts_of(s);
    REQUIRE(all.size() == 2);
    CHECK(all[0] == s.attempt_history[0]);
    CHECK(all[1] == attempt_record{2, moment(-40), {}, "", "", "", "", {}, 1200});
    // Reports of an attempt before are not its own.
    s.progress->attempt = 1;
    CHECK_FALSE(attempts_of(s).back().step);
    // A pause has ended it.
    s.attempt_history.push_back({2, moment(-40), moment(0), "Paused", "", "", "", {}, {}});
    CHECK(attempts_of(s) == s.attempt_history);
    // Older versions recorded no attempts.
    s.attempt_history.clear();
    s.phase = job_phase::succeeded;
    CHECK(attempts_of(s).empty());
}

TEST_CASE("[behaviour 13.7] how far training is, in words", "[account]") {
    job_status s = reporting();
    CHECK(
        progress_in_words(s, moment(12)) ==
        "step 1200 of 5000 (24 %), about 2 h 59 min left, loss 2.31, learning_rate 1e-4; last "
        "report 12 s ago"
    );
    CHECK(
        training_in_words(s, moment(12)) ==
        "step 1200 of 5000 (24 %), about 2 h 59 min left, loss 2.31, learning_rate 1e-4"
    );
    // What time was left is over.
    CHECK(progress_in_words(s, moment(10'800)).find("left") == std::string::npos);
    s.phase = job_phase::succeeded;
    CHECK(progress_in_words(s, moment(12)).find("left") == std::string::npos);

    s = reporting();
    s.attempt = 3;
    CHECK(progress_in_words(s, moment(12)).ends_with(", from attempt 2; this one has not reported")
    );

    s = reporting();
    s.progress->current_step.reset();
    s.progress->remaining_seconds.reset();
    s.progress->metrics.clear();
    CHECK(progress_in_words(s, moment(12)) == "24 %; last report 12 s ago");
    s.progress->percentage.reset();
    CHECK(progress_in_words(s, moment(12)) == "last report 12 s ago");
    CHECK(training_in_words(s, moment(12)).empty());
    s.progress->last_updated.reset();
    CHECK(progress_in_words(s, moment(12)).empty());
    CHECK(progress_in_words(job_status{}, moment(12)).empty());
}

TEST_CASE("[behaviour 13.7] words have four digits of a metric", "[account]") {
    const auto [reported, told] = GENERATE(
        std::pair{"3.915514373779297", "3.916"},
        std::pair{"4.853333333333334e-05", "4.853e-05"},
        std::pair{"-0.5", "-0.5"},
        std::pair{"2.31", "2.31"},
        std::pair{"999.96", "1000"},
        std::pair{"-12345.678", "-12346"},
        std::pair{"1.50000E12", "1.5e+12"},
        std::pair{"1e-4", "1e-4"},
        std::pair{"12345678901", "12345678901"},
        std::pair{"1.2.3", "1.2.3"},
        std::pair{"e", "e"},
        std::pair{"1e999", "1e999"}
    );
    job_status s = reporting();
    s.progress->metrics = {{"loss", reported}};
    CHECK(training_in_words(s, moment(12)).ends_with(std::string(", loss ") + told));
}

TEST_CASE("[behaviour 13.7] no report makes words that are long or obeyed", "[account]") {
    job_status s = reporting();
    s.progress->remaining_seconds = std::numeric_limits<std::int64_t>::max();
    s.progress->metrics = {
        {"a\x1b[31m", "1\n2"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"train_loss", "5"}};
    const std::string words = progress_in_words(s, moment(12));
    INFO(words);
    CHECK(words.find("about 36599 d 23 h left, train_loss 5, a [31m 1 2, b 2;") != words.npos);
    CHECK(std::ranges::none_of(words, [](char c) { return c == '\x1b' || c == '\n'; }));
}

}  // namespace signalbox::test
