// SPDX-License-Identifier: Apache-2.0
//
// The rule books by number: libjobcore/BEHAVIOUR.md and LAUNCH.md, libk8sio/REQUIREMENTS.md. A
// heading such as `## 5. Failure` begins a chapter and `### 5.8 Delays` a rule; those of the API
// have `api` before their number, invariants and requirements a letter in it.
#pragma once

#include "cli/embedded_text.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::cli {

/// A chapter or a rule. The texts are those of the books and live as long as they do.
struct rule_entry {
    std::string_view path;    ///< of the book
    std::string_view series;  ///< `behaviour`, `api`, `launch`, `requirement`
    std::string number;       ///< `5.8`, `I7`; of a chapter `5`, `T`, or its title in lower case
    std::string_view title;
    std::string_view text;  ///< Markdown between this heading and the next
    bool is_chapter = false;
    bool has_number = false;  ///< else it goes by its title
    std::size_t chapter = 0;  ///< index of the chapter that a rule is in

    /// As it is cited: `behaviour 5.8`, `api 6.3`, `I7`.
    std::string name() const;
};

/// The chapters and rules of all books, in their order.
std::vector<rule_entry> read_rule_books(std::span<const embedded_text> books);

/// What was asked for.
struct rule_choice {
    std::vector<std::size_t> entries;  ///< indexes of `book`
    std::vector<std::string> errors;   ///< what names nothing, and what would
};

/// Finds rules by what a user typed: `5.8`, `behaviour 5.8 5.9`, `BEHAVIOUR.md api 6.3`, `[I7]`,
/// `5.2-5.4`. A word holds for the numbers after it.
rule_choice choose_rules(std::span<const rule_entry> book, std::span<const std::string> arguments);

}  // namespace signalbox::op::cli
