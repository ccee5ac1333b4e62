/* SPDX-License-Identifier: MIT */
/* note-read.c - see note-read.h. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libmarker/note-read.h"

#define WEFT_MARKER_ABI_ONLY
#include "libmarker/include/marker/marker.h"

/* Programs have some ten; each of more could tell of all the notes once again. */
#define MAX_SEGMENTS 512

/* A file, by the addresses it will be loaded at. */
struct image {
	Elf *elf;
	const char *bytes;
	size_t size;
	size_t nr_segments;
};

/* What lies in the file for a stretch of memory. Return: its bytes and how many follow; or NULL. */
static const char *image_at(const struct image *image, uint64_t address, size_t *ret_size)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		GElf_Phdr phdr;
		uint64_t into;

		if (!gelf_getphdr(image->elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    address < phdr.p_vaddr || address - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		into = address - phdr.p_vaddr;
		if (phdr.p_offset > image->size || phdr.p_filesz > image->size - phdr.p_offset)
			return NULL;
		*ret_size = phdr.p_filesz - into;
		return image->bytes + phdr.p_offset + into;
	}
	return NULL;
}

/* A NUL-terminated text at @p within @size bytes. Return: what follows it, or NULL. */
static const char *text_end(const char *p, size_t size)
{
	const char *nul = memchr(p, '\0', size);

	return nul ? nul + 1 : NULL;
}

/* @desc: struct weft_marker_note's bytes, which will lie at @address. Return: 0 or -EBADMSG. */
static int place_read(const struct image *image, const char *desc, size_t size, uint64_t address,
		      struct note_class *ret_class)
{
	struct weft_marker_note note;
	const char *provider, *text, *format;
	size_t left;

	if (size < sizeof(note))
		return -EBADMSG;
	memcpy(&note, desc, sizeof(note));
	if (note.nr_fields > size - sizeof(note))
		return -EBADMSG;
	provider = image_at(image, address + note.to_text, &left);
	text = provider ? text_end(provider, left) : NULL;
	format = text ? text_end(text, left - (text - provider)) : NULL;
	if (!format ||
	    (note.kind == WEFT_MARKER_LOG_KIND && !text_end(format, left - (format - provider))))
		return -EBADMSG;
	return note_parse(&(struct note_source){.kind = note.kind,
						.level = note.level,
						.nr_fields = note.nr_fields,
						.codes = (const uint8_t *)desc + sizeof(note),
						.provider = provider,
						.text = text,
						.format = format},
			  ret_class);
}

static int segment_read(const struct image *image, const GElf_Phdr *phdr, note_callback callback,
			void *arg, unsigned *bad)
{
	Elf_Data *data = elf_getdata_rawchunk(image->elf, phdr->p_offset, phdr->p_filesz,
					      phdr->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t offset = 0, name_off, desc_off, next;
	GElf_Nhdr note;

	while (data && (next = gelf_getnote(data, offset, &note, &name_off, &desc_off))) {
		const char *bytes = data->d_buf;
		struct note_class class;
		int ret;

		offset = next;
		if (note.n_type != WEFT_MARKER_NOTE_PLACE || note.n_namesz != 5 ||
		    memcmp(bytes + name_off, "weft", 5))
			continue;
		if (place_read(image, bytes + desc_off, note.n_descsz, phdr->p_vaddr + desc_off,
			       &class)) {
			++*bad;
			continue;
		}
		ret = callback(arg, &class);
		if (ret)
			return ret;
	}
	return 0;
}

static int image_read(struct image *image, note_callback callback, void *arg, unsigned *bad)
{
	int ret = 0;

	if (elf_kind(image->elf) != ELF_K_ELF || elf_getphdrnum(image->elf, &image->nr_segments) ||
	    image->nr_segments > MAX_SEGMENTS ||
	    elf_getident(image->elf, NULL)[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	image->bytes = elf_rawfile(image->elf, &image->size);
	if (!image->bytes)
		return -ENOEXEC;
	for (size_t i = 0; i < image->nr_segments && !ret; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(image->elf, i, &phdr) && phdr.p_type == PT_NOTE)
			ret = segment_read(image, &phdr, callback, arg, bad);
	}
	return ret;
}

int note_read(const char *path, note_callback callback, void *arg, unsigned *ret_bad)
{
	struct image image = {0};
	unsigned bad = 0;
	struct stat st;
	int fd, ret;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	/* Not to wait for whoever may open the other end. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	image.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	ret = image.elf ? image_read(&image, callback, arg, &bad) : -ENOEXEC;
	elf_end(image.elf);
	close(fd);
	if (!ret && ret_bad)
		*ret_bad = bad;
	return ret;
}
