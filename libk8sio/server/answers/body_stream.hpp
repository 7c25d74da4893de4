// SPDX-License-Identifier: Apache-2.0
//
// The body of an answer that is made piece by piece: a watch, a log.
#pragma once

#include "k8sio/http_listener.hpp"

namespace signalbox::k8sio::server {

class body_stream : public answer_stream {
public:
    /// Whether its end comes by itself: a reader of whole answers waits for that, and of a watch
    /// takes what there is now.
    virtual bool ends() const = 0;
    /// Ends the stream, as a server that shuts down does.
    virtual void finish() = 0;
};

}  // namespace signalbox::k8sio::server
