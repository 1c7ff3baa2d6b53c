// SPDX-License-Identifier: Apache-2.0
// Classes for tests/unit/test_cxx_shadow.c: an abstract one that is exported, and backends of it whose classes are hidden, as
// frameworks have them. Built twice, -DBASE: the abstract class; -DBACKENDS: a library of backends (and its own weak copies).
#define EXPORTED __attribute__((visibility("default")))

namespace toy {

class EXPORTED Lib {
public:
	virtual ~Lib() = default;
	virtual int first(int x) { return x; } // inline: each library has a copy
	virtual int reduce(const void *p, unsigned long n);
	virtual int gather(const void *p, unsigned long n) { return p ? static_cast<int>(n) : -1; }
	virtual int pure() = 0;
	long member = 42;
};

class EXPORTED Other {
public:
	virtual ~Other() = default;
	virtual int reduce(int x) { return x; }
	long other = 43;
};

} // namespace toy

extern "C" {
EXPORTED int call_reduce(toy::Lib *l, const void *p, unsigned long n);
EXPORTED int call_first(toy::Lib *l, int x);
EXPORTED int call_pure(toy::Lib *l);
}

#ifdef BASE
int toy::Lib::reduce(const void *, unsigned long) { return 0; }

int call_reduce(toy::Lib *l, const void *p, unsigned long n) { return l->reduce(p, n); }
int call_first(toy::Lib *l, int x) { return l->first(x); }
int call_pure(toy::Lib *l) { return l->pure(); }
#endif

#ifdef BACKENDS
namespace {

class Direct : public toy::Lib {
public:
	int reduce(const void *, unsigned long n) override
	{
		if (n == 7)
			throw 7;
		return static_cast<int>(10 * n) + static_cast<int>(member);
	}
	int pure() override { return 1; }
	virtual int more() { return 5; } // a table longer than the base's
};

class Further : public Direct {
public:
	int reduce(const void *p, unsigned long n) override { return Direct::reduce(p, n) + 1; }
	int pure() override { return 2; }
};

class Plain : public toy::Lib {
public:
	int pure() override { return 3; }
};

class Several : public toy::Lib, public toy::Other {
public:
	int reduce(const void *, unsigned long) override { return 70; }
	int pure() override { return 4; }
};

class Virtually : public virtual toy::Lib {
public:
	int reduce(const void *, unsigned long) override { return 80; }
	int pure() override { return 5; }
};

class Deep : public Virtually {
public:
	int pure() override { return 6; }
};

class Stranger : public toy::Other {
};

Direct direct[2];
Further further;
Plain plain;
Several several;
Virtually virtually;
Deep deep;
Stranger stranger;

} // namespace

extern "C" {
EXPORTED void *make_direct(int i) { return static_cast<toy::Lib *>(&direct[i]); }
EXPORTED void *make_further() { return static_cast<toy::Lib *>(&further); }
EXPORTED void *make_plain() { return static_cast<toy::Lib *>(&plain); }
EXPORTED void *make_several() { return static_cast<toy::Lib *>(&several); }
EXPORTED void *make_several_other() { return static_cast<toy::Other *>(&several); }
EXPORTED void *make_virtually() { return &virtually; }
EXPORTED void *make_deep() { return &deep; }
EXPORTED void *make_stranger() { return static_cast<toy::Other *>(&stranger); }

// What the program itself asks of its objects.
EXPORTED int is_direct(toy::Lib *l) { return dynamic_cast<Direct *>(l) != nullptr; }
EXPORTED int is_further(toy::Lib *l) { return dynamic_cast<Further *>(l) != nullptr; }
EXPORTED int call_more(toy::Lib *l) { return static_cast<Direct *>(l)->more(); }
EXPORTED int catch_reduce(toy::Lib *l)
{
	try {
		return l->reduce(nullptr, 7);
	} catch (int x) {
		return 100 + x;
	}
}
}
#endif
