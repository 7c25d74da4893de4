/* SPDX-License-Identifier: Apache-2.0
 *
 * libjobcore for programs in C, and for every language that calls C: JSON in, JSON out. The file
 * text-api.schema.json, installed in share/signalbox, describes both texts.
 *
 * Nothing here has state but the handles that callers open; any thread may call at any time, but
 * one handle takes one call at a time. No exception leaves the library. Within the version 1 of its
 * symbols (SIGNALBOX_JOBCORE_1) functions are added, and none is changed or taken away.
 */
#ifndef SIGNALBOX_JOBCORE_H
#define SIGNALBOX_JOBCORE_H

#include <stddef.h>

#if defined(__GNUC__)
#define SIGNALBOX_JOBCORE_EXPORT __attribute__((visibility("default")))
#else
#define SIGNALBOX_JOBCORE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. A request that is wrong, and a job that is, are no errors of a call: the
 * answer says so. */
#define SIGNALBOX_JOBCORE_OK 0
/* A null pointer where none may be, or a request longer than 2147483647 bytes. */
#define SIGNALBOX_JOBCORE_BAD_ARGUMENT 1
#define SIGNALBOX_JOBCORE_NO_MEMORY 2
/* A defect of the library. */
#define SIGNALBOX_JOBCORE_DEFECT 3

/* An answer: JSON in UTF-8, with a NUL behind it that `size` does not count. The caller's, until it
 * gives it to signalbox_jobcore_free. */
typedef struct signalbox_jobcore_text {
    char* data;
    size_t size;
} signalbox_jobcore_text;

/* What is kept of one job between calls. */
typedef struct signalbox_jobcore_job signalbox_jobcore_job;

/* Version of the library, as `0.1.0`. Static. */
SIGNALBOX_JOBCORE_EXPORT const char* signalbox_jobcore_version(void);

/* Version of the texts, `apiVersion` of every request and answer. Static. */
SIGNALBOX_JOBCORE_EXPORT const char* signalbox_jobcore_api_version(void);

/* Answers one request: `validate`, `plan`, `decide` or `explain`. `request` has `size` bytes, needs
 * no NUL, may be null if `size` is 0, and is not needed after the call. `answer` is set, to
 * {NULL, 0} where the result is not SIGNALBOX_JOBCORE_OK. The same request has the same answer. */
SIGNALBOX_JOBCORE_EXPORT int signalbox_jobcore_call(
    const char* request, size_t size, signalbox_jobcore_text* answer
);

/* Gives an answer back and sets it to {NULL, 0}. Null, or an answer given back already, is
 * nothing. */
SIGNALBOX_JOBCORE_EXPORT void signalbox_jobcore_free(signalbox_jobcore_text* answer);

/* Opens a handle for one job, about which requests will come again and again. `job` is set, to null
 * where the result is not SIGNALBOX_JOBCORE_OK. */
SIGNALBOX_JOBCORE_EXPORT int signalbox_jobcore_open(signalbox_jobcore_job** job);

/* As signalbox_jobcore_call, for the job of the handle. Its specification is compiled once, as long
 * as its UID, generation, specification and annotations stay; when it has changed, the change is
 * noticed if it is one that may not be made (BEHAVIOUR.md 10.2), which a single call cannot see.
 * A job of another UID takes the place of the one before. */
SIGNALBOX_JOBCORE_EXPORT int signalbox_jobcore_job_call(
    signalbox_jobcore_job* job, const char* request, size_t size, signalbox_jobcore_text* answer
);

/* Closes the handle; null is nothing. Answers stay. */
SIGNALBOX_JOBCORE_EXPORT void signalbox_jobcore_close(signalbox_jobcore_job* job);

#ifdef __cplusplus
}
#endif

#endif
