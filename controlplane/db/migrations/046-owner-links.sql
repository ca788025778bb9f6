-- Links with which the first owner registers: random, for one use, for an hour.
create table owner_links (
  token_sha256 bytea primary key,
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz not null default now() + interval '1 hour'
);
