// SPDX-License-Identifier: Apache-2.0
//
// Leaves stack_cleanup's function by exceptions, by pthread_exit() and by cancellation, from several depths and
// threads; prints "ok" if each arrived and each cleanup ran once. With a second argument the cleanups need not have
// run (for runtimes that export nothing), but everything must have arrived.
#include <cstdio>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

static int (*around)(int (*)(int), int);
static int (*count)();

static int deeper(int v)
{
	if (v == 0)
		throw std::runtime_error("from below");
	std::string keep(static_cast<size_t>(v) * 40, 'x'); // something to destroy on the way
	return around(deeper, v - 1) + static_cast<int>(keep.size());
}

// Below 0 the function is called twice; the second time throws.
static int second_time(int v)
{
	static thread_local int calls;

	if (++calls % 2 == 0)
		throw v;
	return v;
}

static void *many(void *arg)
{
	int *caught = static_cast<int *>(arg);

	for (int i = 0; i < 2000; i++) {
		try {
			around(deeper, i % 7);
		} catch (const std::runtime_error &e) {
			*caught += std::string(e.what()) == "from below";
		}
		try {
			around(second_time, -5);
		} catch (int v) {
			*caught += v == -5;
		}
	}
	return nullptr;
}

static int leave_thread(int v)
{
	if (v)
		return around(leave_thread, v - 1);
	pthread_exit(reinterpret_cast<void *>(77));
}

static int wait_for_ever(int v)
{
	if (v)
		return around(wait_for_ever, v - 1);
	for (;;)
		pause();
}

static void *leaver(void *)
{
	around(leave_thread, 3);
	return nullptr;
}

static void *waiter(void *)
{
	around(wait_for_ever, 3);
	return nullptr;
}

int main(int argc, char **argv)
{
	void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr, *result = nullptr;
	int caught[5] = {0, 0, 0, 0, 0}, expected = 0, all = 0;
	pthread_t t[4];

	if (!h) {
		std::printf("%s\n", argc > 1 ? dlerror() : "which library?");
		return 2;
	}
	around = reinterpret_cast<int (*)(int (*)(int), int)>(dlsym(h, "cleanup_around"));
	count = reinterpret_cast<int (*)()>(dlsym(h, "cleanup_count"));
	if (!around || !count)
		return 2;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], nullptr, many, &caught[i]);
	many(&caught[4]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], nullptr);
	for (int c : caught)
		all += c;
	for (int i = 0; i < 2000; i++)
		expected += i % 7 + 1 + 3;
	expected *= 5;

	pthread_create(&t[0], nullptr, leaver, nullptr);
	pthread_join(t[0], &result);
	expected += 4;
	all += result == reinterpret_cast<void *>(77);

	pthread_create(&t[0], nullptr, waiter, nullptr);
	usleep(50000);
	pthread_cancel(t[0]);
	pthread_join(t[0], &result);
	expected += 4;
	all += result == PTHREAD_CANCELED;

	bool ok = all == 20002 && (argc > 2 || count() == expected);
	if (!ok)
		std::printf("%d arrived, %d of %d cleanups\n", all, count(), expected);
	else
		std::printf("ok\n");
	return !ok;
}
