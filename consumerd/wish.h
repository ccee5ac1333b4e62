/* SPDX-License-Identifier: MIT */
/*
 * wish.h - what all sessions together want of the programs, onto the control page.
 */
#ifndef CONSUMERD_WISH_H
#define CONSUMERD_WISH_H

#include "consumerd/session.h"
#include "libmarker/wire.h"

/**
 * wish_publish() - the union of the sessions' wishes, under a new generation; 0 without sessions.
 * @sessions: SESSION_MAX slots, NULL where there is none
 * Return: 0 or -E2BIG: more patterns than fit on the page.
 */
int wish_publish(struct control_page *page, struct session *const *sessions, enum clock_kind clock);

#endif
