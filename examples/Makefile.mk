# SPDX-License-Identifier: MIT
# What is explained, and what disturbs it: nothing here is installed.
noinst_PROGRAMS += hog
hog_SOURCES = examples/disturb/hog.c examples/disturb/truth.c examples/disturb/truth.h

if HAVE_PLAYER
EXTRA_PROGRAMS = player
player_SOURCES = examples/player/main.c examples/player/player.h examples/player/reader.c \
	examples/player/decoder.c examples/player/presenter.c examples/player/plant.c \
	examples/player/queue.c examples/player/queue.h \
	examples/disturb/truth.c examples/disturb/truth.h \
	examples/disturb/cold-file.c examples/disturb/cold-file.h
player_CFLAGS = $(AM_CFLAGS) $(PLAYER_CFLAGS) -pthread
player_LDADD = $(PLAYER_LIBS)
endif
