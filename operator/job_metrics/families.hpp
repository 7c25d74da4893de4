// SPDX-License-Identifier: Apache-2.0
//
// Metrics as the text format of Prometheus has them: families, one after the other.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace signalbox::op {

using metric_labels = std::vector<prometheus::ClientMetric::Label>;

class families {
public:
    /// The family that add() adds to from then on.
    families& counter(const char* name, const char* help);
    families& gauge(const char* name, const char* help);
    families& add(metric_labels with, double value);
    void append(std::vector<prometheus::MetricFamily> more);
    /// In order of names, as they are looked up by people.
    std::string text();

private:
    families& begin(const char* name, const char* help, prometheus::MetricType type);

    std::vector<prometheus::MetricFamily> all_;
};

template <class Number>
double as_double(Number n) {
    return static_cast<double>(n);
}

}  // namespace signalbox::op
