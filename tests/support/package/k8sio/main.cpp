// SPDX-License-Identifier: Apache-2.0
//
// A user of libk8sio: names an error. Whether everything links is the question here.
#include <k8sio/error.hpp>

#include <iostream>

#if !defined(BOOST_ASIO_SEPARATE_COMPILATION)
#error "users must see Boost's headers as the library does"
#endif

int main() {
    const auto text = signalbox::k8sio::to_string(signalbox::k8sio::errc::timeout);
    std::cout << text << '\n';
    return text.empty() ? 1 : 0;
}
