-- Receivers of exported records, with the lease of the replica that sends to them and totals over all replicas.
create table record_destinations (
  name         text primary key,
  leased_by    text,
  leased_until timestamptz,
  -- when a replica last took the lease: a destination that no replica has any more ends
  seen_at      timestamptz not null default clock_timestamp(),
  -- failed requests in a row, and the end of the back-off after the last one
  attempts     integer not null default 0,
  retry_at     timestamptz,
  sent         bigint not null default 0,
  rejected     bigint not null default 0,
  -- records that retention deleted before they were sent
  dropped      bigint not null default 0,
  errors       bigint not null default 0,
  last_sent_at timestamptz,
  last_error   text
);

-- Records that a destination has not accepted yet. The statement that stores a record writes its row. The row is deleted when the
-- destination has accepted the record, so a record that is committed late with a smaller position is not missed.
create table record_outbox (
  destination text not null,
  position    bigint generated always as identity,
  record_time timestamptz not null,
  record_id   text not null,
  queued_at   timestamptz not null default clock_timestamp(),
  primary key (destination, position)
);
