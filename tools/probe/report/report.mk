# The page is assembled into html.c.
$(B)/obj/tools/probe/report/html.o: tools/probe/report/page.html
