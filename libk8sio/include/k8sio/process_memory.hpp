// SPDX-License-Identifier: Apache-2.0
//
// Memory of this process that the kernel may have back. For programs that run for months and are
// idle most of the time.
#pragma once

namespace signalbox::k8sio {

/// Lets the kernel have back the pages of code and constants that were touched so far (most of them
/// by reading the command line, relocation and OpenSSL's configuration), and what the allocator
/// holds free. What is still used comes back with its next use, from the cache of files. To be
/// called when the program has come to its usual work, not again and again.
void release_startup_memory();

/// What the allocator holds free, e.g. after many pods were made at once. Costs about a millisecond
/// for each 30 MB.
void release_free_memory();

}  // namespace signalbox::k8sio
