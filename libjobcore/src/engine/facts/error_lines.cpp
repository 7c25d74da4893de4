// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/error_lines.hpp"

#include "engine/facts/line_words.hpp"
#include "engine/facts/sameness.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace signalbox::core::engine {
namespace {

bool is_lower(const error_line& a, const error_line& b) {
    const auto order = [](const error_line& e) {
        return std::tuple(e.rank.value_or(-1), e.pod.size(), e.pod);
    };
    return order(a) < order(b);
}

enum class said { nothing, traceback, error, other };

/// How an exception hangs together with the one before it in a log.
enum class chained { no, caused_by, while_handling, original };

chained link_of(std::string_view line) {
    // torch.multiprocessing.spawn tells of its child below its own exception.
    if (line.ends_with("terminated with the following error:")) {
        return chained::original;
    }
    if (line.starts_with("The above exception was the direct cause of the following exception")) {
        return chained::caused_by;
    }
    return line.starts_with("During handling of the above exception, another exception occurred")
               ? chained::while_handling
               : chained::no;
}

/// An error that was kept, and when it came among all.
struct kept_error {
    error_line error;
    std::size_t number = 0;
};

/// Tracebacks that lie in between each other: whose a place is cannot be said, unless all of them
/// are the same.
class mixture {
public:
    void begin(bool another) {
        if (!another) {
            *this = {};
        }
        ++begun_;
    }
    void add(const code_place& place) {
        constexpr std::size_t most = 64;
        const auto known = std::ranges::find_if(places_, [&](const auto& one) {
            return one.first.file == place.file && one.first.line == place.line;
        });
        if (known != places_.end()) {
            ++known->second;
        } else if (places_.size() < most) {
            places_.emplace_back(place, 1);
        } else {
            alike_ = false;
        }
    }
    /// Another of them ends with this error.
    void end_with(std::string_view error) {
        alike_ = alike_ && (error_.empty() || says_same(error_, error));
        error_ = error;
    }
    bool is_mixed() const { return begun_ > 1; }
    /// Where all of them end, once the last one has: places come in the order in which each has
    /// them.
    code_place place() const {
        code_place out;
        for (const auto& [place, times] : places_) {
            if (!alike_ || times % begun_ != 0) {
                return {};
            }
            keep_innermost(out, place);
        }
        return out;
    }

private:
    std::vector<std::pair<code_place, int>> places_;  ///< with how often each came
    std::string_view error_;
    int begun_ = 0;
    bool alike_ = true;
};

/// What was read from one source.
struct source {
    said before = said::nothing;
    /// Tracebacks whose error is to come: those of ranks without a prefix lie in between each
    /// other.
    int open = 0;
    code_place place;
    mixture mixed;
    bool harmless = false;          ///< the next error ends no program
    bool of_thread = false;         ///< it is of a thread
    chained link = chained::no;     ///< of the next error to the one before
    std::string_view first_line{};  ///< of the traceback, or of a chain of them
    std::string_view aborted{};     ///< `terminate called after ...`: what() is to come
    /// An error of NCCL, held back until the lines below it are read: of which kind it is, and
    /// NCCL's own last words.
    std::optional<error_line> held{};
    bool held_refusal = false;
    bool last_words = false;  ///< they are in the next line
    bool at_end = false;      ///< the refusal is of an interpreter that had nothing left to run
    error_line last{};
    kept_error cause{}, consequence{}, refusal{};

