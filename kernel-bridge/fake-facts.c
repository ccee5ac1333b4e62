/* SPDX-License-Identifier: MIT */
/*
 * fake-facts.c - a script's statements that stand in the sidecar.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "kernel-bridge/fake-words.h"

static int take_fact_time(struct fake_parser *parser, uint64_t *ret_ns)
{
	const struct fake_token *token = fake_take(parser, "time");

	return token ? fake_parse_time(parser, token->value, ret_ns) : 0;
}

int fake_parse_thread(struct fake_parser *parser)
{
	struct sidecar_thread thread = {.tid = -1, .pid = -1, .policy = -1, .priority = -1};
	int32_t policy = -1, priority = -1, has_markers = 0;
	char state[2] = "";
	struct sidecar_thread *slot;

	if (fake_take_s32(parser, "tid", &thread.tid) < 0 ||
	    fake_take_s32(parser, "pid", &thread.pid) < 0)
		return -EINVAL;
	if (thread.tid < 0)
		return fake_fail(parser, "a thread needs tid=");
	if (thread.pid < 0)
		thread.pid = thread.tid;
	thread.vtid = thread.tid;
	thread.vpid = thread.pid;
	if (fake_take_s32(parser, "vtid", &thread.vtid) < 0 ||
	    fake_take_s32(parser, "vpid", &thread.vpid) < 0 ||
	    fake_take_s32(parser, "policy", &policy) < 0 ||
	    fake_take_s32(parser, "priority", &priority) < 0 ||
	    fake_take_s32(parser, "markers", &has_markers) < 0 ||
	    fake_take_text(parser, "comm", thread.comm, sizeof(thread.comm)) < 0 ||
	    fake_take_text(parser, "name", thread.name, sizeof(thread.name)) < 0 ||
	    fake_take_text(parser, "state", state, sizeof(state)) < 0 ||
	    take_fact_time(parser, &thread.ns) < 0)
		return -EINVAL;
	thread.policy = policy;
	thread.priority = priority;
	thread.has_markers = has_markers != 0;
	thread.state = state[0];
	slot = array_push(&parser->script->facts.threads);
	if (!slot)
		return fake_no_memory(parser);
	*slot = thread;
	return 0;
}

int fake_parse_process(struct fake_parser *parser)
{
	struct sidecar_process process = {.pid = -1}, *slot;

	if (fake_take_s32(parser, "pid", &process.pid) < 0 ||
	    fake_take_s32(parser, "ppid", &process.ppid) < 0 ||
	    fake_take_text(parser, "exe", process.exe, sizeof(process.exe)) < 0 ||
	    fake_take_text(parser, "command", process.command, sizeof(process.command)) < 0 ||
	    take_fact_time(parser, &process.ns) < 0)
		return -EINVAL;
	if (process.pid < 0)
		return fake_fail(parser, "a process needs pid=");
	slot = array_push(&parser->script->facts.processes);
	if (!slot)
		return fake_no_memory(parser);
	*slot = process;
	return 0;
}

static int take_address(struct fake_parser *parser, const char *key, uint64_t *ret_address)
{
	const struct fake_token *token = fake_take(parser, key);

	return token ? fake_parse_u64(parser, token->value, ret_address)
		     : fake_fail(parser, "a map needs %s=", key);
}

int fake_parse_map(struct fake_parser *parser)
{
	struct sidecar_map map = {.pid = -1}, *slot;

	if (fake_take_s32(parser, "pid", &map.pid) < 0 ||
	    take_address(parser, "begin", &map.begin) < 0 ||
	    take_address(parser, "end", &map.end) < 0 ||
	    fake_take_text(parser, "path", map.path, sizeof(map.path)) < 0 ||
	    take_fact_time(parser, &map.ns) < 0)
		return -EINVAL;
	if (map.pid < 0)
		return fake_fail(parser, "a map needs pid=");
	slot = array_push(&parser->script->facts.maps);
	if (!slot)
		return fake_no_memory(parser);
	*slot = map;
	return 0;
}

int fake_parse_irq(struct fake_parser *parser)
{
	const struct fake_token *number = fake_take_bare(parser), *name = fake_take_bare(parser);
	struct sidecar_irq irq = {0}, *slot;
	uint64_t value;

	if (!number || !name)
		return fake_fail(parser, "irq NUMBER \"NAME\" [pci=\"...\"]");
	if (fake_parse_u64(parser, number->value, &value) < 0 ||
	    fake_take_text(parser, "pci", irq.pci, sizeof(irq.pci)) < 0)
		return -EINVAL;
	if (value > INT32_MAX || name->size >= sizeof(irq.name))
		return fake_fail(parser, "irq %s: number or name is too long", number->value);
	irq.irq = (int32_t)value;
	strcpy(irq.name, name->value);
	slot = array_push(&parser->script->facts.irqs);
	if (!slot)
		return fake_no_memory(parser);
	*slot = irq;
	return 0;
}

int fake_parse_device(struct fake_parser *parser)
{
	const struct fake_token *number = fake_take_bare(parser), *name = fake_take_bare(parser);
	struct sidecar_device device = {0}, *slot;
	int end = 0;

	if (!number || !name ||
	    sscanf(number->value, "%" SCNu32 ":%" SCNu32 "%n", &device.major, &device.minor,
		   &end) != 2 ||
	    number->value[end] || name->size >= sizeof(device.name))
		return fake_fail(parser, "device MAJOR:MINOR NAME");
	strcpy(device.name, name->value);
	slot = array_push(&parser->script->facts.devices);
	if (!slot)
		return fake_no_memory(parser);
	*slot = device;
	return 0;
}

int fake_parse_header(struct fake_parser *parser)
{
	struct sidecar_header *header = &parser->script->facts.header;
	int32_t nr_cpus = header->nr_cpus;

	if (fake_take_text(parser, "command", header->command, sizeof(header->command)) < 0 ||
	    fake_take_text(parser, "missing", header->missing, sizeof(header->missing)) < 0 ||
	    fake_take_text(parser, "clock", header->clock, sizeof(header->clock)) < 0 ||
	    fake_take_s32(parser, "command_pid", &header->command_pid) < 0 ||
	    fake_take_s32(parser, "nr_cpus", &nr_cpus) < 0)
		return -EINVAL;
	header->nr_cpus = nr_cpus;
	return 0;
}
