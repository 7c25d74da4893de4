/* SPDX-License-Identifier: Apache-2.0
 *
 * The door for C. Without arguments: answers requests of the text API, one line in and one line out,
 * by a single call, by the first of a handle and by its second, which must be the same. With `abi`:
 * prints the sizes and values that the header gives programs. With `misuse`: what a caller may do
 * wrong.
 */
#include <signalbox/jobcore.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a caller was compiled with: a function that takes other arguments is an error here. */
static const char* (*const version)(void) = signalbox_jobcore_version;
static const char* (*const api_version)(void) = signalbox_jobcore_api_version;
static int (*const call)(const char*, size_t, signalbox_jobcore_text*) = signalbox_jobcore_call;
static void (*const give_back)(signalbox_jobcore_text*) = signalbox_jobcore_free;
static int (*const open_job)(signalbox_jobcore_job**) = signalbox_jobcore_open;
static int (*const job_call)(
    signalbox_jobcore_job*, const char*, size_t, signalbox_jobcore_text*
) = signalbox_jobcore_job_call;
static void (*const close_job)(signalbox_jobcore_job*) = signalbox_jobcore_close;

static void require(int holds, const char* what) {
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        exit(1);
    }
}

static int is_empty(const signalbox_jobcore_text* text) {
    return text->data == NULL && text->size == 0;
}

static void print_abi(void) {
    printf("size signalbox_jobcore_text %zu\n", sizeof(signalbox_jobcore_text));
    printf("offset signalbox_jobcore_text.data %zu\n", offsetof(signalbox_jobcore_text, data));
    printf("offset signalbox_jobcore_text.size %zu\n", offsetof(signalbox_jobcore_text, size));
    printf("value SIGNALBOX_JOBCORE_OK %d\n", SIGNALBOX_JOBCORE_OK);
    printf("value SIGNALBOX_JOBCORE_BAD_ARGUMENT %d\n", SIGNALBOX_JOBCORE_BAD_ARGUMENT);
    printf("value SIGNALBOX_JOBCORE_NO_MEMORY %d\n", SIGNALBOX_JOBCORE_NO_MEMORY);
    printf("value SIGNALBOX_JOBCORE_DEFECT %d\n", SIGNALBOX_JOBCORE_DEFECT);
}

static void misuse(void) {
    const int bad = SIGNALBOX_JOBCORE_BAD_ARGUMENT;
    signalbox_jobcore_text answer = {NULL, 7};
    signalbox_jobcore_job* job = NULL;
    require(call("{}", 2, NULL) == bad, "an answer needs a place");
    require(call(NULL, 1, &answer) == bad && is_empty(&answer), "no request of one byte");
    require(open_job(NULL) == bad, "a handle needs a place");
    require(open_job(&job) == SIGNALBOX_JOBCORE_OK && job != NULL, "a handle is opened");
    answer.size = 7;
    require(job_call(NULL, "{}", 2, &answer) == bad && is_empty(&answer), "no handle");
    require(job_call(NULL, "{}", 2, NULL) == bad, "neither handle nor place");
    require(job_call(job, "{}", 2, NULL) == bad, "an answer of a handle needs a place");
    require(job_call(job, NULL, 1, &answer) == bad && is_empty(&answer), "no request of a handle");
    if (sizeof(size_t) > 4) {
        require(call("{}", (size_t)1 << 31, &answer) == bad && is_empty(&answer), "too long");
    }
    require(call(NULL, 0, &answer) == SIGNALBOX_JOBCORE_OK, "an empty request is answered");
    require(strstr(answer.data, "no JSON") != NULL, "by an error");
    require(answer.data[answer.size] == '\0', "an answer has a NUL behind it");
    close_job(job);
    close_job(NULL);
    require(answer.size == strlen(answer.data), "answers outlive handles");
    give_back(&answer);
    require(is_empty(&answer), "what was given back is gone");
    give_back(&answer);
    give_back(NULL);
    require(call("{}x", 2, &answer) == SIGNALBOX_JOBCORE_OK, "no NUL is needed, nor looked for");
    require(strstr(answer.data, "no JSON") == NULL, "the request ends where it was said");
    give_back(&answer);
    printf("%s %s\n", version(), api_version());
}

static int same(const signalbox_jobcore_text* a, const signalbox_jobcore_text* b) {
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static void answer_line(const char* line, size_t size) {
    signalbox_jobcore_text single, first, second;
    signalbox_jobcore_job* job;
    require(call(line, size, &single) == SIGNALBOX_JOBCORE_OK, "a line is answered");
    require(open_job(&job) == SIGNALBOX_JOBCORE_OK, "a handle is opened");
    require(job_call(job, line, size, &first) == SIGNALBOX_JOBCORE_OK, "a handle answers");
    require(job_call(job, line, size, &second) == SIGNALBOX_JOBCORE_OK, "it answers again");
    require(same(&single, &first) && same(&single, &second), "a handle gives the same answer");
    close_job(job);
    printf("%s\n", single.data);
    fflush(stdout);
    give_back(&single);
    give_back(&first);
    give_back(&second);
}

static void answer_lines(void) {
    size_t size = 0, room = 1 << 16;
    char* line = malloc(room);
    int c;
    require(line != NULL, "memory for a line");
    while ((c = getchar()) != EOF) {
        if (c == '\n') {
            answer_line(line, size);
            size = 0;
            continue;
        }
        if (size == room) {
            room *= 2;
            line = realloc(line, room);
            require(line != NULL, "memory for a line");
        }
        line[size++] = (char)c;
    }
    free(line);
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "abi") == 0) {
        print_abi();
    } else if (argc == 2 && strcmp(argv[1], "misuse") == 0) {
        misuse();
    } else {
        answer_lines();
    }
    return 0;
}