    /// A name that is that of no error is one only where it can be nothing else.
    bool ends_with_error(std::string_view line, bool of_rank) const {
        const bool below = before == said::traceback && open == 1;
        return (below && names_exception(line)) ||
               ((of_rank || before != said::other || open > 0) && names_error(line));
    }
    void begin_traceback(std::string_view line) {
        forget_place();
        mixed.begin(open > 0);
        if (open == 0 && link == chained::no) {
            first_line = line;
        }
        ++open;
    }
    /// Of the error with which a traceback ends; of several in between each other that of the last.
    code_place place_of_error() const {
        const bool outermost = open <= 1;
        return !mixed.is_mixed() ? place : outermost ? mixed.place() : code_place{};
    }
    void end_traceback() {
        open = std::max(open - 1, 0);
        forget_place();
    }
    void forget_place() {
        if (open == 0) {
            place = {};
            mixed = mixture();
        }
    }
};

/// Goes through a log line by line. Lines of several pods and ranks lie in between each other.
class reader {
public:
    void read(std::string_view line) {
        const std::size_t next = find_torn(line);
        const bool torn =
            next != line.npos && !line.substr(0, next).ends_with("Original ") && !has_prefix(line);
        read_part(torn ? line.substr(0, next) : line, torn);
        if (torn) {
            read_part(line.substr(next), false);
        }
    }
    /// No more lines come.
    void end() {
        for (auto& [name, own] : sources_) {
            if (own.held) {
                hand_on(own);
            }
        }
    }
    /// Of a rank the first, else the last of each source.
    std::optional<error_line> best(std::optional<std::int32_t> rank) const {
        const kept_error* out = nullptr;
        bool out_refused = false;
        const auto order = [&](const kept_error& k, bool refused) {
            const error_line& e = k.error;
            const bool doubtful = e.secondary || (!refused && was_overcome(e));
            return std::tuple(
                !(rank && e.rank == rank), doubtful, !e.rank.has_value(), refused, k.number
            );
        };
        for_each_kept([&](const kept_error& k, bool refused) {
            if (out == nullptr || order(k, refused) < order(*out, out_refused)) {
                out = &k;
                out_refused = refused;
            }
        });
        if (out == nullptr || (out->error.secondary && silent_)) {
            return silent_;
        }
        error_line told = lowest_of(out->error);
        told.of_asked = rank && out->error.rank == rank;
        told.raised = !out_refused && !was_aborted();
        told.suffered = suffered_after(*out);
        return told;
    }
    heard_errors heard() const {
        heard_errors out{{}, tracebacks_};
        for_each_kept([&](const kept_error& k, bool) {
            if (k.error.rank) {
                out.ranks.insert(*k.error.rank);
            }
        });
        return out;
    }

private:
    static bool has_prefix(std::string_view line) {
        const std::size_t whole = line.size();
        take_pod(line);
        take_rank(line);
        take_local_prefix(line);
        return line.size() < whole;
    }

    void read_part(std::string_view line, bool torn) {
        error_line found;
        found.torn = torn;
        found.last_line = found.first_line = line;
        found.pod = take_pod(line);
        found.rank = take_rank(line);
        take_local_prefix(line);
        found.prefix = found.last_line.substr(0, found.last_line.size() - line.size());
        source& own = sources_[std::string(found.prefix)];
        if (own.held && goes_on(line, found.last_line, own)) {
            return;
        }
        if (is_of_no_frame(line)) {
            own.at_end = own.at_end || is_of_interpreter(own.refusal.error.text);
            return;
        }
        const bool original = line.starts_with("Original Traceback (most recent call last)");
        const bool begins = original || line.starts_with("Traceback (most recent call last)");
        if (begins || line.starts_with(' ') || line.starts_with('\t')) {
            own.before = said::traceback;
            if (begins) {
                own.link = original ? chained::original : own.link;
                own.begin_traceback(found.first_line);
            } else if (const auto place = read_place(line)) {
                keep_innermost(own.place, *place);
                own.mixed.add(*place);
            } else if (!own.aborted.empty()) {
                read_abort(line, found, own);
            }
        } else if (own.ends_with_error(line, found.rank.has_value())) {
            own.before = names_error(line) ? said::error : said::other;
            own.mixed.end_with(line);
            found.place = own.place_of_error();
            found.first_line = own.first_line.empty() ? found.last_line : own.first_line;
            own.end_traceback();
            found.text = line;
            found.of_thread = std::exchange(own.of_thread, false);
            if (!std::exchange(own.harmless, false)) {
                take(found, false, own);
            }
        } else if (!line.empty()) {
            own.before = said::other;
            own.open -= own.open == 1 && is_name(line) ? 1 : 0;
            own.forget_place();
            own.harmless = introduces_harmless(line);
            own.of_thread = introduces_thread(line);
            own.link = own.mixed.is_mixed() ? chained::no : link_of(line);
            own.first_line = own.link == chained::no ? std::string_view() : own.first_line;
            const bool aborts = line.starts_with("terminate called after throwing an instance of");
            own.aborted = aborts ? found.last_line : std::string_view();
            read_refusal(line, found, own);
        }
    }
    /// Somebody said why, e.g. by what(). An interpreter that crashes as it ends says nothing of
    /// why it ends.
    bool was_aborted() const {
        return std::ranges::any_of(sources_, [](const auto& one) {
            const error_line& said = one.second.refusal.error;
            return !said.text.empty() && !said.secondary && !one.second.at_end;
        });
    }

