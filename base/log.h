/* SPDX-License-Identifier: MIT */
/*
 * log.h - one line a message, to stderr: what, where and what to do.
 *
 * Only the one who can act, or who talks to a person, logs; libraries return -errno.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level {
	LOG_ERROR,   /* the user lost something */
	LOG_WARNING, /* the user will */
	LOG_INFO,    /* once per session */
	LOG_DEBUG,
};

/**
 * log_setup() - names the program and the most talkative level that is printed.
 * @program: printed before each message, borrowed for the life of the process
 * @level: LOG_WARNING until set
 */
void log_setup(const char *program, enum log_level level);

/* Prints "program: message\n". Keeps errno. */
__attribute__((format(printf, 2, 3))) void log_message(enum log_level level, const char *format,
						       ...);

#define log_error(...) log_message(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)

#endif
