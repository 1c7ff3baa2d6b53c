# Compile flags of the files here; they go where the folder goes. Included by the top Makefile.

$(B)/obj/$(dir $(lastword $(MAKEFILE_LIST)))explain.o: FILE_FLAGS += -DCOMPILED_LIBRARIES='"$(LIBS_OF)"'
$(B)/obj/$(dir $(lastword $(MAKEFILE_LIST)))explain.o: $(B)/libraries
