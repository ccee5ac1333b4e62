# SPDX-License-Identifier: MIT
# From the preprocessor's macros of <asm/unistd.h> to the initialisers of an array: [17] = "pread64",
# Some are defined by another macro (__NR_fcntl as __NR3264_fcntl): followed to the number.
/^#define __NR/ { value[$2] = $3 }
END {
	for (name in value) {
		if (name !~ /^__NR_[a-z]/)
			continue
		number = value[name]
		while (number in value)
			number = value[number]
		if (number !~ /^[0-9]+$/)
			continue
		printf "\t[%d] = \"%s\",\n", number, substr(name, 6)
		if (number + 1 > end)
			end = number + 1
	}
	printf "\t[%d] = NULL,\n", end # no macros at all: still an array
}
