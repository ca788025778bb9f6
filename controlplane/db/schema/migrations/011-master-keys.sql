-- Master keys of the installation by their ids; no column has a key. The key with the highest number encrypts new secrets.
create table master_keys (
  key_id       text primary key,
  number       integer not null unique,
  began_at     timestamptz not null default clock_timestamp(),
  -- when no secret was encrypted with another key any more; null during a rotation
  completed_at timestamptz,
  -- secrets that the rotation to this key encrypted again
  rewrapped    bigint not null default 0
);

-- Master keys with which each replica decrypts, and the one with which it encrypts. Unlogged: replicas report again within
-- seconds.
create unlogged table replica_keys (
  replica_id text primary key,
  key_ids    text[] not null,
  sealing_id text not null,
  seen_at    timestamptz not null default clock_timestamp()
);
