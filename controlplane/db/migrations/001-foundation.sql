-- Foundation: organisation, people, agents, gateways, configuration, holds, stops, traffic, audit.
-- The application's role owns these tables. Rights that it must not have itself are revoked from it below.

create table orgs (
  id          text primary key,
  name        text not null,
  plan        text not null default 'Enterprise',
  created_at  timestamptz not null default now()
);
-- One installation is one organisation: two first starts at once must not make two.
create unique index orgs_only_one on orgs ((true));

create table users (
  id            text primary key,
  org_id        text not null references orgs(id),
  email         text not null,
  name          text not null,
  role          text not null check (role in ('owner','admin','member','viewer')),
  status        text not null default 'active' check (status in ('active','suspended')),
  password_hash text not null,
  groups        text[] not null default '{}',
  created_at    timestamptz not null default now()
);
create unique index users_email on users (org_id, lower(email));

create table sessions (
  id_hash     bytea primary key,
  user_id     text not null references users(id) on delete cascade,
  created_at  timestamptz not null default now(),
  seen_at     timestamptz not null default now(),
  expires_at  timestamptz not null
);

create table agents (
  id             text primary key,
  org_id         text not null references orgs(id),
  name           text not null,
  runtime        text not null default '',
  environment    text not null default 'development',
  status         text not null default 'active' check (status in ('active','suspended','revoked')),
  capabilities   text[] not null default '{}',
  metadata       jsonb not null default '{}',
  api_key_prefix text,
  api_key_sha256 bytea,
  gateway_id     text,
  source         text not null default 'api' check (source in ('kubernetes','api','file')),
  managed_by     text,
  last_seen_at   timestamptz,
  created_at     timestamptz not null default now()
);
create unique index agents_name on agents (org_id, name) where status <> 'revoked';
create index agents_prefix on agents (api_key_prefix);

create table gateways (
  id           text primary key,
  org_id       text not null references orgs(id),
  -- `namespace/name`
  name         text not null,
  host         text not null default '127.0.0.1',
  port         integer not null default 9443,
  -- a parsed GatewaySpec
  spec         jsonb not null,
  token_sha256 bytea,
  -- SHA-256('sync:' + token): signs what this gateway is sent
  sync_key     bytea,
  source       text not null default 'api' check (source in ('kubernetes','api','file')),
  managed_by   text,
  created_at   timestamptz not null default now()
);
create unique index gateways_name on gateways (org_id, name);
create unique index gateways_token on gateways (token_sha256);

create table connectors (
  id             text primary key,
  org_id         text not null references orgs(id),
  -- `namespace/name` from manifests, else the type (made unique with a suffix)
  name           text not null,
  type           text not null,
  -- gateway ids it serves; empty = all of the installation
  gateway_ids    text[] not null default '{}',
  -- a parsed ConnectorSpec
  spec           jsonb not null,
  -- {key_id, nonce, ciphertext} of AES-256-GCM; null = none
  credential     jsonb,
  source         text not null default 'api' check (source in ('kubernetes','api','file')),
  managed_by     text,
  created_at     timestamptz not null default now(),
  updated_at     timestamptz not null default now()
);
create unique index connectors_name on connectors (org_id, name);

create table permissions (
  id             text primary key,
  org_id         text not null references orgs(id),
  gateway_id     text not null references gateways(id) on delete cascade,
  agent          text not null default '*',
  connector_type text not null,
  action_pattern text not null,
  decision       text not null check (decision in ('allow','deny','require_approval')),
  reason         text,
  source         text not null default 'api' check (source in ('kubernetes','api','file')),
  managed_by     text,
  -- `Permission/namespace/name` for rows that came from one manifest
  owner          text,
  created_at     timestamptz not null default now()
);
create unique index permissions_key on permissions (gateway_id, agent, connector_type, action_pattern, coalesce(owner, ''));
create index permissions_owner on permissions (owner) where owner is not null;

