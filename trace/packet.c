/* SPDX-License-Identifier: MIT */
#include "trace/packet.h"

#include <errno.h>

void packet_encode(uint8_t *bytes, enum trace_domain domain, const uint8_t uuid[PACKET_UUID_SIZE],
		   const struct packet_info *info)
{
	put_u32(bytes, PACKET_MAGIC);
	memcpy(bytes + 4, uuid, PACKET_UUID_SIZE);
	put_u32(bytes + 20, 0); /* stream_id: one stream class a domain */
	put_u64(bytes + 24, info->instance);
	put_u64(bytes + 32, info->begin_ns);
	put_u64(bytes + 40, info->end_ns);
	put_u64(bytes + 48, (uint64_t)info->content_size * 8);
	put_u64(bytes + 56, (uint64_t)info->size * 8);
	put_u64(bytes + 64, info->number);
	put_u64(bytes + 72, info->discarded);
	if (domain == TRACE_KERNEL)
		put_u32(bytes + 80, info->cpu);
}

/* Content and packet size, in bits, as found. Return: what is wrong with them, or NULL. */
static const char *check_sizes(uint64_t content_bits, uint64_t packet_bits, uint32_t header_size)
{
	if (content_bits % 8 || packet_bits % 8)
		return "a size that is no whole byte";
	if (packet_bits / 8 > PACKET_MAX_SIZE)
		return "packet size too large";
	if (content_bits / 8 < header_size)
		return "content smaller than its header";
	if (content_bits > packet_bits)
		return "content larger than its packet";
	return NULL;
}

int packet_decode(const uint8_t *bytes, uint64_t available, uint64_t left, enum trace_domain domain,
		  const uint8_t uuid[PACKET_UUID_SIZE], struct packet_info *ret_info,
		  const char **ret_why)
{
	uint32_t header_size = packet_header_size(domain);
	uint64_t content_bits, packet_bits;

	*ret_why = "the file ends within a packet";
	if (available < header_size || left < header_size)
		return -ENODATA;
	*ret_why = "no packet starts here";
	if (get_u32(bytes) != PACKET_MAGIC)
		return -EBADMSG;
	*ret_why = "a packet of another trace";
	if (memcmp(bytes + 4, uuid, PACKET_UUID_SIZE) || get_u32(bytes + 20) != 0)
		return -EBADMSG;
	content_bits = get_u64(bytes + 48);
	packet_bits = get_u64(bytes + 56);
	*ret_why = check_sizes(content_bits, packet_bits, header_size);
	if (*ret_why)
		return -EBADMSG;
	*ret_info = (struct packet_info){
		.instance = get_u64(bytes + 24),
		.begin_ns = get_u64(bytes + 32),
		.end_ns = get_u64(bytes + 40),
		.content_size = (uint32_t)(content_bits / 8),
		.size = (uint32_t)(packet_bits / 8),
		.number = get_u64(bytes + 64),
		.discarded = get_u64(bytes + 72),
		.cpu = domain == TRACE_KERNEL ? get_u32(bytes + 80) : 0,
	};
	*ret_why = "a packet that ends before it begins";
	if (ret_info->end_ns < ret_info->begin_ns)
		return -EBADMSG;
	*ret_why = "the file ends within a packet";
	return ret_info->size > left ? -ENODATA : 0;
}
