/* SPDX-License-Identifier: MIT */
/*
 * message.h - the text of a message (MARKER_LOG): its class's format and its fields, put together
 * when somebody reads it.
 */
#ifndef TRACE_MESSAGE_H
#define TRACE_MESSAGE_H

#include "trace/model.h"

#define MESSAGE_MAX_SIZE 4096

/**
 * message_format() - as printf() would have written it, cut at MESSAGE_MAX_SIZE - 1 bytes.
 * @event: of a class with a format; its payload is known to be whole
 * @text: MESSAGE_MAX_SIZE bytes
 * Return: bytes written, without the NUL.
 *
 * The format is foreign: a conversion takes the next field whatever its type, one without a field
 * stands as it is, %n writes nothing.
 */
size_t message_format(const struct trace_event *event, char *text);

#endif
