/* SPDX-License-Identifier: MIT */
/*
 * record-patterns.h - which of the markers asked for were not found.
 */
#ifndef CLI_RECORD_PATTERNS_H
#define CLI_RECORD_PATTERNS_H

/* Names on stderr, in one line, the patterns of -m that no marker recorded in @dir matches.
 * @patterns: NULL-terminated; "!..." is not looked for */
void patterns_say_unmatched(const char *dir, const char *const *patterns);

#endif
