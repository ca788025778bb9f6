-- What gateway processes said to a replica that does not hold their stream, on its way to the one that does.
-- Worth nothing after a crash: a status comes again, and a gateway that connects anew is told every stop anew.

create unlogged table process_words (
  id         bigint generated always as identity primary key,
  process_id text not null,
  gateway_id text not null,
  kind       text not null check (kind in ('ack','status')),
  body       json not null,
  said_at    timestamptz not null default clock_timestamp()
);
create index process_words_process on process_words (process_id);
