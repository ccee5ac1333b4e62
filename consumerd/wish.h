/* SPDX-License-Identifier: MIT */
/*
 * wish.h - what all sessions together want of the programs, onto the control page.
 */
#ifndef CONSUMERD_WISH_H
#define CONSUMERD_WISH_H

#include "consumerd/session.h"
#include "libmarker/rendezvous.h"

/* As rendezvous.h has it; its patterns are the text. */
struct wish {
	struct control_wish control;
	char text[CONTROL_PATTERNS_SIZE];
};

/**
 * wish_unite() - the union of the sessions' wishes.
 * @sessions: SESSION_MAX slots, NULL where there is none
 * Return: how many sessions there are; -E2BIG: more patterns than fit on the page.
 */
int wish_unite(struct session *const *sessions, enum clock_kind clock, struct wish *ret_wish);

/**
 * wish_publish() - that, onto a page under a new generation; 0 without sessions.
 * Return: 0 or -E2BIG: more patterns than fit on the page.
 */
int wish_publish(struct control_page *page, struct session *const *sessions, enum clock_kind clock);

#endif
