# SPDX-License-Identifier: MIT
# What is explained, and what disturbs it: nothing here is installed.
if WITH_VIEWER
noinst_PROGRAMS += hog
endif
hog_SOURCES = examples/disturb/hog.c examples/disturb/truth.c examples/disturb/truth.h

if HAVE_PLAYER
noinst_PROGRAMS += player
player_SOURCES = examples/player/main.c examples/player/player.h examples/player/reader.c \
	examples/player/decoder.c examples/player/presenter.c examples/player/plant.c \
	examples/player/queue.c examples/player/queue.h \
	examples/disturb/truth.c examples/disturb/truth.h \
	examples/disturb/cold-file.c examples/disturb/cold-file.h
player_CFLAGS = $(AM_CFLAGS) $(PLAYER_CFLAGS) -pthread
player_LDADD = $(PLAYER_LIBS)
endif

# The tests whose truth comes from the planter; and the load that order is checked under.
check_PROGRAMS += tests/system/plant tests/system/order-load
tests_system_plant_SOURCES = tests/system/plant.c tests/system/plant-kinds.c \
	tests/system/plant-kinds.h examples/disturb/truth.c examples/disturb/truth.h \
	examples/disturb/cold-file.c examples/disturb/cold-file.h
tests_system_plant_LDFLAGS = -pthread
tests_system_order_load_SOURCES = tests/system/order-load.c \
	examples/disturb/truth.c examples/disturb/truth.h \
	examples/disturb/cold-file.c examples/disturb/cold-file.h
tests_system_order_load_LDFLAGS = -pthread
dist_check_SCRIPTS += tests/system/test-causes.sh tests/system/test-demo.sh
EXTRA_DIST += scripts/compare-causes.jq bench/verify-order.sh tests/system/judge-causes.jq
