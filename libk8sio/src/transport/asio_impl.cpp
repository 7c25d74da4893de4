// SPDX-License-Identifier: Apache-2.0
//
// The bodies of Asio and Beast, compiled once for all units: the macros
// BOOST_ASIO_SEPARATE_COMPILATION and BOOST_BEAST_SEPARATE_COMPILATION of the target
// signalbox_boost leave only declarations everywhere else.

#if !defined(BOOST_ASIO_SEPARATE_COMPILATION) || !defined(BOOST_BEAST_SEPARATE_COMPILATION)
#error "link signalbox_boost: all units must agree on these macros"
#endif

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
