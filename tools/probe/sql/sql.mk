# The macros are assembled into sql_prelude.c.
$(B)/obj/tools/probe/sql/sql_prelude.o: tools/probe/sql/macros.sql
