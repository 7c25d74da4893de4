// SPDX-License-Identifier: Apache-2.0
//
// An explanation of a story, and how tests look at it.
#pragma once

#include "engine/jobs.hpp"
#include "jobcore/explain.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::test {

class explained {
public:
    explicit explained(world& w) {
        std::vector<const core::pod_record*> pods;
        for (const auto& p : w.pods()) {
            pods.push_back(&p);
        }
        std::vector<const core::child_record*> children;
        for (const auto& c : w.children()) {
            children.push_back(&c);
        }
        const core::observed seen{pods, children, w.refusals, w.absences, w.served, w.no_room};
        lines_ = core::explain(w.job(), seen, w.rules(), w.now());
        std::ranges::reverse(pods);
        std::ranges::reverse(children);
        const core::observed turned{pods, children, w.refusals, w.absences, w.served, w.no_room};
        same_when_turned_ = core::explain(w.job(), turned, w.rules(), w.now()) == lines_;
    }

    const std::vector<core::explain_line>& lines() const { return lines_; }
    /// The order of what was observed does not matter.
    bool same_when_turned() const { return same_when_turned_; }

    /// Some sentence of the section has this text.
    bool says(core::explain_section section, std::string_view text) const {
        return std::ranges::any_of(lines_, [&](const core::explain_line& line) {
            return line.section == section && line.sentence.find(text) != std::string::npos;
        });
    }
    std::size_t count(core::explain_section section) const {
        return static_cast<std::size_t>(
            std::ranges::count(lines_, section, &core::explain_line::section)
        );
    }
    /// Everything, for messages of failed checks.
    std::string text() const {
        std::string out;
        for (const auto& line : lines_) {
            out += std::string(core::to_string(line.section)) + ": " + line.sentence + " [" +
                   std::string(line.rule) + "]\n";
        }
        return out;
    }

private:
    std::vector<core::explain_line> lines_;
    bool same_when_turned_ = false;
};

}  // namespace signalbox::test
