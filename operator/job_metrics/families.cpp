// SPDX-License-Identifier: Apache-2.0
#include "job_metrics/families.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace signalbox::op {

using prometheus::MetricType;

families& families::begin(const char* name, const char* help, MetricType type) {
    all_.emplace_back();
    all_.back().name = name;
    all_.back().help = help;
    all_.back().type = type;
    return *this;
}

families& families::counter(const char* name, const char* help) {
    return begin(name, help, MetricType::Counter);
}

families& families::gauge(const char* name, const char* help) {
    return begin(name, help, MetricType::Gauge);
}

families& families::add(metric_labels with, double value) {
    prometheus::ClientMetric& m = all_.back().metric.emplace_back();
    m.label = std::move(with);
    (all_.back().type == MetricType::Counter ? m.counter.value : m.gauge.value) = value;
    return *this;
}

void families::append(std::vector<prometheus::MetricFamily> more) {
    all_.insert(
        all_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end())
    );
}

std::string families::text() {
    std::ranges::sort(all_, {}, &prometheus::MetricFamily::name);
    return prometheus::TextSerializer().Serialize(all_);
}

}  // namespace signalbox::op
