/* SPDX-License-Identifier: MIT */
/*
 * packet.h - the bytes of a packet and of an event's head on disk (doc/FORMAT.md, "Packets").
 *
 *	packet header   magic u32, uuid u8[16], stream_id u32, stream_instance_id u64
 *	packet context  timestamp_begin, timestamp_end, content_size, packet_size (bits),
 *	                packet_seq_num, events_discarded, all u64; kernel: cpu_id u32
 *	events          event header, event context, payload; no padding in between
 *
 * Internal to trace/.
 */
#ifndef TRACE_PACKET_H
#define TRACE_PACKET_H

#include <endian.h>
#include <string.h>

#include "trace/model.h"

#define PACKET_MAGIC 0xc1fc1fc1u
#define PACKET_UUID_SIZE 16
#define PACKET_MAX_HEADER 84
/* No writer of ours makes larger ones; a larger size in a file is damage. */
#define PACKET_MAX_SIZE (64u << 20)
#define PACKET_ALIGN 8u

/*
 * Event headers. Kernel: "small", 8 bits of id, 24 of time; in format 1 "large", 16 and 32, which
 * is only read. User: "compact", 5 and 27.
 */
#define SMALL_EXTENDED_ID 0xffu
#define SMALL_TIME_BITS 24
#define LARGE_EXTENDED_ID 0xffffu
#define LARGE_TIME_BITS 32
#define COMPACT_EXTENDED_ID 31u
#define COMPACT_TIME_BITS 27
#define SMALL_COMPACT_SIZE 4u
#define SMALL_EXTENDED_SIZE 13u
#define LARGE_COMPACT_SIZE 6u
#define LARGE_EXTENDED_SIZE 14u
#define COMPACT_COMPACT_SIZE 4u
#define COMPACT_EXTENDED_SIZE 13u
#define EVENT_MAX_HEADER 14u

/*
 * Event context. Kernel: tid 22 bits (Linux has none above 2^22 - 1), context 2 bits, which are
 * CONTEXT_HARDIRQ and CONTEXT_SOFTIRQ moved down; in format 1 tid s32, context u8. User: vpid 24
 * bits, vtid 24 bits; in format 1 s32 each.
 */
#define KERNEL_TID_BITS 22
#define KERNEL_CONTEXT_SHIFT 3
#define KERNEL_CONTEXT_SIZE 3u
#define KERNEL_CONTEXT_SIZE_1 5u
#define USER_ID_BITS 24
#define USER_CONTEXT_SIZE 6u
#define USER_CONTEXT_SIZE_1 8u
#define EVENT_MAX_CONTEXT 6u

struct packet_info {
	uint64_t instance; /* of the stream within its domain */
	uint64_t begin_ns, end_ns;
	uint32_t content_size, size; /* bytes, header included */
	uint64_t number;	     /* packet_seq_num */
	uint64_t discarded;	     /* cumulative */
	uint32_t cpu;		     /* kernel */
};

static inline void put_u16(uint8_t *bytes, uint16_t value)
{
	value = htole16(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void put_u32(uint8_t *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void put_u64(uint8_t *bytes, uint64_t value)
{
	value = htole64(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void put_u24(uint8_t *bytes, uint32_t value)
{
	put_u16(bytes, (uint16_t)value);
	bytes[2] = (uint8_t)(value >> 16);
}

/* The context of an event of user/; the ids have USER_ID_BITS. */
static inline void put_user_context(uint8_t *bytes, int32_t pid, int32_t tid)
{
	uint64_t both = (uint32_t)pid | (uint64_t)(uint32_t)tid << USER_ID_BITS;

	put_u32(bytes, (uint32_t)both);
	put_u16(bytes + 4, (uint16_t)(both >> 32));
}

static inline uint16_t get_u16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return le16toh(value);
}

static inline uint32_t get_u24(const uint8_t *bytes)
{
	return get_u16(bytes) | (uint32_t)bytes[2] << 16;
}

static inline uint32_t get_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint64_t get_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/* Bytes of packet header and packet context. */
static inline uint32_t packet_header_size(enum trace_domain domain)
{
	return domain == TRACE_KERNEL ? PACKET_MAX_HEADER : PACKET_MAX_HEADER - 4;
}

/* Writes packet_header_size() bytes. */
void packet_encode(uint8_t *bytes, enum trace_domain domain, const uint8_t uuid[PACKET_UUID_SIZE],
		   const struct packet_info *info);

/**
 * packet_decode() - a packet's header and context, from a file.
 * @available: bytes at @bytes; @left: bytes of the file from the packet's start on
 * @ret_why: on failure, what is wrong; static
 * Return: 0; -ENODATA when the packet goes beyond the file (a partial tail); -EBADMSG.
 */
int packet_decode(const uint8_t *bytes, uint64_t available, uint64_t left, enum trace_domain domain,
		  const uint8_t uuid[PACKET_UUID_SIZE], struct packet_info *ret_info,
		  const char **ret_why);

#endif
