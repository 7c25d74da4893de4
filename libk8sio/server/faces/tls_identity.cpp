// SPDX-License-Identifier: Apache-2.0
#include "server/faces/tls_identity.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>

namespace signalbox::k8sio::server {
namespace {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* p) const {
        Free(p);
    }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using extension_ptr = std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>>;
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free_all>>;

constexpr long ten_years = 10L * 365 * 24 * 3600;
/// Clocks of clients may be behind ours.
constexpr long an_hour = 3600;

void check(bool ok) {
    if (!ok) {
        throw std::runtime_error("OpenSSL makes no certificate");
    }
}

void add_extension(X509& certificate, int which, const std::string& value) {
    X509V3_CTX about{};
    X509V3_set_ctx(&about, &certificate, &certificate, nullptr, nullptr, 0);
    const extension_ptr made(X509V3_EXT_conf_nid(nullptr, &about, which, value.c_str()));
    check(made != nullptr && X509_add_ext(&certificate, made.get(), -1) == 1);
}

template <class Write, class T>
std::string pem_of(const Write& write, T* from) {
    const bio_ptr text(BIO_new(BIO_s_mem()));
    check(text != nullptr && write(text.get(), from) == 1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(text.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

certificate_ptr make_certificate(EVP_PKEY& key, const std::string& address) {
    certificate_ptr out(X509_new());
    check(out != nullptr);
    X509& c = *out;
    check(X509_set_version(&c, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(&c), 1) == 1);
    check(X509_gmtime_adj(X509_getm_notBefore(&c), -an_hour) != nullptr);
    check(X509_gmtime_adj(X509_getm_notAfter(&c), ten_years) != nullptr);
    check(X509_set_pubkey(&c, &key) == 1);
    X509_NAME* name = X509_get_subject_name(&c);
    const auto* text = reinterpret_cast<const unsigned char*>("signalbox");
    check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1);
    check(X509_set_issuer_name(&c, name) == 1);
    add_extension(c, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(c, NID_subject_alt_name, "IP:" + address + ",IP:127.0.0.1,DNS:localhost");
    check(X509_sign(&c, &key, EVP_sha256()) > 0);
    return out;
}

}  // namespace

tls_identity make_tls_identity(const std::string& address) {
    const key_ptr key(EVP_EC_gen("P-256"));
    check(key != nullptr);
    const certificate_ptr certificate = make_certificate(*key, address);
    tls_identity out;
    out.certificate = pem_of(PEM_write_bio_X509, certificate.get());
    out.key = pem_of(
        [](BIO* to, EVP_PKEY* from) {
            return PEM_write_bio_PrivateKey(to, from, nullptr, nullptr, 0, nullptr, nullptr);
        },
        key.get()
    );
    return out;
}

}  // namespace signalbox::k8sio::server
