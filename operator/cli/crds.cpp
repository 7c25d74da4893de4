// SPDX-License-Identifier: Apache-2.0
//
// `signalbox crds` and `signalbox version`.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "manifests/yaml_writer.hpp"

#include <jobcore/schema.hpp>

#include <fmt/ostream.h>

#include <ostream>
#include <signalbox_version.hpp>

namespace signalbox::op::cli {

int crds(std::ostream& out) {
    for (const core::job_kind kind : core::all_job_kinds) {
        fmt::print(out, "---\n{}", manifests::to_yaml(core::crd_json(kind)));
    }
    return exit_ok;
}

int version(std::ostream& out) {
    fmt::print(out, "signalbox {} ({})\n", SIGNALBOX_VERSION, SIGNALBOX_COMMIT);
    return exit_ok;
}

}  // namespace signalbox::op::cli
