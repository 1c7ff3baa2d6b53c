# Compile flags of files that run before the constructor (early.h): they call nothing of libc, nor does the compiler on its
# own. `make lint` looks. Included by the top Makefile.

EARLY_FLAGS := -fno-builtin -fno-stack-protector $(if $(SAN),-fno-sanitize=all) \
	$(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),,-fno-tree-loop-distribute-patterns)
$(B)/obj/preload/entry/early.o $(B)/obj/preload/elf/loaded/elf_object.o: FILE_FLAGS += $(EARLY_FLAGS)
