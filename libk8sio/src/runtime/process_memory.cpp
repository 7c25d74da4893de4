// SPDX-License-Identifier: Apache-2.0
#include "k8sio/process_memory.hpp"

#include <sys/mman.h>

#include <cstdint>

#include <link.h>
#include <malloc.h>
#include <unistd.h>

namespace signalbox::k8sio {

namespace {

const void* at(ElfW(Addr) address) {
    return reinterpret_cast<const void*>(address);  // NOLINT: the loader counts in addresses
}

/// Its code was written to when it was loaded, and is not that of the file.
bool has_relocated_code(const dl_phdr_info& object, const ElfW(Phdr) & dynamic) {
    const auto* entry = static_cast<const ElfW(Dyn)*>(at(object.dlpi_addr + dynamic.p_vaddr));
    for (; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_TEXTREL ||
            (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0)) {
            return true;
        }
    }
    return false;
}

/// Segments that are read-only are as the file has them: nothing of them is lost.
int release_object(dl_phdr_info* object, std::size_t, void*) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto* const end = object->dlpi_phdr + object->dlpi_phnum;
    for (const auto* part = object->dlpi_phdr; part != end; ++part) {
        if (part->p_type == PT_DYNAMIC && has_relocated_code(*object, *part)) {
            return 0;
        }
    }
    for (const auto* part = object->dlpi_phdr; part != end; ++part) {
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) == 0) {
            const std::uintptr_t first = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
            const std::uintptr_t last = object->dlpi_addr + part->p_vaddr + part->p_memsz;
            ::madvise(const_cast<void*>(at(first)), last - first, MADV_DONTNEED);
        }
    }
    return 0;
}

}  // namespace

void release_startup_memory() {
    ::dl_iterate_phdr(release_object, nullptr);
    release_free_memory();
}

void release_free_memory() {
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
}

}  // namespace signalbox::k8sio