    /// Once ranks have met, torch puts its rank before the exception that ends one: one without, in
    /// the same pod, ended none, unless it was a thread's.
    bool was_overcome(const error_line& e) const {
        return !e.rank && !e.of_thread && std::ranges::any_of(sources_, [&](const auto& one) {
            const source& own = one.second;
            const auto of_rank = [&](const kept_error& k) {
                return k.error.rank && k.error.pod == e.pod;
            };
            return of_rank(own.cause) || of_rank(own.consequence);
        });
    }

    /// By any rank of the pod whose error it is.
    std::string_view suffered_after(const kept_error& cause) const {
        const kept_error* last = nullptr;
        for (const auto& [name, own] : sources_) {
            const kept_error& k = own.consequence;
            const bool behind =
                !k.error.text.empty() && k.number > cause.number && k.error.pod == cause.error.pod;
            last = behind && (last == nullptr || k.number > last->number) ? &k : last;
        }
        return last == nullptr || cause.error.secondary ? std::string_view()
                                                        : last->error.last_line;
    }

    template <class Visit>
    void for_each_kept(Visit visit) const {
        for (const auto& [name, own] : sources_) {
            for (const kept_error* k : {&own.cause, &own.consequence, &own.refusal}) {
                if (!k->error.text.empty()) {
                    visit(*k, k == &own.refusal);
                }
            }
        }
    }

    /// All ranks run into a mistake of the script: which of them is first, or seen first by their
    /// launcher, is chance.
    error_line lowest_of(const error_line& found) const {
        error_line out = found;
        for_each_kept([&](const kept_error& k, bool) {
            const error_line& e = k.error;
            if (e.rank.has_value() == found.rank.has_value() && is_lower(e, out) &&
                is_same(e, found)) {
                out = e;
            }
        });
        return out;
    }

    /// `  what():  CUDA error: ...`
    void read_abort(std::string_view line, error_line& found, source& own) {
        constexpr std::string_view head = "what():";
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        const std::size_t text = line.find_first_not_of(' ', head.size());
        if (line.starts_with(head) && text != line.npos) {
            found.first_line = own.aborted;
            found.text = line.substr(text);
            take(found, true, own);
        }
        own.aborted = {};
    }

    void read_refusal(std::string_view line, error_line& found, source& own) {
        const auto killed = killed_rank(line);
        if (is_secondary(killed)) {
            found.text = killed;  // whoever suffers says so before it is aborted
            keep_silent(found, true);
        } else if (!killed.empty() || is_refusal(line)) {
            found.text = killed.empty() ? line : killed;
            take(found, true, own);
        } else if (const auto code = return_code(line); !code.empty()) {
            found.text = "a rank failed";
            found.detail = code;
            // Python exits with 1 after an error that it names, be that of a victim.
            keep_silent(found, code == "return code = 1");
        }
    }

    /// What a launcher raises once its child has failed: the cause, if no one says more.
    void read_status(error_line found, std::string_view status) {
        constexpr std::array<std::string_view, 2> of_victims{"134", "143"};  // SIGABRT, SIGTERM
        if (std::ranges::find(of_victims, status) == of_victims.end()) {
            found.secondary = false;
            found.raised = true;
            keep_silent(found, true);
        }
    }

