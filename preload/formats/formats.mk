# The table leaves out what FORMATS does. Included by the top Makefile.
$(B)/obj/preload/formats/formats.o: FILE_FLAGS += $(NO_FORMATS:%=-DWITHOUT_%)
$(B)/obj/preload/formats/formats.o: $(B)/libraries
