// SPDX-License-Identifier: Apache-2.0
//
// The bodies of fmt that libjobcore uses, so that the shared library needs no libfmt: Debian has
// that as a shared library alone. What is missing here is taken from libfmt; the test of the ABI
// tells it.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template auto decimal_point_impl(locale_ref) -> char;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
}  // namespace detail
FMT_END_NAMESPACE
