# The page is assembled into serve_command.c.
$(B)/obj/tools/probe/serve/serve_command.o: tools/probe/serve/live.html