create table policies (
  id          text primary key,
  org_id      text not null references orgs(id),
  name        text not null,
  description text not null default '',
  enabled     boolean not null default true,
  priority    integer not null default 100,
  tags        text[] not null default '{}',
  mode        text not null default 'enforce' check (mode in ('enforce','monitor')),
  -- gateway ids; empty = all
  gateway_ids text[] not null default '{}',
  -- newest accepted text; `active_yaml` is the newest whose tests passed and is what is in force
  policy_yaml text not null,
  active_yaml text,
  version     integer not null default 1,
  active_version integer,
  tests       jsonb not null default '[]',
  source      text not null default 'api' check (source in ('kubernetes','api','file')),
  managed_by  text,
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now()
);
create unique index policies_name on policies (org_id, name) where source <> 'api';

-- What the operator or the manifests folder last applied, one row an object.
create table desired (
  kind       text not null,
  namespace  text not null,
  name       text not null,
  uid        text not null,
  generation bigint not null,
  source     text not null,
  managed_by text not null,
  accepted   boolean not null,
  reasons    text[] not null default '{}',
  spec       jsonb not null,
  updated_at timestamptz not null default now(),
  primary key (kind, namespace, name)
);

create table manifest_problems (
  source     text not null,
  file       text not null,
  line       integer,
  message    text not null,
  at         timestamptz not null default now()
);

-- Raised by one in every transaction that changes what a gateway may see; NOTIFY carries only this number.
create table config_version (
  only_row boolean primary key default true check (only_row),
  version  bigint not null
);
insert into config_version (version) values (1);

create table settings (
  org_id text not null references orgs(id),
  key    text not null,
  -- clear text for keys that are not secret, else {key_id, nonce, ciphertext}
  value  jsonb not null,
  primary key (org_id, key)
);

