/* SPDX-License-Identifier: MIT */
/*
 * programs.c - connections of the programs that have markers: they come, announce, and go.
 */
#include "consumerd/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <urcu.h>
#include <urcu/rculist.h>

#include "base/array.h"
#include "base/log.h"
#include "consumerd/announcement.h"
#include "libmarker/rendezvous.h"

/* Per round and program; who sends more is read on in the next round, and holds the floor. */
#define MAX_MESSAGES 512
#define MAX_ACCEPTS 64
#define MAX_PROGRAMS 4096
#define MAX_OTHERS_PROGRAMS 512
#define MAX_CONNECTIONS 16 /* of one process: a libmarker in each of some objects */
#define MAX_EVENTS 256

/* The low bit of an epoll pointer: its pidfd spoke, not its socket. */
#define IS_PIDFD ((uintptr_t)1)

int programs_listen(const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, ret;

	_Static_assert(sizeof(address.sun_path) == RENDEZVOUS_MAX_PATH, "a socket's path fits");
	ret = rendezvous_file(folder, RENDEZVOUS_MARKERS_SOCKET, address.sun_path);
	if (ret < 0)
		return ret;
	/* Whoever held it before is dead: consumerd's lock on the folder says so. */
	(void)unlink(address.sun_path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0700) < 0 || listen(fd, 128) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

int programs_add_entrance(struct programs *programs, struct entrance *entrance, int listen_fd,
			  uid_t uid)
{
	struct epoll_event event = {.events = EPOLLIN};
	int ret;

	*entrance = (struct entrance){.listen_fd = listen_fd, .uid = uid};
	entrance->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (entrance->epoll_fd < 0)
		return -errno;
	if (epoll_ctl(entrance->epoll_fd, EPOLL_CTL_ADD, listen_fd, &event) < 0 ||
	    epoll_ctl(programs->epoll_fd, EPOLL_CTL_ADD, entrance->epoll_fd, &event) < 0) {
		ret = -errno;
		close(entrance->epoll_fd);
		entrance->epoll_fd = -1;
		return ret;
	}
	cds_list_add_tail(&entrance->node, &programs->entrances);
	return 0;
}

int programs_open(struct programs *programs, const char *folder)
{
	int fd, ret;

	*programs = (struct programs){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	programs->own.epoll_fd = -1;
	CDS_INIT_LIST_HEAD(&programs->list);
	CDS_INIT_LIST_HEAD(&programs->entrances);
	if (programs->epoll_fd < 0)
		return -errno;
	fd = programs_listen(folder);
	ret = fd < 0 ? fd : programs_add_entrance(programs, &programs->own, fd, geteuid());
	if (ret < 0) {
		if (fd >= 0)
			close(fd);
		programs_close(programs, folder);
	}
	return ret;
}

static void ring_destroy(struct program *program, struct thread_ring *ring)
{
	program->entrance->nr_rings--;
	for (uint32_t i = 0; i < RING_NR_LANES; i++)
		for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
			if (ring->lanes[i].sources[slot])
				ring->lanes[i].sources[slot]->is_ended = true;
	for (uint32_t i = 0; i < RING_NR_LANES; i++)
		free(ring->lanes[i].by_class);
	ring_reader_close(&ring->reader);
	free(ring);
}

static void program_destroy(struct program *program)
{
	for (size_t i = 0; i < program->rings.nr; i++)
		ring_destroy(program, program->rings.items[i]);
	for (size_t i = 0; i < program->classes.nr; i++)
		event_class_destroy(program->classes.items[i].class);
	array_fini(&program->rings);
	array_fini(&program->classes);
	array_fini(&program->maps);
	if (program->fd >= 0)
		close(program->fd);
	if (program->pidfd >= 0)
		close(program->pidfd);
	free(program);
}

/* Is it of the kind that programs make? One that was handed over may be anything. */
static bool is_of_kind(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/* Whose connection it is. Return: 0, -EACCES when it may not speak to us, -errno. */
static int check_peer(int fd, const struct brought *brought, const struct entrance *entrance,
		      struct program *program)
{
	uid_t uid = brought ? brought->uid : entrance->uid;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (brought && !is_of_kind(fd))
		return -EACCES;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	/* A child of root's may be any user by now; others bring their own. */
	if (peer.uid != uid && peer.uid != 0 && !(brought && uid == 0))
		return -EACCES;
	program->pid = peer.pid;
	program->uid = peer.uid;
	program->is_others = entrance->uid != geteuid();
	return 0;
}

static int watch(const struct entrance *entrance, struct program *program)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = program};

	if (epoll_ctl(entrance->epoll_fd, EPOLL_CTL_ADD, program->fd, &event) < 0)
		return -errno;
	/* A child that inherited the socket would keep it open: the process itself tells its end.
	 */
	program->pidfd = (int)syscall(SYS_pidfd_open, program->pid, 0);
	if (program->pidfd < 0)
		return 0;
	event.data.u64 = (uintptr_t)program | IS_PIDFD;
	if (epoll_ctl(entrance->epoll_fd, EPOLL_CTL_ADD, program->pidfd, &event) < 0)
		return -errno;
	return 0;
}

/* One user's programs must not take the places of all others. */
static bool is_full(const struct programs *programs, const struct entrance *entrance)
{
	/* Relaxed: nobody else writes it, and others read it as a figure. */
	return atomic_load_explicit(&programs->nr, memory_order_relaxed) >= MAX_PROGRAMS ||
	       (entrance != &programs->own && entrance->nr >= MAX_OTHERS_PROGRAMS);
}

const char *programs_describe(int error)
{
	if (error == PROGRAMS_TOO_MANY)
		return "too many programs have markers; some are not recorded";
	if (error == PROGRAMS_TOO_MANY_RINGS)
		return "a program has too many threads with markers, and is recorded no more";
	if (error == PROGRAMS_NO_RING)
		return "a program's limits on memory, files or descriptors leave no room for its "
		       "markers";
	return strerror(-error);
}

/* Of a program that we refuse for our own want its user must hear; not of its nonsense. */
static void note_want(struct programs *programs, int ret)
{
	if (ret == -ENOMEM || ret == -EMFILE || ret == -ENFILE || ret == -ENOSPC ||
	    ret == PROGRAMS_TOO_MANY || ret == PROGRAMS_TOO_MANY_RINGS)
		programs->want = ret;
}

static bool has_enough(const struct programs *programs, pid_t pid)
{
	const struct program *program;
	unsigned nr = 0;

	cds_list_for_each_entry(program, &programs->list, node) nr += program->pid == pid;
	return nr >= MAX_CONNECTIONS;
}

/* Return: 0 or -errno. */
static int admit(const struct programs *programs, struct entrance *entrance,
		 const struct brought *brought, struct program *program)
{
	int ret = is_full(programs, entrance) ? PROGRAMS_TOO_MANY
					      : check_peer(program->fd, brought, entrance, program);

	if (ret == 0 && has_enough(programs, program->pid))
		ret = -EACCES;
	return ret < 0 ? ret : watch(entrance, program);
}

/* Takes over @fd. @brought: how it came, unless by the socket */
static void add_program(struct programs *programs, struct entrance *entrance, int fd,
			const struct brought *brought)
{
	struct program *program = calloc(1, sizeof(*program));
	struct procfs_thread thread;
	int ret;

	if (!program) {
		note_want(programs, -ENOMEM);
		close(fd);
		return;
	}
	program->fd = fd;
	program->pidfd = -1;
	ret = admit(programs, entrance, brought, program);
	if (ret < 0) {
		note_want(programs, ret);
		program_destroy(program);
		return;
	}
	if (procfs_read_thread(program->pid, program->pid, &thread) == 0)
		memcpy(program->comm, thread.thread.comm, sizeof(program->comm));
	program->entrance = entrance;
	entrance->nr++;
	cds_list_add_tail_rcu(&program->node, &programs->list);
	/* Relaxed: see is_full(). */
	atomic_fetch_add_explicit(&programs->nr, 1, memory_order_relaxed);
}

/* Return: false when there may be more. */
static bool accept_all(struct programs *programs, struct entrance *entrance)
{
	for (int i = 0; i < MAX_ACCEPTS; i++) {
		int fd = accept4(entrance->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			add_program(programs, entrance, fd, NULL);
		} else if (errno != ECONNABORTED && errno != EINTR) {
			note_want(programs, -errno);
			return true;
		}
	}
	return false;
}

/* Return: were there any? */
static bool add_brought(struct programs *programs, struct entrance *entrance)
{
	bool is_any = entrance->nr_brought > 0;

	for (uint32_t i = 0; i < entrance->nr_brought; i++)
		add_program(programs, entrance, entrance->brought[i].fd, &entrance->brought[i]);
	entrance->nr_brought = 0;
	return is_any;
}

/*
 * The connection has ended. A process that only closed its descriptors, as daemons do, writes to
 * its rings all the same: they are drained until it ends. One that has exited, or is another
 * program since, has them mapped no longer.
 */
static void end_connection(struct program *program)
{
	program->is_gone = true;
	for (size_t i = 0; i < program->rings.nr && program->pidfd >= 0 && program->is_gone; i++)
		program->is_gone =
			!procfs_has_mapped(program->pid, program->rings.items[i]->reader.inode);
	close(program->fd);
	program->fd = -1;
}

/* The process has exited. */
static void end_process(struct program *program)
{
	if (program->fd < 0) {
		program->is_gone = true;
		return;
	}
	/* Relaxed: for others it is a figure. */
	atomic_store_explicit(&program->is_exited, true, memory_order_relaxed);
	close(program->pidfd);
	program->pidfd = -1;
}

/* Reads what one program has sent. */
static void read_program(struct programs *programs, struct program *program,
			 const struct programs_observer *observer)
{
	int ret = 1;

	program->has_unread = false;
	for (int i = 0; i < MAX_MESSAGES && ret > 0 && program->fd >= 0; i++) {
		ret = announcement_read(program, observer);
		if (ret == -EPIPE) {
			end_connection(program);
		} else if (ret < 0 && ret != -EAGAIN && ret != -ENOBUFS) {
			log_warning("Program thrown out: pid=%d, comm=%s, error=\"%s\"",
				    program->pid, program->comm, programs_describe(ret));
			note_want(programs, ret);
			program->is_gone = true;
		}
	}
	if (program->lacks_ring)
		programs->want = PROGRAMS_NO_RING;
	program->lacks_ring = false;
	program->has_unread = ret > 0 || ret == -ENOBUFS;
}

void programs_catch_up(struct program *program, const struct programs_observer *observer)
{
	int ret = 1;

	for (int i = 0; i < MAX_MESSAGES && ret > 0 && program->fd >= 0; i++)
		ret = announcement_read(program, observer);
	/* Nonsense: seen as the end of the connection in the next round. */
	if (ret < 0 && ret != -EAGAIN && ret != -ENOBUFS && ret != -EPIPE)
		(void)shutdown(program->fd, SHUT_RDWR);
}

/* Return: false when there may be more. */
static bool read_ready(struct programs *programs, struct entrance *entrance,
		       const struct programs_observer *observer)
{
	struct epoll_event events[MAX_EVENTS];
	bool is_all = true;
	int nr = epoll_wait(entrance->epoll_fd, events, MAX_EVENTS, 0);

	for (int i = 0; i < nr; i++) {
		uintptr_t pointer = (uintptr_t)events[i].data.u64;
		struct program *program = (struct program *)(pointer & ~IS_PIDFD);

		if (!program || program->is_gone)
			continue;
		read_program(programs, program, observer);
		/* It has exited: what it sent and wrote is there, and nothing will follow. */
		if (pointer & IS_PIDFD && !program->has_unread)
			end_process(program);
		is_all = is_all && !program->has_unread;
	}
	return is_all && nr < MAX_EVENTS;
}

static void read_entrance(struct programs *programs, struct entrance *entrance, uint64_t now,
			  const struct programs_observer *observer)
{
	bool is_all = accept_all(programs, entrance), is_more = true;

	/* Who is brought in may have said all it has to say, and have brought others. */
	for (int i = 0; i < MAX_BROUGHT && is_more; i++) {
		is_all = read_ready(programs, entrance, observer) && is_all;
		is_more = add_brought(programs, entrance);
	}
	if (is_all && !is_more)
		floor_move(&entrance->floor, now, now);
}

void programs_read(struct programs *programs, uint64_t now,
		   const struct programs_observer *observer)
{
	struct entrance *entrance;

	cds_list_for_each_entry(entrance, &programs->entrances, node)
		read_entrance(programs, entrance, now, observer);
}

uint64_t programs_floor(const struct programs *programs, uint64_t now, uint64_t patience)
{
	uint64_t lowest = UINT64_MAX, floor;
	const struct entrance *entrance;

	cds_list_for_each_entry(entrance, &programs->entrances, node)
	{
		floor = floor_effective(&entrance->floor, now, patience);
		if (floor < lowest)
			lowest = floor;
	}
	return lowest;
}

void programs_forget_floors(struct programs *programs)
{
	struct entrance *entrance;

	cds_list_for_each_entry(entrance, &programs->entrances, node) entrance->floor =
		(struct floor){0};
}

static void sweep_rings(struct program *program)
{
	size_t kept = 0;

	for (size_t i = 0; i < program->rings.nr; i++) {
		struct thread_ring *ring = program->rings.items[i];

		if (ring->is_finished)
			ring_destroy(program, ring);
		else
			program->rings.items[kept++] = ring;
	}
	program->rings.nr = kept;
	if (!kept && program->fd < 0)
		program->is_gone = true; /* connected anew, or without threads */
	/* Relaxed: a figure for people. */
	atomic_store_explicit(&program->nr_rings, (uint32_t)kept, memory_order_relaxed);
}

static void remove_program(struct programs *programs, struct program *program)
{
	cds_list_del_rcu(&program->node);
	/* The control thread may be looking at it. */
	synchronize_rcu();
	program->entrance->nr--;
	program_destroy(program);
	/* Relaxed: see is_full(). */
	atomic_fetch_sub_explicit(&programs->nr, 1, memory_order_relaxed);
}

void programs_sweep(struct programs *programs)
{
	struct program *program, *next;

	cds_list_for_each_entry_safe(program, next, &programs->list, node)
	{
		if (program->is_gone)
			remove_program(programs, program);
		else
			sweep_rings(program);
	}
}

void programs_forget_slot(struct programs *programs, uint32_t slot)
{
	struct program *program;

	cds_list_for_each_entry(program, &programs->list, node)
	{
		program->class_costs[slot] = 0;
		for (size_t i = 0; i < program->classes.nr; i++) {
			program->classes.items[i].mapped[slot] = NULL;
			program->classes.items[i].asked &= ~(1u << slot);
		}
		for (size_t i = 0; i < program->rings.nr; i++)
			for (uint32_t lane = 0; lane < RING_NR_LANES; lane++)
				program->rings.items[i]->lanes[lane].sources[slot] = NULL;
	}
}

void programs_close_entrance(struct programs *programs, struct entrance *entrance)
{
	struct program *program;

	if (entrance->epoll_fd < 0)
		return;
	cds_list_del(&entrance->node);
	for (uint32_t i = 0; i < entrance->nr_brought; i++)
		close(entrance->brought[i].fd);
	entrance->nr_brought = 0;
	close(entrance->listen_fd);
	close(entrance->epoll_fd);
	entrance->listen_fd = entrance->epoll_fd = -1;
	cds_list_for_each_entry(program, &programs->list, node) if (program->entrance == entrance)
		program->is_gone = true;
}

void programs_close(struct programs *programs, const char *folder)
{
	char path[RENDEZVOUS_MAX_PATH];
	struct program *program, *next;

	if (programs->epoll_fd < 0)
		return;
	if (programs->own.epoll_fd >= 0 &&
	    rendezvous_file(folder, RENDEZVOUS_MARKERS_SOCKET, path) == 0)
		(void)unlink(path);
	programs_close_entrance(programs, &programs->own);
	cds_list_for_each_entry_safe(program, next, &programs->list, node)
		remove_program(programs, program);
	close(programs->epoll_fd);
	programs->epoll_fd = -1;
}
