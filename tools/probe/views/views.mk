# The page is assembled into html.c.
$(B)/obj/tools/probe/views/html.o: tools/probe/views/page.html
