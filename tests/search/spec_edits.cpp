// SPDX-License-Identifier: Apache-2.0
#include "spec_edits.hpp"

#include <algorithm>

namespace signalbox::search {

using test::draft;

std::vector<spec_edit> edits_of_types() {
    return {
        {"as created", [](draft&) {}},
        {"turned round", [](draft& d) { std::ranges::reverse(d.types); }},
        {"first type 0", [](draft& d) { d.types.front().replicas = 0; }},
        {"without the first type", [](draft& d) { d.types.erase(d.types.begin()); }},
        {"without the last type", [](draft& d) { d.types.pop_back(); }},
        {"one more", [](draft& d) { ++d.types.back().replicas; }},
        {"one more type",
         [](draft& d) {
             d.types.push_back({"third", 1, "OnFailure", 1});
         }},
    };
}

std::vector<spec_edit> edits_of_policies() {
    return {
        {"as created", [](draft&) {}},
        {"Never",
         [](draft& d) {
             for (auto& t : d.types) {
                 t.restart = "Never";
             }
         }},
        {"failurePolicy Master", [](draft& d) { d.run_policy["failurePolicy"] = "\"Master\""; }},
        {"restartScope Replica", [](draft& d) { d.run_policy["restartScope"] = "\"Replica\""; }},
        {"restartScope Job", [](draft& d) { d.run_policy["restartScope"] = "\"Job\""; }},
        {"one less", [](draft& d) { d.types.back().replicas -= 1; }},
    };
}

std::vector<spec_edit> edits_of_restarts() {
    return {
        {"as created", [](draft&) {}},
        {"maxRestarts 0", [](draft& d) { d.max_restarts = 0; }},
        {"failurePolicy Master", [](draft& d) { d.run_policy["failurePolicy"] = "\"Master\""; }},
        {"restartScope Job", [](draft& d) { d.run_policy["restartScope"] = "\"Job\""; }},
    };
}

std::vector<spec_edit> edits_of_weights() {
    return {
        {"as created", [](draft&) {}},
        {"turned round", [](draft& d) { std::ranges::reverse(d.types); }},
        {"first type 0", [](draft& d) { d.types.front().weight = 0; }},
        {"without the first type", [](draft& d) { d.types.erase(d.types.begin()); }},
    };
}

}  // namespace signalbox::search
