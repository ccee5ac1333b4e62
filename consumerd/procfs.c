/* SPDX-License-Identifier: MIT */
/*
 * procfs.c - what /proc and /sys tell about threads, processes, interrupts and block devices.
 */
#include "consumerd/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "trace/clock.h"

#define KERNEL_THREAD_FLAG 0x00200000u /* PF_KTHREAD in the flags of /proc/PID/stat */
#define MAX_TID ((1 << 22) - 1)	       /* the kernel's PID_MAX_LIMIT */

/* A whole small file as text. Return: bytes without the NUL, or -errno. */
static ssize_t read_text(const char *path, char *text, size_t size)
{
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	got = read(fd, text, size - 1);
	if (got < 0)
		got = -errno;
	close(fd);
	if (got >= 0)
		text[got] = '\0';
	return got;
}

uint64_t procfs_now_ns(void)
{
	return clock_ticks(CLOCK_TICKS_MONO);
}

uint64_t procfs_own_memory(void)
{
	uint64_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t namespace_inode(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

uint64_t procfs_pid_namespace(int32_t pid)
{
	char path[64];
	uint64_t inode;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	inode = namespace_inode(path);
	return inode == namespace_inode("/proc/self/ns/pid") ? 0 : inode;
}

/* Of "monotonic" in /proc/PID/timens_offsets. */
static int64_t monotonic_offset(int32_t pid)
{
	char path[64], text[256];
	long long seconds = 0;
	long ns = 0;

	snprintf(path, sizeof(path), "/proc/%d/timens_offsets", pid);
	if (read_text(path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "monotonic %lld %ld", &seconds, &ns) != 2)
		return 0;
	return (int64_t)seconds * 1000000000 + ns;
}

int64_t procfs_clock_shift(int32_t pid)
{
	char path[64];
	uint64_t inode;

	snprintf(path, sizeof(path), "/proc/%d/ns/time", pid);
	inode = namespace_inode(path);
	if (!inode || inode == namespace_inode("/proc/self/ns/time"))
		return 0;
	return monotonic_offset(pid) - monotonic_offset((int32_t)getpid());
}

bool procfs_has_mapped(int32_t pid, ino_t memfd)
{
	char path[64], line[PATH_MAX + 128];
	bool is_found = false;
	uint64_t inode;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && !is_found && fgets(line, sizeof(line), maps))
		is_found = strstr(line, " /memfd:") &&
			   sscanf(line, "%*s %*s %*s %*s %" SCNu64, &inode) == 1 && inode == memfd;
	if (maps)
		fclose(maps);
	return is_found;
}

/* The directories of @path whose names are numbers, one after the other; 0 at the end. */
static int32_t next_number(DIR *dir)
{
	struct dirent *entry;
	char *end;
	long number;

	while ((entry = readdir(dir))) {
		number = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && number > 0 && number <= INT32_MAX)
			return (int32_t)number;
	}
	return 0;
}

int procfs_parse_stat(const char *text, struct procfs_thread *thread)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned flags = 0, cpu = 0, priority = 0, policy = 0;
	int ppid = 0;
	size_t length;

	if (!open || !close || close < open || close[1] != ' ')
		return -EBADMSG;
	length = (size_t)(close - open - 1);
	if (length >= sizeof(thread->thread.comm))
		length = sizeof(thread->thread.comm) - 1;
	memcpy(thread->thread.comm, open + 1, length);
	if (sscanf(close + 2,
		   "%c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u "
		   "%*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %u %u %u",
		   &thread->thread.state, &ppid, &flags, &cpu, &priority, &policy) != 6)
		return -EBADMSG;
	thread->ppid = ppid;
	thread->is_kernel = flags & KERNEL_THREAD_FLAG;
	thread->cpu = (int)cpu;
	thread->thread.priority = (int)priority;
	thread->thread.policy = (int)policy;
	return 0;
}

