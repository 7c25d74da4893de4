// SPDX-License-Identifier: Apache-2.0
//
// A report as text, JSON and HTML. Of what others wrote a terminal obeys nothing (BEHAVIOUR.md
// 11.4), and nothing of it is markup.
#pragma once

#include "cli/report/job_report.hpp"

#include <iosfwd>

namespace signalbox::op::report {

void print_text(const whole_report& report, std::ostream& out);
void print_json(const whole_report& report, std::ostream& out);
/// One file that needs no other and no network.
void print_html(const whole_report& report, std::ostream& out);

}  // namespace signalbox::op::report
