/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/privileged/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	/* EPERM: whoever started us has taken the right to do this, and EINVAL: past the last. */
	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	for (int fd = 1; null >= 0 && fd < 3; fd++)
		(void)dup2(null, fd);
	if (null > 2)
		close(null);
	(void)!chdir("/");
	umask(077);
}

int confine(void)
{
	struct rlimit files;

	leave_terminal();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return drop_capabilities();
}
