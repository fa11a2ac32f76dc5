/* SPDX-License-Identifier: Apache-2.0
 *
 * Claims of a program, in C and in C++: it prints those that do not hold, and ends with 1 then. */

#pragma once

#include <stdio.h>
#include <string.h>

static int claims_failed = 0;

static inline void claim(int holds, const char* text, const char* more, int line) {
    if (!holds) {
        claims_failed = 1;
        printf("line %d: %s%s%s\n", line, text, more[0] != '\0' ? ": " : "", more);
    }
}

#define CLAIM(condition) claim((condition) ? 1 : 0, #condition, "", __LINE__)
/* The status, and that the message has the words in it. */
#define CLAIM_REFUSAL(call, code, words)                                                        \
    do {                                                                                        \
        halyard_message message;                                                                \
        memset(&message, 'x', sizeof message);                                                  \
        claim((call) == (code), #call " == " #code, message.text, __LINE__);                    \
        claim(strstr(message.text, (words)) != NULL, #call " says \"" words "\"", message.text, \
              __LINE__);                                                                        \
    } while (0)
#define CLAIM_OK(call) CLAIM_REFUSAL(call, HALYARD_OK, "")
