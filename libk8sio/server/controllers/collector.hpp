// SPDX-License-Identifier: Apache-2.0
//
// The controllers without which deletion does not work: the owner-reference garbage collector and
// the namespace controller. They act some time after the write that makes them necessary
// (server_options::gc_delay), as an event of their own.
#pragma once

#include "server/model/model.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <string>

namespace signalbox::k8sio::server {

class collector {
public:
    /// `world` must outlive it.
    collector(boost::asio::any_io_executor executor, model& world, std::chrono::nanoseconds delay);
    ~collector();

    void on_write(const resource_table& table, const history_event& event);

private:
    void enqueue_object(const std::string& uid);
    void enqueue_namespace(const std::string& name);
    void schedule();
    void run();
    void visit_object(const std::string& uid);
    void visit_namespace(const std::string& name);
    void delete_dependents(const record& owner);
    void orphan_dependents(const record& owner);
    /// Deletes the object if none of its owners stays; one that does not exist does not stay.
    void visit_dependent(const store::place& item);
    void drop_finalizer(const std::string& uid, std::string_view finalizer);
    void drop_owners(const store::place& item, const std::set<std::string>& gone);

    boost::asio::any_io_executor executor_;
    model* world_;
    std::chrono::nanoseconds delay_;
    std::deque<std::string> objects_;
    std::set<std::string> queued_objects_;
    std::deque<std::string> namespaces_;
    std::set<std::string> queued_namespaces_;
    bool scheduled_ = false;
    clock::timer_id timer_ = 0;
    /// Posted work holds a weak reference: it does nothing once the collector is gone.
    std::shared_ptr<collector*> self_;
};

}  // namespace signalbox::k8sio::server
