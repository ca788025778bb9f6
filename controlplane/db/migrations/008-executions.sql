-- Orders under way, sealed addresses of webhooks, what retention remembers, and which gateway processes there are.

-- One row per attempt to execute, from before its nonce is used until its outcome is stored: whoever finds one that is
-- too old knows that the replica which wrote it is gone.
create table executions (
  order_id   text primary key,
  act_id     text not null,
  -- null: through gateway_url, to a gateway that no row describes
  gateway_id text,
  -- names the request that a gateway need not have approved by a person: its token was. Null once that was made use of
  pass       text,
  started_at timestamptz not null default clock_timestamp()
);
create index executions_started on executions (started_at);

-- Interrupted by a version that left no trace of them.
insert into executions (order_id, act_id, gateway_id, started_at)
  select 'ord_unknown_' || a.id, a.id, null, n.used_at
  from action_requests a join nonces n on n.act_id = a.id
  where a.status = 'allowed' and n.used_by = 'execute';

-- {key_id, nonce, ciphertext}: the address may carry a secret of its receiver. SQL has no key: the program seals what
-- still rests in `webhook_url` when it starts, and whenever a replica of an older version has added something.
alter table action_requests add column webhook_sealed jsonb;
create index action_requests_unsealed on action_requests (id) where webhook_url is not null;

-- v1 actions whose rows are gone, so that the number of all actions never falls.
alter table maintenance add column actions_purged bigint not null default 0;

-- Which gateway processes are connected to which replica, so that every replica can count all of them. Worth nothing
-- after a crash: replicas say it again within seconds.

create unlogged table replicas (
  id      text primary key,
  -- a replica that has not said for a while that it lives is gone, and its gateways look for another
  seen_at timestamptz not null default clock_timestamp()
);

create unlogged table gateway_processes (
  process_id   text primary key,
  gateway_id   text not null,
  replica_id   text not null,
  connected_at timestamptz not null default clock_timestamp(),
  -- set when its stream ended
  departed_at  timestamptz,
  -- {name, applied_version, sent_version, agents, uptime_seconds} as of `told_at`
  facts        jsonb not null,
  told_at      timestamptz not null default clock_timestamp(),
  -- names the stops that it has acknowledged; null before the first
  kill_state   text
) with (fillfactor = 70);
