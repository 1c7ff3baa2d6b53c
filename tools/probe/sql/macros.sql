-- Macros over the views. Views and macros belong to the session: nothing is written into a database.

-- A moment of a rank's clock by the clock of the first host.
CREATE OR REPLACE TEMP MACRO set_clock_right(ns, ahead_ns, drift, at_ns) AS
  ns - coalesce(ahead_ns, 0) - CAST(trunc(coalesce(drift, 0) * (ns - coalesce(at_ns, ns))) AS BIGINT);

-- A row for each collective operation that all its ranks have entered and left: which rank arrived last, how long after the
-- middle one, and whether another rank was still inside then (waited). wait_ns: of all ranks together; of asynchronous
-- operations, which do not wait when they are called, it is empty.
CREATE OR REPLACE TEMP MACRO last_arrivals() AS TABLE
  WITH listed AS (
    SELECT comm, max(world_ranks) AS world_ranks, max(size) AS size, count(DISTINCT rank) AS users FROM comms GROUP BY comm),
  spans AS (
    SELECT comm, unnest(string_split(replace(world_ranks, '|', ';'), ';')) AS span FROM listed WHERE world_ranks IS NOT NULL),
  -- Members of which there is a folder.
  present AS (
    SELECT s.comm, count(DISTINCT r.rank) AS ranks
    FROM spans s JOIN ranks r ON r.rank BETWEEN CAST(split_part(span, '-', 1) AS BIGINT) AND CAST(split_part(span, '-', -1) AS BIGINT)
    GROUP BY s.comm),
  arrived AS (
    SELECT c.comm, c.comm_seq, c.rank, min(c.step) AS step, min(c.op) AS op, max(c.size) AS size, bool_or(c.dur_ns IS NULL) AS open,
      bool_or(list_contains(string_split(coalesce(c.flags, ''), ';'), 'async')) AS async, min(c.dur_ns) AS dur_ns,
      min(set_clock_right(c.start_ns, r.clock_ahead_ns, r.clock_drift, r.clock_at_ns)) AS start_ns
    FROM calls c LEFT JOIN ranks r ON r.rank = c.rank
    WHERE c.comm IS NOT NULL AND c.comm_seq IS NOT NULL AND c.peer IS NULL AND c.tag IS NULL AND c.parent IS NULL
      AND NOT list_contains(string_split(coalesce(c.flags, ''), ';'), 'localcomm')
    GROUP BY c.comm, c.comm_seq, c.rank),
  placed AS (
    SELECT *, max(start_ns) OVER operation AS last_ns, arg_max(rank, start_ns) OVER operation AS last_rank
    FROM arrived WINDOW operation AS (PARTITION BY comm, comm_seq)),
  operations AS (
    SELECT comm, comm_seq, min(step) AS step, min(op) AS op, count(*) AS ranks, min(start_ns) AS first_ns, max(last_ns) AS last_ns,
      max(last_rank) AS last_rank, max(last_ns) - quantile_disc(start_ns, 0.5) AS behind_ns,
      bool_or(rank <> last_rank AND dur_ns > last_ns - start_ns) AS waited, bool_or(async) AS async,
      CASE WHEN NOT bool_or(async) THEN CAST(sum(least(last_ns - start_ns, dur_ns)) AS BIGINT) END AS wait_ns,
      bool_or(open) AS open, max(size) AS size
    FROM placed GROUP BY comm, comm_seq)
  SELECT o.comm, o.comm_seq, o.step, o.op, o.ranks, o.first_ns, o.last_ns, o.last_rank, o.behind_ns, o.waited, o.async, o.wait_ns
  FROM operations o LEFT JOIN present p ON p.comm = o.comm LEFT JOIN listed l ON l.comm = o.comm
  WHERE NOT o.open AND o.ranks > 1 AND o.ranks = coalesce(p.ranks, least(o.size, (SELECT count(*) FROM ranks)))
  ORDER BY o.last_ns;

-- The first tensor of the run with a NaN or an Inf in it. No row: there is none.
CREATE OR REPLACE TEMP MACRO first_nonfinite() AS TABLE
  WITH bad AS (
    SELECT c.*, c.peer IS NOT NULL OR c.tag IS NOT NULL AS message,
      set_clock_right(c.start_ns + CASE WHEN c.io = 'out' THEN coalesce(c.dur_ns, 0) ELSE 0 END,
        r.clock_ahead_ns, r.clock_drift, r.clock_at_ns) AS event_ns
    FROM calls c LEFT JOIN ranks r ON r.rank = c.rank
    WHERE (c.nans > 0 OR c.infs > 0) AND NOT (c.lib = 'aten' AND is_unwritten(c.op, c.io, c.index))),
  -- Of one communicator the operation's number is surer than clocks.
  ordered AS (
    SELECT *, row_number() OVER (PARTITION BY comm, message ORDER BY CASE WHEN NOT message THEN comm_seq END,
      CASE WHEN NOT message AND comm_seq IS NOT NULL THEN io = 'out' END, step, event_ns) AS place
    FROM bad)
  SELECT rank, step, comm, comm_seq, op, api, io, index, name, dtype, shape, count, nans, infs, min, max, seq, stack_id, event_ns
  FROM ordered WHERE place = 1 ORDER BY step, event_ns LIMIT 1;

-- How long each step took. source scalars: what the training says of itself (scalar iteration-time); source calls: from a
-- rank's first call of the step to its first one of the next step, so the last step has none.
CREATE OR REPLACE TEMP MACRO step_times() AS TABLE
  WITH told AS (
    SELECT rank, step, value AS ms, 'scalars' AS source FROM scalars WHERE name = 'iteration-time'),
  begun AS (
    SELECT rank, step, (lead(start_ns) OVER (PARTITION BY rank ORDER BY step) - start_ns) / 1e6 AS ms, 'calls' AS source FROM steps),
  each AS (
    SELECT * FROM told UNION ALL SELECT * FROM begun WHERE ms IS NOT NULL AND NOT EXISTS (FROM told))
  SELECT step, count(*) AS ranks, avg(ms) AS mean_ms, min(ms) AS min_ms, max(ms) AS max_ms, arg_max(rank, ms) AS slowest_rank,
    any_value(source) AS source
  FROM each GROUP BY step ORDER BY step;
