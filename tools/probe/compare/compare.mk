# The page is assembled into curves.c.
$(B)/obj/tools/probe/compare/curves.o: tools/probe/compare/curves.html