    /// The first, the lowest of those that end as it does; none whose pod has named an error.
    void keep_silent(const error_line& found, bool of_victims) {
        const bool before =
            !silent_ || (silent_->detail == found.detail && is_lower(found, *silent_));
        silent_ = before && !has_named_error(found.pod, of_victims) ? found : silent_;
    }

    bool has_named_error(std::string_view pod, bool of_victims) const {
        bool out = false;
        for_each_kept([&](const kept_error& k, bool) {
            const bool names = !k.error.secondary || of_victims;
            out = out || (names && k.error.pod == pod);
        });
        return out;
    }

    void take(const error_line& found, bool refusal, source& own) {
        own.held = found;
        own.held_refusal = refusal;
        own.last_words = false;
        if (!is_of_nccl(found.text)) {
            hand_on(own);
        }
    }

    /// True for a line that belongs to the error of NCCL above it.
    bool goes_on(std::string_view line, std::string_view whole, source& own) {
        const bool words = own.last_words && !line.empty();
        if (!words && (line.starts_with("Last error:") || is_kind_of_nccl(line))) {
            own.last_words = line == "Last error:";
            return true;
        }
        if (words) {
            own.held->detail = line;
            own.held->last_line = whole;
        }
        hand_on(own);
        return words;
    }

    void hand_on(source& own) {
        error_line found = *std::exchange(own.held, std::nullopt);
        found.secondary = found.torn || is_secondary(found.text, found.detail);
        if (const auto status = status_of_child(found.text); !status.empty()) {
            read_status(found, status);
        }
        if (own.held_refusal) {
            keep_refusal(found, own);
        } else {
            keep(found, own);
        }
    }

    /// The first of a source.
    void keep_refusal(const error_line& found, source& own) {
        const error_line& kept = own.refusal.error;
        if (kept.text.empty() || (kept.secondary && !found.secondary)) {
            own.refusal = {found, ++number_};
        }
    }

    void keep(error_line& e, source& own) {
        const chained link = std::exchange(own.link, chained::no);
        const error_line& before = own.last;
        if (link != chained::no && !before.text.empty()) {
            e.secondary = e.secondary || before.secondary;
            if (link != chained::original) {
                const bool first = before.root.empty();
                e.root = first ? before.text : before.root;
                e.root_place = first ? before.place : before.root_place;
                e.while_handling = link == chained::while_handling;
            }
        }
        if (link == chained::no && e.first_line.data() != e.last_line.data()) {
            ++tracebacks_;
        }
        kept_error& slot = e.secondary ? own.consequence : own.cause;
        const bool goes_on = link != chained::no && slot.error.text.data() == before.text.data();
        if (slot.error.text.empty() || !e.rank || goes_on) {
            const bool other =
                !slot.error.text.empty() && !goes_on && !says_same(slot.error.text, e.text);
            e.several = slot.error.several || other;
            slot = {e, ++number_};
        }
        own.last = e;
    }

    std::map<std::string, source> sources_;
    /// The first rank that ended without naming an error, the lowest of those with its code.
    std::optional<error_line> silent_;
    std::size_t number_ = 0;
    std::size_t tracebacks_ = 0;
};

}  // namespace

bool is_same(const error_line& a, const error_line& b) {
    return a.place.file == b.place.file && a.place.line == b.place.line &&
           a.secondary == b.secondary && says_same(a.text, b.text);
}

std::string to_text(const error_line& line) {
    std::string out = std::string(line.text);
    out += line.detail.empty() ? std::string() : ": " + std::string(line.detail);
    out += to_text(line.place);
    if (!line.root.empty()) {
        out += line.while_handling ? ", while handling " : ", caused by ";
        out += std::string(line.root) + to_text(line.root_place);
    }
    return out;
}

namespace {

reader read_all(std::string_view log) {
    reader out;
    for_each_line(log, [&](std::string_view line) { out.read(line); });
    out.end();
    return out;
}

}  // namespace

std::optional<error_line> find_error_line(std::string_view log, std::optional<std::int32_t> rank) {
    return read_all(log).best(rank);
}

heard_errors find_heard_errors(std::string_view log) {
    return read_all(log).heard();
}

}  // namespace signalbox::core::engine
