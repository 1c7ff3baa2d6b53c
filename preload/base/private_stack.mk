# Files that run on the caller's stack, which may be small: what takes more than some hundred bytes runs on a private stack (private_stack.h).
# Included by the top Makefile. Sanitizers make larger frames.

# clang's frames are a little larger than gcc's.
SMALL_FRAMES := $(if $(SAN),,-Wframe-larger-than=$(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),1248,1184))
$(foreach f,base/private_stack call/call call/async call/describe call/data/buffer_check call/first_use call/pending call/claims call/record call/step \
	call/recorder entry/stubs/ffi entry/dl_hooks entry/process entry/stubs/bound_stub, \
	$(eval $(B)/obj/preload/$(f).o: FILE_FLAGS += $(SMALL_FRAMES)))
$(foreach f,adapter mpi_comm data request,$(eval $(B)/obj/wrappers/mpi/$(f).o: FILE_FLAGS += $(SMALL_FRAMES)))
# A onecclUniqueId has 4096 bytes and is passed by value: clang has the copy that it passes on in the wrapper's frame.
$(B)/obj/gen/wrap_oneccl.o: SMALL_FRAMES = $(if $(SAN),,-Wframe-larger-than=5120)
