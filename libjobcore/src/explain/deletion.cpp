// SPDX-License-Identifier: Apache-2.0
//
// A job that is being deleted: its objects go by owner references, and whoever set a finalizer
// says when it goes itself (BEHAVIOUR.md 10.1; Kubernetes: garbage collection).
#include "explain/story.hpp"
#include "explain/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace signalbox::core::explaining {
namespace {

constexpr std::string_view rule = "behaviour 10.1";
// Kubernetes' own: how the garbage collector is to go about it.
constexpr std::string_view foreground = "foregroundDeletion";
constexpr std::string_view orphan = "orphan";

std::int64_t count_children(const story& s) {
    const auto ours = [&](const auto* child) { return child->owner_uid == s.job.meta.uid; };
    return std::ranges::count_if(s.seen.pods, ours) + std::ranges::count_if(s.seen.children, ours);
}

void say_children(story& s, std::int64_t left, bool is_foreground, bool is_orphan) {
    const std::string objects = counted(left, "object");
    std::string text;
    if (is_orphan) {
        text = fmt::format("The garbage collector cuts {} of it off, which then stay", objects);
    } else if (is_foreground) {
        text =
            fmt::format("The garbage collector removes {} of it, and the job after them", objects);
    } else {
        text = fmt::format(
            "The garbage collector removes {} of it as soon as the job itself is gone; until then "
            "its pods run on",
            objects
        );
    }
    s.say(explain_section::awaited, std::move(text), rule);
}

void say_finalizers(story& s, const std::vector<std::string>& names) {
    s.say(
        explain_section::awaited,
        fmt::format(
            "The job stays until {} removed from metadata.finalizers, by whoever set {}: {}",
            names.size() == 1 ? "this is" : "these are",
            names.size() == 1 ? "it" : "them",
            fmt::join(names, ", ")
        ),
        rule
    );
}

}  // namespace

void say_deletion(story& s) {
    const job_meta& meta = s.job.meta;
    s.say(
        explain_section::phase,
        fmt::format(
            "{} is being deleted, as asked at {}; the operator does nothing more for it",
            name_of(meta),
            words_of(*meta.deletion_time, s.now)
        ),
        rule
    );
    bool is_foreground = false;
    bool is_orphan = false;
    std::vector<std::string> others;
    for (const std::string& name : meta.finalizers) {
        is_foreground = is_foreground || name == foreground;
        is_orphan = is_orphan || name == orphan;
        if (name != foreground && name != orphan) {
            others.push_back(quoted_text(name));
        }
    }
    const std::int64_t left = count_children(s);
    if (left > 0) {
        say_children(s, left, is_foreground, is_orphan);
    }
    if (!others.empty()) {
        say_finalizers(s, others);
    } else if (left == 0) {
        s.say(
            explain_section::awaited,
            "Nothing of it is left but the job itself, which the API server removes next",
            rule
        );
    }
}

}  // namespace signalbox::core::explaining
