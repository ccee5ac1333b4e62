/* SPDX-License-Identifier: MIT */
/*
 * marker-cxx.cc - what a marker takes in C++ only, for test-marker-cxx.sh, which knows what must
 * come out: strings of all sorts, types that say themselves what they are, and scopes left by
 * exceptions.
 */
#include <marker/marker.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace media
{
enum class state { idle, playing };

inline const char *marker_value(state value)
{
	return value == state::idle ? "idle" : "playing";
}

struct position {
	int frame;
	double seconds;
};

inline double marker_value(const position &at)
{
	return at.seconds;
}

/* It may not be copied, and tells a text that it makes. */
class source
{
      public:
	explicit source(std::string name) : name_(std::move(name))
	{
	}
	source(const source &) = delete;
	friend std::string marker_value(const source &from)
	{
		return "source " + from.name_;
	}

      private:
	std::string name_;
};

/* By way of another. */
struct player {
	state now;
	friend state marker_value(const player &of)
	{
		return of.now;
	}
};
} // namespace media

struct celsius {
	float degrees;
	operator float() const
	{
		return degrees;
	}
};
inline float marker_value(celsius value)
{
	return value.degrees;
}

enum plain { PLAIN = -3 };
enum class tiny : unsigned char { last = 255 };

static int made;

static std::string make(const char *text)
{
	made++;
	return std::string(text) + ", made";
}

static void strings()
{
	const std::string fixed = "fixed";
	std::string name = "name", empty, longest(255, 'a'), longer(300, 'b');
	std::string_view view = std::string_view("a part of it").substr(2, 4), none;
	const char unended[3] = {'a', 'b', 'c'};
	std::vector<char> bytes(unended, unended + 3);
	std::array<char, 2> two = {{'x', 'y'}};
	auto owned = std::make_unique<std::string>("owned");

	MARKER(cxx, strings, name, fixed, empty, MARKER_FIELD(made, make("rvalue")),
	       MARKER_FIELD(owned, *owned));
	MARKER(cxx, views, view, none, bytes, two, MARKER_FIELD(cut, std::string_view(unended, 2)));
	MARKER(cxx, longest, longest);
	MARKER(cxx, longer, longer);
	MARKER(cxx, nul, MARKER_FIELD(nul, std::string("up to\0here", 10)));
}

static void told()
{
	media::state state = media::state::playing;
	const media::player player = {media::state::idle};
	media::source source("clip.mp4");

	MARKER(cxx, told, state, player, source, MARKER_FIELD(at, media::position{75, 2.5}),
	       MARKER_FIELD(heat, celsius{36.5f}));
	MARKER_COUNTER(cxx, heat, celsius{-2});
}

static void numbers()
{
	const plain color = PLAIN;
	bool yes = true;
	float f32 = 0.5f;
	std::byte byte{7};
	auto pointer = reinterpret_cast<void *>(0x1234);
	auto nothing = nullptr;
	const int &reference = -5;
	char letter = 'A';

	MARKER(cxx, numbers, color, MARKER_FIELD(tiny, tiny::last), yes, f32, byte, pointer,
	       nothing, reference, letter);
}

static void library_types()
{
	using namespace std::chrono_literals;
	std::atomic<int> counted{-4};
	const std::atomic<media::state> state{media::state::playing};
	std::atomic<bool> flag{true};
	std::chrono::milliseconds elapsed = 1500ms;
	std::chrono::duration<double> seconds(0.25);
	std::chrono::steady_clock::time_point at(5us + 7ns);

	MARKER(cxx, atomics, counted, state, flag);
	MARKER(cxx, durations, elapsed, seconds, MARKER_FIELD(hours, 26h),
	       MARKER_FIELD(negative, -3us), MARKER_FIELD(at, at));
	MARKER(cxx, due, MARKER_DUE(at));
	MARKER(cxx, due, MARKER_DUE(12));
}

template <typename T> class queue
{
      public:
	void put(const T &item)
	{
		MARKER_SCOPE(cxx, put, item);
		auto mark = [&](auto depth) { MARKER(cxx, in_lambda, depth, item); };
		mark(depth_++);
		mark(std::to_string(depth_));
	}

      private:
	int depth_ = 0;
};

struct guarded {
	~guarded()
	{
		MARKER(cxx, destroyed);
	}
};

static int throwing(int depth)
{
	MARKER_SCOPE(cxx, throwing, depth);
	guarded first;
	if (depth == 0)
		throw std::runtime_error("unwound");
	return throwing(depth - 1) + 1;
}

static void exceptions()
{
	MARKER_SCOPE(cxx, outer);
	try {
		throwing(1);
	} catch (const std::exception &error) {
		MARKER(cxx, caught, MARKER_FIELD(what, error.what()));
	}
	/* An argument that throws: nothing is recorded, and the scope never began. */
	try {
		MARKER_SCOPE(cxx, never, MARKER_FIELD(value, std::string("short").at(9)));
	} catch (const std::out_of_range &) {
		MARKER(cxx, out_of_range);
	}
}

int main()
{
	strings();
	told();
	numbers();
	library_types();
	queue<std::string>().put("text");
	queue<media::state>().put(media::state::idle);
	exceptions();
	MARKER(unwanted, event, MARKER_FIELD(never, make("")));
	return made != MARKER_ENABLED(cxx, strings);
}
