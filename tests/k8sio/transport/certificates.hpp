// SPDX-License-Identifier: Apache-2.0
//
// Certificates made by the test that uses them.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace signalbox::k8sio::test {

class certificate {
public:
    /// Signed by `issuer`, or by itself if there is none. `names`: `DNS:a,IP:127.0.0.1`; empty: an
    /// authority. `expired`: valid until yesterday.
    certificate(
        const std::string& common_name,
        const std::string& names,
        const certificate* issuer,
        bool expired = false
    )
        : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), x509_(X509_new(), X509_free) {
        X509* x = x509_.get();
        static long serial = 1;
        X509_set_version(x, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
        X509_gmtime_adj(X509_getm_notBefore(x), -86400 * 2);
        X509_gmtime_adj(X509_getm_notAfter(x), expired ? -86400 : 86400);
        X509_set_pubkey(x, key_.get());
        X509_NAME* name = X509_get_subject_name(x);
        const auto* bytes = reinterpret_cast<const unsigned char*>(common_name.c_str());
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, bytes, -1, -1, 0);
        X509_set_issuer_name(x, issuer ? X509_get_subject_name(issuer->x509_.get()) : name);
        extend(NID_basic_constraints, names.empty() ? "critical,CA:TRUE" : "CA:FALSE");
        if (!names.empty()) {
            extend(NID_subject_alt_name, names.c_str());
        }
        X509_sign(x, issuer ? issuer->key_.get() : key_.get(), EVP_sha256());
    }

    std::string pem() const {
        BIO* out = BIO_new(BIO_s_mem());
        PEM_write_bio_X509(out, x509_.get());
        return take(out);
    }
    std::string key_pem() const {
        BIO* out = BIO_new(BIO_s_mem());
        PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
        return take(out);
    }

private:
    void extend(int nid, const char* value) {
        X509V3_CTX context;
        X509V3_set_ctx(&context, x509_.get(), x509_.get(), nullptr, nullptr, 0);
        X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
        X509_add_ext(x509_.get(), made, -1);
        X509_EXTENSION_free(made);
    }
    static std::string take(BIO* bio) {
        std::string text(BIO_ctrl_pending(bio), '\0');
        BIO_read(bio, text.data(), static_cast<int>(text.size()));
        BIO_free(bio);
        return text;
    }

    std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
    std::unique_ptr<X509, decltype(&X509_free)> x509_;
};

}  // namespace signalbox::k8sio::test
