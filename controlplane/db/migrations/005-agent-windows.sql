-- The last requests of each agent, counted by the statement that looks up its key: all replicas share one window.
-- Unlogged: after a crash of the database the minute begins anew.
create unlogged table agent_windows (
  agent_id    text primary key,
  -- of admitted requests, oldest first, as many as the limit
  hits        timestamptz[] not null,
  -- whether the newest request was admitted
  is_admitted boolean not null
) with (fillfactor = 50);
