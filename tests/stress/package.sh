#!/bin/bash
# SPDX-License-Identifier: MIT
# package.sh [DIR] - in a bare Debian of their own (below DIR): are the packages installed, do they record and explain,
# and is nothing left when they are purged?
#
# Run as root, with network. DIR/base, the bare system, is kept for later runs (default: build/bare). One line a step;
# exit status 0 or 1.
set -u
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "package.sh: run as root" >&2; exit 1; }
mkdir -p build
dir=$(realpath -m "${1:-build/bare}")
root=$dir/run
failed=0
mounts=

# Whatever is mounted below the root goes before anything is removed there.
tear_down() {
	for mount in $mounts; do
		umount "$mount" 2>/dev/null || umount -l "$mount"
	done
	rm -rf --one-file-system "$root"
}
trap tear_down EXIT
trap 'exit 1' INT TERM

# step "sentence" COMMAND...: what it prints is shown when it fails.
step() {
	local sentence=$1
	shift
	if "$@" >"$dir/output" 2>&1; then
		echo "ok   $sentence"
	else
		echo "FAIL $sentence"
		tail -n 20 "$dir/output" | sed 's/^/     /'
		failed=1
	fi
}

needed() {
	step "$@"
	[ "$failed" = 0 ] || exit 1
}

make_base() {
	local mirror
	[ ! -e "$dir/base/.ready" ] || return 0
	rm -rf "$dir/base"
	. /etc/os-release
	mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
		sed -n 's/^URIs: *//p; s/^deb \([^ ]*\) .*/\1/p' | head -n 1)
	debootstrap --variant=minbase --include=ca-certificates,gcc,libc6-dev "$VERSION_CODENAME" "$dir/base" \
		"$mirror" && take_apt_settings && touch "$dir/base/.ready"
}

# The ways of this machine to its mirror: sources, proxies, certificates.
take_apt_settings() {
	cp -a /etc/apt/sources.list.d/. "$dir/base/etc/apt/sources.list.d/" &&
		cp -a /etc/apt/sources.list "$dir/base/etc/apt/" 2>/dev/null || : >"$dir/base/etc/apt/sources.list"
	cp -a /etc/apt/apt.conf.d/. "$dir/base/etc/apt/apt.conf.d/"
	rm -f "$dir"/base/etc/apt/apt.conf.d/{20packagekit,50appstream}
	cp -L /etc/resolv.conf /etc/hosts "$dir/base/etc/"
	cp -a /usr/local/share/ca-certificates "$dir/base/usr/local/share/" 2>/dev/null
	chroot "$dir/base" update-ca-certificates
}

make_root() {
	rm -rf --one-file-system "$root"
	cp -a "$dir/base" "$root" && mount -t proc proc "$root/proc" && mounts="$root/proc" || return 1
	for mount in /dev /dev/shm /sys /sys/kernel/tracing /sys/fs/cgroup; do
		[ -d "$mount" ] || continue
		mkdir -p "$root$mount"
		mount --bind "$mount" "$root$mount" || return 1
		mounts="$root$mount $mounts"
	done
}

inside() { timeout 300 env DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8 chroot "$root" "$@"; }

# Each file with its owner, mode and contents, but for the records that apt and dpkg keep of their work, and the copies
# that groupadd keeps of the state before.
survey() {
	local filter='^\./(proc|sys|dev|var/lib/(apt|dpkg)|var/cache/(apt|ldconfig|debconf)|var/log)/'
	filter="$filter|^\./etc/(ld.so.cache|(passwd|group|shadow|gshadow)-) "
	(cd "$root" && find . -xdev \( -type f -printf '%p %M %U:%G ' -exec sh -c 'sha256sum <"$1"' _ {} \; -o \
		! -type d -printf '%p %M %U:%G %l\n' -o -printf '%p/ %M %U:%G\n' \)) | grep -vE "$filter" | sort
}

write_program() {
	cat >"$root/root/work.c" <<'C'
#include <marker/marker.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *arg)
{
	pthread_mutex_lock(&lock);
	usleep(50000);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t other;

		pthread_create(&other, NULL, hold, NULL);
		usleep(5000);
		{
			MARKER_SCOPE(shop, serve, i);
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
		}
		pthread_join(other, NULL);
	}
	return 0;
}
C
}

compile() { inside gcc -O1 -o /root/work /root/work.c -lpthread; }
record() { inside weft record -o /root/trace -- /root/work; }
has_markers() { [ "$(inside weft dump /root/trace --name 'shop:*' | grep -c shop:serve)" = 40 ]; }

explain() {
	local said
	said=$(inside weft why /root/trace --marker shop:serve --worst 1) || return 1
	echo "$said"
	[ ! -e /sys/kernel/tracing/events ] || grep -q '^WHY .*lock' <<<"$said"
}

# Of Python, and of a script.
record_others() {
	inside weft record -o /root/others -- sh -c 'python3 -c "
import weft_marker
with weft_marker.Provider(\"shop\").scope(\"open\"):
    pass
" && weft mark shop:closed' && [ "$(inside weft dump /root/others --name 'shop:*' | wc -l)" = 3 ]
}

nothing_left() {
	rm -rf "$root"/root/{work,work.c,trace,others}
	survey >"$dir/after"
	diff "$dir/before" "$dir/after"
}

no_process() {
	local found
	found=$(for link in /proc/[0-9]*/root; do
		[ "$(readlink "$link")" != "$root" ] || tr '\0' ' ' <"${link%/root}/cmdline"
	done)
	echo "$found"
	[ -z "$found" ]
}

mkdir -p "$dir"
needed "the packages are built, and lintian is content" scripts/package "$dir/packages"
needed "a bare Debian is there" make_base
needed "a copy of it has the kernel's file systems" make_root
needed "apt reads its lists" inside apt-get update -qq
survey >"$dir/before"
instances=$(ls /sys/kernel/tracing/instances 2>/dev/null)
mkdir "$root/root/packages"
cp "$dir"/packages/{weft,libmarker0,libmarker-dev,python3-weft-marker}_*.deb "$root/root/packages/"
needed "apt install ./weft_*.deb ./libmarker0_*.deb ./libmarker-dev_*.deb ./python3-weft-marker_*.deb" \
	inside sh -c 'apt-get install -y -q --no-install-recommends /root/packages/*.deb'
rm -rf "$root/root/packages"
write_program
step "a program with markers is built" compile
step "weft record -- ./work" record
step "all of its markers are there" has_markers
step "weft why names what the slowest waited for" explain
sed 's/^/     /' "$dir/output" | head -n 12
step "markers of Python and of a script are recorded" record_others
step "apt purge" inside apt-get purge -y -q weft libmarker0 libmarker-dev python3-weft-marker
step "apt autoremove --purge" inside apt-get autoremove --purge -y -q
step "no file, user, group, unit or folder is left" nothing_left
step "no process is left" no_process
step "the kernel has the trace instances that it had" \
	test "$instances" = "$(ls /sys/kernel/tracing/instances 2>/dev/null)"
exit $failed