create table signing_keys (
  kid        text primary key,
  alg        text not null,
  public_jwk jsonb not null,
  private_key jsonb not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

create table approvals (
  id           text primary key,
  org_id       text not null references orgs(id),
  kind         text not null check (kind in ('action','hold')),
  status       text not null default 'pending' check (status in ('pending','approved','denied','expired','cancelled')),
  gateway_id   text references gateways(id) on delete set null,
  agent        text not null,
  act_id       text,
  -- hex SHA-256 that ties a hold to exactly one request; null for kind action
  binding      text,
  -- everything of an ApprovalCard that does not change
  card         jsonb not null,
  required_approver_groups text[] not null default '{}',
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  responded_at timestamptz,
  responded_by text,
  via          text,
  note         text,
  -- the one time an approved hold was let through
  spent_at     timestamptz
);
create index approvals_pending on approvals (org_id, status, expires_at);
create index approvals_agent on approvals (org_id, agent, status);
-- One open card per identical request.
create unique index approvals_binding on approvals (binding) where kind = 'hold' and status = 'pending';
create index approvals_binding_all on approvals (binding, created_at desc);
-- Replicas and gateways that were away look for what was answered in the last seconds.
create index approvals_responded on approvals (responded_at) where responded_at is not null;

create table kill_switches (
  org_id text not null references orgs(id),
  scope  text not null,
  source text not null,
  reason text not null,
  activated_by text not null,
  since  timestamptz not null default now(),
  primary key (org_id, scope, source)
);
create sequence kill_seq;

create table audit_events (
  id                bigint generated always as identity,
  event_type        text not null,
  org_id            text not null,
  agent_id          text,
  user_id           text,
  action_request_id text,
  details           jsonb not null default '{}',
  created_at        timestamptz not null default now()
);
create unique index audit_org_id on audit_events (org_id, id);
create index audit_action on audit_events (action_request_id, id) where action_request_id is not null;
create index audit_time on audit_events using brin (created_at);

-- Append-only by right: even the owning role gets "permission denied". Retention goes through a function of its own.
revoke update, delete, truncate on audit_events from public;
do $$ begin execute format('revoke update, delete, truncate on audit_events from %I', current_user); end $$;

-- The one way out of the audit log. The owner gives itself the right for the length of this statement: no other
-- transaction ever sees it granted, and a failure rolls the grant back with everything else.
create function purge_audit_events(of_org text, older_than timestamptz) returns bigint
language plpgsql set search_path = public as $$
declare
  purged bigint;
begin
  execute format('grant delete on audit_events to %I', current_user);
  delete from audit_events where org_id = of_org and created_at < older_than;
  get diagnostics purged = row_count;
  execute format('revoke delete on audit_events from %I', current_user);
  return purged;
end $$;

-- One row per governed request, partitioned by day (UTC). `id` repeats only when a batch is sent again.
create table traffic (
  id               text not null,
  time             timestamptz not null,
  seq              bigint not null,
  process_id       text not null,
  org_id           text not null,
  gateway          text not null,
  agent            text,
  connector        text,
  action_type      text,
  decision         text not null,
  would            text,
  note             text,
  reason           text,
  approval_id      text,
  act_id           text,
  method           text not null,
  host             text,
  path             text,
  status           integer,
  error_type       text,
  latency_ms       double precision not null,
  overhead_ms      double precision not null,
  bytes_in         bigint not null,
  bytes_out        bigint not null,
  permission       text,
  policies         text[] not null default '{}',
  snapshot_version bigint,
  transport        text not null,
  primary key (time, id)
) partition by range (time);
create index traffic_time on traffic (org_id, time desc, id desc);
create index traffic_agent on traffic (org_id, agent, time desc);
create index traffic_connector on traffic (org_id, connector, time desc);
create table traffic_default partition of traffic default;

-- Makes the partitions of these days. Days far from today stay in the default partition, so that a wrong clock or a
-- hostile gateway cannot make thousands of tables; so does a day whose rows already landed there.
create function ensure_traffic_days(days date[]) returns void
language plpgsql set search_path = public as $$
declare
  day date;
  part text;
begin
  foreach day in array days loop
    part := 'traffic_' || to_char(day, 'YYYYMMDD');
    continue when to_regclass('public.' || part) is not null;
    continue when day < (now() at time zone 'utc')::date - 8 or day > (now() at time zone 'utc')::date + 1;
    perform pg_advisory_xact_lock(hashtext('chaperone traffic partitions'));
    continue when to_regclass('public.' || part) is not null;
    begin
      -- Somebody may have made it while we waited: our cached "there is none" does not notice, this statement does.
      execute format('create table if not exists %I partition of traffic for values from (%L) to (%L)',
        part, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    exception when check_violation then
      raise notice 'rows of % are already in the default partition, they stay there', day;
    end;
  end loop;
end $$;

-- Drops whole days, then what is left of them in the default partition. Returns the number of tables dropped.
create function drop_traffic_before(first_kept date) returns integer
language plpgsql set search_path = public as $$
declare
  part text;
  dropped integer := 0;
begin
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'public.traffic'::regclass and c.relname ~ '^traffic_[0-9]{8}$'
      and c.relname < 'traffic_' || to_char(first_kept, 'YYYYMMDD')
  loop
    execute format('drop table %I', part);
    dropped := dropped + 1;
  end loop;
  delete from traffic_default where time < first_kept::timestamp at time zone 'utc';
  return dropped;
end $$;

create table records_lost (
  process_id text not null,
  from_seq   bigint not null,
  to_seq     bigint not null,
  at         timestamptz not null default now(),
  primary key (process_id, from_seq)
);

create table idempotency_keys (
  org_id     text not null,
  agent_id   text not null,
  key        text not null,
  body_sha256 bytea not null,
  reply      jsonb not null,
  created_at timestamptz not null default now(),
  primary key (org_id, agent_id, key)
);