/* The value of a line of /proc/PID/status, such as "Tgid:"; NULL when it has none. */
static const char *status_line(const char *text, const char *key)
{
	const char *line = text;

	while (line && strncmp(line, key, strlen(key)) != 0) {
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return line ? line + strlen(key) : NULL;
}

/* The process of a thread, or -1. */
static int32_t process_of(int32_t tid)
{
	char path[64], text[4096];
	const char *value;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (read_text(path, text, sizeof(text)) < 0)
		return -1;
	value = status_line(text, "Tgid:");
	return value ? (int32_t)atoi(value) : -1;
}

int procfs_read_thread(int32_t pid, int32_t tid, struct procfs_thread *ret_thread)
{
	struct procfs_thread thread = {0};
	char path[64], text[1024];
	ssize_t got;
	int ret;

	thread.thread.ns = procfs_now_ns();
	thread.thread.tid = thread.thread.vtid = tid;
	thread.thread.pid = thread.thread.vpid = pid ? pid : process_of(tid);
	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	got = read_text(path, text, sizeof(text));
	if (got < 0)
		return (int)got;
	ret = procfs_parse_stat(text, &thread);
	if (ret < 0)
		return ret;
	*ret_thread = thread;
	return 0;
}

int procfs_owner(int32_t pid, uid_t *ret_uid)
{
	char path[64], text[4096];
	const char *value;
	unsigned ids[4];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	got = read_text(path, text, sizeof(text));
	if (got < 0)
		return (int)got;
	value = status_line(text, "Uid:");
	if (!value || sscanf(value, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return -EBADMSG;
	for (int i = 1; i < 4; i++)
		if (ids[i] != ids[0])
			return -EPERM;
	*ret_uid = ids[0];
	return 0;
}

int32_t procfs_parse_innermost(const char *text)
{
	const char *value = status_line(text, "NSpid:");
	long number = 0;
	char *end;

	while (value && (*value == ' ' || *value == '\t')) {
		number = strtol(value, &end, 10);
		if (end == value)
			break;
		value = end;
	}
	return number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
}

static int32_t innermost_tid(int32_t pid, int32_t tid)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	return read_text(path, text, sizeof(text)) < 0 ? 0 : procfs_parse_innermost(text);
}

/* Its program says so. Where nobody has the tid any more it may have been the program's. */
static bool may_be_thread(int32_t pid, int32_t tid)
{
	char path[64];

	if (tid <= 0 || tid > MAX_TID)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
	if (access(path, F_OK) == 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d", tid);
	return access(path, F_OK) < 0;
}

int32_t procfs_host_tid(int32_t pid, int32_t vpid, int32_t vtid)
{
	char path[64];
	int32_t tid, found = pid;
	DIR *dir;

	if (vpid == pid)
		return may_be_thread(pid, vtid) ? vtid : pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return pid;
	while ((tid = next_number(dir))) {
		if (innermost_tid(pid, tid) == vtid) {
			found = tid;
			break;
		}
	}
	closedir(dir);
	return found;
}

int procfs_read_process(int32_t pid, struct sidecar_process *ret_process)
{
	struct sidecar_process process = {.pid = pid};
	struct procfs_thread thread;
	char path[64];
	ssize_t got;
	int ret;

	ret = procfs_read_thread(pid, pid, &thread);
	if (ret < 0)
		return ret;
	process.ns = thread.thread.ns;
	process.ppid = thread.ppid;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	got = readlink(path, process.exe, sizeof(process.exe) - 1);
	process.exe[got > 0 ? got : 0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	got = read_text(path, process.command, sizeof(process.command));
	/* Arguments end with a NUL each. */
	for (ssize_t i = 0; i + 1 < got; i++)
		if (!process.command[i])
			process.command[i] = ' ';
	*ret_process = process;
	return 0;
}

/* @pid_ns: of its process, which is known once for all its threads. */
static void take_namespace(struct procfs_thread *thread, uint64_t pid_ns)
{
	struct sidecar_thread *ids = &thread->thread;
	int32_t vtid, vpid;

	if (!pid_ns || ids->pid <= 0)
		return;
	vtid = innermost_tid(ids->pid, ids->tid);
	vpid = innermost_tid(ids->pid, ids->pid);
	if (vtid > 0 && vpid > 0) {
		ids->vtid = vtid;
		ids->vpid = vpid;
		ids->pid_ns = pid_ns;
	}
}

void procfs_read_namespace(struct procfs_thread *thread)
{
	take_namespace(thread, procfs_pid_namespace(thread->thread.pid));
}

void procfs_each_thread(void (*each)(void *arg, const struct procfs_thread *thread,
				     bool is_process_start),
			void *arg)
{
	struct procfs_thread thread;
	DIR *processes = opendir("/proc"), *tasks;
	char path[64];
	int32_t pid, tid;
	uint64_t pid_ns;

	while (processes && (pid = next_number(processes))) {
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		tasks = opendir(path);
		if (!tasks)
			continue;
		pid_ns = procfs_pid_namespace(pid);
		while ((tid = next_number(tasks))) {
			if (procfs_read_thread(pid, tid, &thread) < 0)
				continue;
			take_namespace(&thread, pid_ns);
			each(arg, &thread, tid == pid);
		}
		closedir(tasks);
	}
	if (processes)
		closedir(processes);
}

/* The PCI device whose interrupt it is: message-signalled ones are listed, others are in `irq`. */
static void find_pci(int32_t irq, char *ret_pci, size_t size)
{
	DIR *devices = opendir("/sys/bus/pci/devices");
	struct dirent *entry;
	char path[320], text[32];

	while (devices && (entry = readdir(devices))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/msi_irqs/%d", entry->d_name,
			 irq);
		if (access(path, F_OK) == 0)
			break;
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/irq", entry->d_name);
		if (read_text(path, text, sizeof(text)) > 0 && atoi(text) == irq)
			break;
	}
	if (devices && entry)
		snprintf(ret_pci, size, "%.*s", (int)size - 1, entry->d_name);
	if (devices)
		closedir(devices);
}

void procfs_each_irq(void (*each)(void *arg, const struct sidecar_irq *irq), void *arg)
{
	DIR *irqs = opendir("/sys/kernel/irq");
	char path[64];
	int32_t number;

	while (irqs && (number = next_number(irqs))) {
		struct sidecar_irq irq = {.irq = number};

		snprintf(path, sizeof(path), "/sys/kernel/irq/%d/actions", number);
		if (read_text(path, irq.name, sizeof(irq.name)) <= 0)
			continue;
		irq.name[strcspn(irq.name, "\n")] = '\0';
		if (!irq.name[0])
			continue;
		find_pci(number, irq.pci, sizeof(irq.pci));
		each(arg, &irq);
	}
	if (irqs)
		closedir(irqs);
}

void procfs_each_device(void (*each)(void *arg, const struct sidecar_device *device), void *arg)
{
	DIR *devices = opendir("/sys/dev/block");
	struct dirent *entry;
	char path[320], target[512];
	ssize_t got;

	while (devices && (entry = readdir(devices))) {
		struct sidecar_device device = {0};
		const char *name;

		if (sscanf(entry->d_name, "%u:%u", &device.major, &device.minor) != 2)
			continue;
		snprintf(path, sizeof(path), "/sys/dev/block/%s", entry->d_name);
		got = readlink(path, target, sizeof(target) - 1);
		if (got <= 0)
			continue;
		target[got] = '\0';
		name = strrchr(target, '/');
		name = name ? name + 1 : target;
		snprintf(device.name, sizeof(device.name), "%.*s", (int)sizeof(device.name) - 1,
			 name);
		each(arg, &device);
	}
	if (devices)
		closedir(devices);
}

void procfs_read_host(struct sidecar_header *header)
{
	struct utsname names;
	char text[64];

	if (uname(&names) == 0) {
		snprintf(header->host, sizeof(header->host), "%.*s", (int)sizeof(header->host) - 1,
			 names.nodename);
		snprintf(header->kernel, sizeof(header->kernel), "%.*s",
			 (int)sizeof(header->kernel) - 1, names.release);
	}
	if (read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)) > 0)
		snprintf(header->boot_id, sizeof(header->boot_id), "%.36s", text);
	header->nr_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
}
