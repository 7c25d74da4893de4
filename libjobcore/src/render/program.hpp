// SPDX-License-Identifier: Apache-2.0
//
// A prepared object: JSON text with numbered gaps. What differs between the pods of a type (name,
// index, attempt, rank) fills the gaps, so that rendering one pod is a copy of text, whatever the
// size of the template. Gaps are found by the identity of a value in the document, never by looking
// for characters: no text of a user can be mistaken for one.
#pragma once

#include "json/json.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

/// What fills a gap.
enum class filling : std::uint8_t {
    pod_name,  ///< with the suffix of a rename
    hostname,  ///< the same without it (BEHAVIOUR.md 1.3)
    address,   ///< `<hostname>.<subdomain>`, which resolves within the namespace
    index,     ///< within the type
    attempt,
    round,
    rank,          ///< index over all types in spec order (BEHAVIOUR.md 3.5)
    world_size,    ///< number of pods in force
    gang_minimum,  ///< pods that must start together (BEHAVIOUR.md 8.6)
    world_info,    ///< the slots of all pods in force, as `launch.py` reads it (LAUNCH.md 2.1)
};

/// Text and gaps; see expand.
struct program {
    struct gap {
        std::size_t offset;  ///< in `text`, where the value goes
        filling what;
    };
    std::string text;
    std::vector<gap> gaps;

    /// Appends the text with each gap filled by `fill(what, out)`.
    template <class Fill>
    void expand(std::string& out, Fill&& fill) const {
        std::size_t done = 0;
        for (const gap& g : gaps) {
            out.append(text, done, g.offset - done);
            fill(g.what, out);
            done = g.offset;
        }
        out.append(text, done);
    }
};

/// Makes values that stand for gaps and turns documents that contain them into programs. Must
/// outlive the documents.
class program_builder {
public:
    /// A string value `<prefix><what fills the gap>`. Only for gaps whose text needs no escaping.
    json::value mark(filling what, std::string prefix = {});

    program build(const json::value& document) const;

private:
    struct marker {
        char identity[2];
        filling what;
        std::string prefix;
    };
    std::deque<marker> markers_;  // stable addresses: a value is known by where its text lies

    friend class program_writer;
};

}  // namespace signalbox::core
