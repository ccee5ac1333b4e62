/* SPDX-License-Identifier: MIT */
/*
 * names.h - what libmarker's shared names are called in its objects.
 *
 * In a static program they meet the program's own, and many a program has a ring_create(). Included
 * ahead of each file of libmarker (libmarker/Makefile.mk); a shared library hides its names anyway.
 * test-marker-life.sh checks that none is missing here.
 */
#ifndef LIBMARKER_NAMES_H
#define LIBMARKER_NAMES_H

#define announce_after_fork weft_announce_after_fork
#define announce_class weft_announce_class
#define announce_connect weft_announce_connect
#define announce_is_open weft_announce_is_open
#define announce_no_ring weft_announce_no_ring
#define announce_object weft_announce_object
#define announce_ring weft_announce_ring
#define announce_wait weft_announce_wait
#define confine_fail weft_confine_fail
#define confine_is_inherited weft_confine_is_inherited
#define confine_syscall weft_confine_syscall
#define decide weft_decide
#define decide_is_enabled weft_decide_is_enabled
#define decide_now_ns weft_decide_now_ns
#define decide_prepare weft_decide_prepare
#define decide_settle weft_decide_settle
#define guard_enter weft_guard_enter
#define guard_leave weft_guard_leave
#define guard_unmask weft_guard_unmask
#define note_class_name weft_note_class_name
#define note_is_wanted weft_note_is_wanted
#define note_parse weft_note_parse
#define process weft_process
#define process_check weft_process_check
#define process_count_discarded weft_process_count_discarded
#define process_is_confined weft_process_is_confined
#define process_setup weft_process_setup
#define registry_add_notes weft_registry_add_notes
#define registry_after_fork weft_registry_after_fork
#define registry_announce weft_registry_announce
#define registry_forget_places weft_registry_forget_places
#define registry_settle_places weft_registry_settle_places
#define rendezvous_control_map weft_rendezvous_control_map
#define rendezvous_control_new_instance weft_rendezvous_control_new_instance
#define rendezvous_control_open weft_rendezvous_control_open
#define rendezvous_control_publish weft_rendezvous_control_publish
#define rendezvous_file weft_rendezvous_file
#define rendezvous_folder weft_rendezvous_folder
#define rendezvous_folder_check weft_rendezvous_folder_check
#define rendezvous_may_grow weft_rendezvous_may_grow
#define ring_arm weft_ring_arm
#define ring_commit weft_ring_commit
#define ring_copy weft_ring_copy
#define ring_create weft_ring_create
#define ring_destroy weft_ring_destroy
#define ring_disarm weft_ring_disarm
#define ring_is_left_over weft_ring_is_left_over
#define ring_lane_of weft_ring_lane_of
#define ring_measure weft_ring_measure
#define ring_prefault weft_ring_prefault
#define ring_prepare_pool weft_ring_prepare_pool
#define ring_reserve weft_ring_reserve
#define ring_take_pooled weft_ring_take_pooled
#define ring_ticks weft_ring_ticks
#define ring_write_name weft_ring_write_name
#define rings_after_fork weft_rings_after_fork
#define rings_fork_child weft_rings_fork_child
#define rings_invalidate weft_rings_invalidate
#define rings_kick_others weft_rings_kick_others
#define thread_claim weft_thread_claim
#define thread_has_no_clock weft_thread_has_no_clock
#define thread_is_realtime weft_thread_is_realtime
#define thread_name weft_thread_name
#define thread_none weft_thread_none
#define thread_prepare_loss weft_thread_prepare_loss
#define thread_self weft_thread_self
#define thread_setup weft_thread_setup
#define thread_tell_discarded weft_thread_tell_discarded
#define wait_for_consumer weft_wait_for_consumer

#endif
