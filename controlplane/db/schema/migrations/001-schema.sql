-- The schema. The role of the control plane owns all tables; rights that it must not have are revoked below.

-- One installation is one organisation.
create table orgs (
  id                     text primary key,
  name                   text not null,
  plan                   text not null default 'Enterprise',
  created_at             timestamptz not null default now(),
  -- Of the plan Enterprise; null = unlimited. Other plans have a fixed number of days.
  audit_retention_days   integer default 365 check (audit_retention_days > 0),
  -- First start of an agent on this machine: from then on the first owner registers through the owner link.
  owner_link_required_at timestamptz,
  -- First sign-in of an administrator: from then on the owner's token of a cluster works only as break-glass.
  administered_at        timestamptz
);
-- Concurrent first starts create one organisation.
create unique index orgs_only_one on orgs ((true));

create table settings (
  org_id text not null references orgs(id),
  key    text not null,
  -- plain text for keys that are not secret, else {key_id, nonce, ciphertext}
  value  jsonb not null,
  primary key (org_id, key)
);

create table signing_keys (
  kid         text primary key,
  alg         text not null,
  public_jwk  jsonb not null,
  private_key jsonb not null,
  created_at  timestamptz not null default now(),
  retired_at  timestamptz
);

-- Users, their sign-ins and keys

create table users (
  id            text primary key,
  org_id        text not null references orgs(id),
  email         text not null,
  name          text not null,
  role          text not null check (role in ('owner','admin','member','viewer')),
  status        text not null default 'active' check (status in ('active','suspended')),
  password_hash text not null,
  groups        text[] not null default '{}',
  created_at    timestamptz not null default now(),
  -- null = every namespace
  namespaces    text[],
  -- roles below `role`, in namespaces where that one does not count: [{role, namespaces}], null = every namespace
  lower_roles   jsonb not null default '[]'
);
create unique index users_email on users (org_id, lower(email));

-- Users who sign in through the identity provider. They have no password; their groups there determine their rights.
create table user_identities (
  user_id        text primary key references users(id) on delete cascade,
  issuer         text not null,
  subject        text not null,
  -- sealed; null when the provider no longer confirms the user, who then has to sign in again
  tokens         jsonb,
  checked_at     timestamptz not null default now(),
  -- one replica at a time calls the provider, because a refresh token may be valid once
  claimed_until  timestamptz,
  -- whether the provider had verified the address of the user at its last confirmation
  email_verified boolean not null default false,
  unique (issuer, subject)
);

-- Sign-ins that the provider answered: each state once, and a code that the page exchanges once within a minute.
create table provider_sign_ins (
  id_sha256    bytea primary key,
  code_sha256  bytea not null unique,
  challenge    text not null,
  user_id      text not null references users(id) on delete cascade,
  is_page      boolean not null,
  created_at   timestamptz not null default now(),
  exchanged_at timestamptz
);
create index provider_sign_ins_created on provider_sign_ins (created_at);

create table sessions (
  id_hash            bytea primary key,
  user_id            text not null references users(id) on delete cascade,
  created_at         timestamptz not null default now(),
  seen_at            timestamptz not null default now(),
  expires_at         timestamptz not null,
  -- The page sends this secret with every write. Null: the cookie is sufficient.
  page_secret_sha256 bytea
);
create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

create table invitations (
  id           text primary key,
  org_id       text not null references orgs(id),
  email        text not null,
  role         text not null check (role in ('owner','admin','member','viewer')),
  token_sha256 bytea not null,
  invited_by   text,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  used_at      timestamptz
);
create unique index invitations_token on invitations (token_sha256);

-- Links with which the first owner registers: random, valid once, for an hour.
create table owner_links (
  token_sha256 bytea primary key,
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz not null default now() + interval '1 hour'
);

-- Keys `svc_user_…` answer approvals of their user without a browser, and nothing else.
create table approver_keys (
  id           text primary key,
  user_id      text not null references users(id) on delete cascade,
  prefix       text not null,
  sha256       bytea not null,
  created_at   timestamptz not null default now(),
  name         text,
  expires_at   timestamptz not null,
  last_used_at timestamptz
);
create index approver_keys_prefix on approver_keys (prefix);
create index approver_keys_user on approver_keys (user_id);

-- Counts of failed sign-ins: by e-mail address, whether or not a user has it, and by client network.
create table sign_in_failures (
  key_sha256     bytea primary key,
  failures       integer not null,
  last_at        timestamptz not null default now(),
  -- SHA-256 of the e-mail address, by which a password reset removes all counts of the account; null for counts over
  -- all accounts
  account_sha256 bytea
);
create index sign_in_failures_account on sign_in_failures (account_sha256) where account_sha256 is not null;

-- Addresses from which an account signed in: SHA-256 of the e-mail address and the client's network. Attempts from
-- these addresses are counted separately.
create table sign_in_addresses (
  pair_sha256 bytea primary key,
  last_at     timestamptz not null default now()
);
create index sign_in_addresses_last on sign_in_addresses (last_at);

-- Configuration. `origin`: where a row that no manifest made comes from; null for rows of manifests.

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
  created_at     timestamptz not null default now(),
  origin         text check (origin in ('dashboard', 'command_line', 'built_in'))
);
create unique index agents_name on agents (org_id, name) where status <> 'revoked';
create index agents_prefix on agents (api_key_prefix);
create index agents_gateway on agents (gateway_id);

-- Gateways that served an agent recently: records of requests that they forwarded may arrive after the agent was bound to
-- another Gateway or revoked.
create table former_gateways (
  agent        text not null,
  -- empty = every Gateway
  gateway_id   text not null,
  served_until timestamptz not null,
  primary key (agent, gateway_id)
);
create index former_gateways_until on former_gateways (served_until);

create function record_former_gateway() returns trigger
language plpgsql set search_path = public as $$
begin
  delete from former_gateways where served_until < clock_timestamp() - interval '7 days';
  insert into former_gateways (agent, gateway_id, served_until)
    values (old.name, coalesce(old.gateway_id, ''), clock_timestamp())
    on conflict (agent, gateway_id) do update set served_until = excluded.served_until;
  return null;
end $$;

create trigger agents_former_gateway after update on agents for each row
  when (old.status <> 'revoked' and (old.gateway_id is distinct from new.gateway_id or old.name <> new.name
    or new.status = 'revoked'))
  execute function record_former_gateway();

-- Admitted requests of each agent in the last minute. The statement that looks up the key counts them, so that all replicas
-- share one window. Unlogged: after a crash of the database the window restarts.
create unlogged table agent_windows (
  agent_id text primary key,
  -- times of admitted requests, oldest first, at most as many as the limit
  hits     timestamptz[] not null,
  -- how many of the newest requests, which one statement counted, were admitted
  admitted integer not null default 0
) with (fillfactor = 50);

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
  -- SHA-256('sync:' + token): signs what this gateway receives
  sync_key     bytea,
  source       text not null default 'api' check (source in ('kubernetes','api','file')),
  managed_by   text,
  created_at   timestamptz not null default now(),
  origin       text check (origin in ('dashboard', 'command_line', 'built_in'))
);
create unique index gateways_name on gateways (name, org_id);
create index gateways_namespace on gateways (split_part(name, '/', 1));
create unique index gateways_token on gateways (token_sha256);

create table connectors (
  id           text primary key,
  org_id       text not null references orgs(id),
  -- `namespace/name` from manifests, else the type (made unique with a suffix)
  name         text not null,
  type         text not null,
  -- ids of the gateways that it serves; empty = all
  gateway_ids  text[] not null default '{}',
  -- a parsed ConnectorSpec
  spec         jsonb not null,
  -- {key_id, nonce, ciphertext} of AES-256-GCM; null = none
  credential   jsonb,
  source       text not null default 'api' check (source in ('kubernetes','api','file')),
  managed_by   text,
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  -- by the id of a Gateway: domains that another connector has there
  lost_domains jsonb not null default '{}',
  origin       text check (origin in ('dashboard', 'command_line', 'built_in'))
);
create unique index connectors_name on connectors (name, org_id);
create index connectors_gateways on connectors using gin (gateway_ids);
create index connectors_everywhere on connectors (id) where gateway_ids = '{}';
create index connectors_declaring on connectors (id) where spec -> 'actions' <> '[]';

-- The bot of a chat token, as the provider identifies it. `owner`: `approvals` or the id of a connector.
create table chat_bots (
  owner        text primary key,
  token_sha256 bytea not null,
  team_id      text,
  bot_id       text,
  user_id      text,
  checked_at   timestamptz not null default clock_timestamp()
);

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
  -- `Permission/namespace/name` for rows of one manifest
  owner          text,
  created_at     timestamptz not null default now(),
  origin         text check (origin in ('dashboard', 'command_line', 'built_in'))
);
create unique index permissions_key on permissions (gateway_id, agent, connector_type, action_pattern, coalesce(owner, ''));
create index permissions_owner on permissions (owner) where owner is not null;

create table policies (
  id               text primary key,
  org_id           text not null references orgs(id),
  name             text not null,
  description      text not null default '',
  enabled          boolean not null default true,
  priority         integer not null default 100,
  tags             text[] not null default '{}',
  mode             text not null default 'enforce' check (mode in ('enforce','monitor')),
  -- gateway ids; empty = all
  gateway_ids      text[] not null default '{}',
  -- newest accepted text; `active_yaml` is the newest whose tests passed, which is in force
  policy_yaml      text not null,
  active_yaml      text,
  version          integer not null default 1,
  active_version   integer,
  tests            jsonb not null default '[]',
  source           text not null default 'api' check (source in ('kubernetes','api','file')),
  managed_by       text,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  -- Gateways that no longer admit the policy: its denies and holds stay there for agents of its own namespace
  lost_gateway_ids text[] not null default '{}',
  -- why the manifest was refused of a policy that has never been in force, whose scope is denied
  invalid          text,
  origin           text check (origin in ('dashboard', 'command_line', 'built_in'))
);
create unique index policies_name on policies (name, org_id) where source <> 'api';

-- Every text that a policy had, for comparison and for going back.
create table policy_versions (
  policy_id   text not null references policies(id) on delete cascade,
  version     integer not null,
  policy_yaml text not null,
  -- its tests passed, so it was put in force
  passed      boolean not null,
  created_at  timestamptz not null default now(),
  primary key (policy_id, version)
);

-- Manifest objects as last pushed by the operator, accepted or not.
create table manifest_objects (
  kind       text not null,
  namespace  text not null,
  name       text not null,
  uid        text not null,
  generation bigint not null,
  source     text not null,
  managed_by text not null,
  accepted   boolean not null,
  reasons    text[] not null default '{}',
  -- {spec, credential, warnings, outcome, ...}: the object with the result of its last evaluation
  stored     jsonb not null,
  -- Gateways that the object references, as `namespace/name`, or `namespace/*` for all of a namespace, each also as
  -- `namespace/`; `*` for an object that may be for any Gateway
  refs       text[] not null,
  updated_at timestamptz not null default now(),
  primary key (kind, namespace, name)
);
-- A change applies again only the objects that reference it.
create index manifest_objects_refs on manifest_objects using gin (refs);
create index manifest_objects_namespace on manifest_objects (namespace);

create table manifest_problems (
  source      text not null,
  file        text not null,
  line        integer,
  message     text not null,
  reported_at timestamptz not null default now()
);

-- Labels of the namespaces of the cluster, by which Gateways admit namespaces.
create table namespaces (
  name   text primary key,
  labels jsonb not null
);

-- Raised by one in every transaction that changes what a gateway receives; NOTIFY carries only this number.
create table config_version (
  only_row boolean primary key default true check (only_row),
  version  bigint not null
);
insert into config_version (version) values (1);

-- Kill switches, and the order of the states that gateways receive from any replica

create table kill_switches (
  org_id       text not null references orgs(id),
  scope        text not null,
  source       text not null,
  reason       text not null,
  activated_by text not null,
  since        timestamptz not null default now(),
  primary key (org_id, scope, source)
);

-- Within one epoch the kill state follows `kill_revision`, the configuration `config_version.version`. The epoch rises when
-- a gateway or a replica has seen a later state than the database has: the database lost commits, by a failover to a
-- standby that lagged or by a restored backup.
create table state_order (
  only_row      boolean primary key default true check (only_row),
  -- milliseconds since 1970
  epoch         bigint not null,
  kill_revision bigint not null
);
insert into state_order (epoch, kill_revision)
values ((extract(epoch from clock_timestamp()) * 1000)::bigint, 1);

-- The row lock keeps revisions in the order of their commits.
create function raise_kill_revision() returns trigger
language plpgsql set search_path = public as $$
begin
  update state_order set kill_revision = kill_revision + 1;
  return null;
end $$;
create trigger kill_switches_revision after insert or update or delete on kill_switches
  for each row execute function raise_kill_revision();

-- Kill switches that were broadcast before they were stored, once they are stored or lifted. A replica or a gateway may
-- hold one for longer; it is not stored a second time.
create table kill_announcements (
  id         text primary key,
  settled_at timestamptz not null default clock_timestamp()
);
create index kill_announcements_settled on kill_announcements (settled_at);

-- Actions of API v1, tokens, executions

create table action_requests (
  id          text primary key,
  org_id      text not null references orgs(id),
  agent_id    text not null,
  -- name of the agent at submission, by which kill switches and approvals refer to it
  agent       text not null,
  status      text not null check (status in
    ('pending_approval','allowed','denied','cancelled','expired','executed','execution_failed')),
  -- `json` keeps the text as it was sent; it is never searched
  action_spec json not null,
  -- the Decision object of v1
  decision    json not null,
  connector   text not null,
  batch_id    text,
  approval_id text,
  -- {key_id, nonce, ciphertext}: the address may contain a secret of its receiver
  webhook     jsonb,
  created_at  timestamptz not null default statement_timestamp()
) with (fillfactor = 90);
create index action_requests_recent on action_requests (org_id, created_at desc);

create table idempotency_keys (
  org_id      text not null,
  agent_id    text not null,
  key         text not null,
  body_sha256 bytea not null,
  reply       jsonb not null,
  created_at  timestamptz not null default now(),
  primary key (org_id, agent_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Refused items of batches in one minute, by agent: a batch is one request to the rate limit, and up to twenty rows.
create table refused_items (
  agent_id text primary key,
  minute   timestamptz not null,
  items    int not null
);

-- One row per decision token. The token is not stored: it is signed again from these claims.
create table nonces (
  jti        text primary key,
  act_id     text not null,
  kid        text not null,
  -- whole seconds, as in the token
  issued_at  timestamptz not null,
  expires_at timestamptz not null,
  used_at    timestamptz,
  used_by    text check (used_by in ('verify','execute','cancel')),
  -- id of the use: the same use, repeated because its answer was lost, succeeds again
  use_id     text
) with (fillfactor = 80);
create unique index nonces_action on nonces (act_id);
create index nonces_expiry on nonces (expires_at);

-- One row per attempt to execute, from before its nonce is used until its outcome is stored. A row that is too old belongs
-- to a replica that ended.
create table executions (
  order_id            text primary key,
  act_id              text not null,
  -- null: through gateway_url, to a gateway that no row describes
  gateway_id          text,
  -- identifies the request for which the gateway needs no further approval; null once used
  request_fingerprint text,
  started_at          timestamptz not null default clock_timestamp(),
  -- the approval that may release one hold of this execution; null: rules alone allowed the action
  approval_id         text,
  released_at         timestamptz
);
create index executions_started on executions (started_at);

-- Orders and results in transit between replicas: a gateway is connected to one replica and may answer to another.
-- Unlogged: orders are never repeated, and a lost result is unknown.
create unlogged table execution_orders (
  id         text primary key,
  gateway_id text not null,
  payload    json not null,
  taken_at   timestamptz,
  created_at timestamptz not null default now()
);

-- Only the result of the process that received the order counts. Empty = passed on by the replica that sent the order.
create unlogged table execution_results (
  order_id   text not null,
  result     json not null,
  created_at timestamptz not null default now(),
  process_id text not null default '',
  primary key (order_id, process_id)
);

-- Approvals

create table approvals (
  id                       text primary key,
  org_id                   text not null references orgs(id),
  kind                     text not null check (kind in ('action','hold')),
  status                   text not null default 'pending'
    check (status in ('pending','approved','denied','expired','cancelled')),
  gateway_id               text references gateways(id) on delete set null,
  agent                    text not null,
  act_id                   text,
  -- hex SHA-256 that ties a hold to exactly one request; null for kind action
  binding                  text,
  -- the immutable part of an ApprovalCard
  card                     jsonb not null,
  required_approver_groups text[] not null default '{}',
  created_at               timestamptz not null default now(),
  expires_at               timestamptz not null,
  responded_at             timestamptz,
  responded_by             text,
  via                      text,
  note                     text,
  -- when an approved hold was let through, which happens once
  spent_at                 timestamptz,
  -- each policy that holds a request requires its own approver groups
  required_groups          jsonb not null default '[]',
  -- [{user_id, by, approved, sets, via, note, at}], in the order of the answers. `sets`: indices in required_groups
  answers                  jsonb not null default '[]',
  -- groups of requests, of all gateway processes, that wait for the approval
  waiting_requests         text[] not null default '{}',
  -- when the last of them disconnected; null while one waits, and where a gateway does not report it
  left_at                  timestamptz
);
create index approvals_pending on approvals (org_id, status, expires_at);
create index approvals_agent on approvals (org_id, agent, status);
-- One open card per identical request of one agent: two agents of one Gateway may have a hold with the same binding.
create unique index approvals_binding on approvals (binding, agent) where kind = 'hold' and status = 'pending';
create index approvals_binding_all on approvals (binding, created_at desc);
-- Replicas and gateways that reconnect read the answers of the last seconds.
create index approvals_responded on approvals (responded_at) where responded_at is not null;

-- Notifications

-- Decision notifications and chat messages, kept until they are delivered.
create table outbox (
  id              bigint generated always as identity primary key,
  -- the same for all attempts, so that a receiver can detect a repetition
  event_id        text not null unique,
  org_id          text not null references orgs(id),
  kind            text not null check (kind in ('webhook','chat_post','chat_update','chat_tell')),
  -- messages with the same key are sent in the order of `id`, one after the other
  order_key       text not null,
  -- the receiver: a limited number at once per lane, so that a hanging receiver delays no other
  lane            text not null,
  -- {key_id, nonce, ciphertext}: the address may contain a secret of the receiver; null for chat
  url             jsonb,
  event           text not null,
  subject_id      text not null,
  payload         jsonb not null default '{}',
  state           text not null default 'pending' check (state in ('pending','delivered','dead','obsolete')),
  attempts        integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  leased_by       text,
  leased_until    timestamptz,
  last_error      text,
  last_status     integer,
  created_at      timestamptz not null default clock_timestamp(),
  ended_at        timestamptz
);
create index outbox_due on outbox (lane, next_attempt_at, id) where state = 'pending';
create index outbox_order on outbox (order_key, id) where state = 'pending';
create index outbox_listing on outbox (org_id, id desc);
create index outbox_ended on outbox (ended_at) where state <> 'pending';
create index outbox_chat on outbox (subject_id) where kind in ('chat_post','chat_update');
-- One message and one final update per approval; one refresh in flight while it is pending.
create unique index outbox_chat_once on outbox (kind, subject_id, event)
  where kind = 'chat_post' or (kind = 'chat_update' and event = 'approval.ended');
create unique index outbox_chat_refresh on outbox (subject_id)
  where kind = 'chat_update' and event = 'approval.answered' and state = 'pending';

-- The message that shows an approval, which is changed when the approval ends. A click counts only on the card as it was
-- posted, and once per nonce; null: the card is posted again before a click counts.
create table chat_messages (
  approval_id    text primary key references approvals(id) on delete cascade,
  channel        text not null,
  ts             text not null,
  -- set once the outcome is shown
  closed_at      timestamptz,
  created_at     timestamptz not null default clock_timestamp(),
  team           text,
  nonce_sha256   bytea,
  content_sha256 bytea
);
create index chat_messages_open on chat_messages (approval_id) where closed_at is null;
create index chat_messages_place on chat_messages (channel, ts);

-- Callbacks received within their window of validity: a second one with the same signature is a replay.
create table chat_callbacks (
  digest      bytea primary key,
  received_at timestamptz not null default clock_timestamp()
);
create index chat_callbacks_received on chat_callbacks (received_at);

-- Audit log

create table audit_events (
  id                bigint generated always as identity,
  event_type        text not null,
  org_id            text not null,
  agent_id          text,
  user_id           text,
  action_request_id text,
  details           jsonb not null default '{}',
  created_at        timestamptz not null default now(),
  -- The namespace that an event concerns: users with rights in some namespaces read the events of these. Null = of the
  -- installation, or of something without a namespace.
  namespace         text
);
create unique index audit_org_id on audit_events (org_id, id);
create index audit_action on audit_events (action_request_id, id) where action_request_id is not null;
-- Retention finds old events by a B-tree: the ranges of a BRIN index cover too much after deletions.
create index audit_created on audit_events (created_at);
create index audit_agent on audit_events (org_id, agent_id, id) where agent_id is not null;
create index audit_owner_token on audit_events (org_id, created_at) where event_type = 'owner_token.used';
-- Begins with the organisation, as the queries do; otherwise the planner also reads all rows of the namespace.
create index audit_namespace on audit_events (org_id, namespace, id) where namespace is not null;

-- Append-only by right: even the owning role gets "permission denied". Retention uses the function below.
revoke update, delete, truncate on audit_events from public;
do $$ begin execute format('revoke update, delete, truncate on audit_events from %I', current_user); end $$;

-- Numbers of audit events up to an id, so that no process counts a long log from its beginning. Later events are added.
create table audit_totals (
  org_id   text not null references orgs(id),
  -- '' = events of all agents
  agent_id text not null default '',
  up_to    bigint not null,
  events   bigint not null,
  primary key (org_id, agent_id)
);

-- Raised by each purge, which invalidates a count that began before it.
create table audit_purges (
  org_id text primary key references orgs(id),
  purges bigint not null
);

-- The only way to delete audit events. The owner grants itself the right within this transaction: no other transaction
-- sees the grant, and a failure rolls it back.
create function purge_audit_events(of_org text, older_than timestamptz) returns bigint
language plpgsql set search_path = public as $$
declare
  purged bigint;
begin
  -- Waits for transactions that write a total.
  insert into audit_purges as p (org_id, purges) values (of_org, 1)
    on conflict (org_id) do update set purges = p.purges + 1;
  execute format('grant delete on audit_events to %I', current_user);
  with gone as (
    delete from audit_events where org_id = of_org and created_at < older_than returning id, agent_id
  ), counted as (
    select t.agent_id, count(*) as events from audit_totals t join gone g on g.agent_id = t.agent_id and g.id <= t.up_to
      where t.org_id = of_org group by t.agent_id
    union all
    select t.agent_id, count(*) from audit_totals t join gone g on g.id <= t.up_to
      where t.org_id = of_org and t.agent_id = '' group by t.agent_id
  ), reduced as (
    update audit_totals t set events = t.events - c.events from counted c
      where t.org_id = of_org and t.agent_id = c.agent_id
  )
  select count(*) into purged from gone;
  execute format('revoke delete on audit_events from %I', current_user);
  return purged;
end $$;

-- Traffic

-- One row per governed request, partitioned by day (UTC). `id` repeats only when a batch is sent again.
create table traffic (
  id               text not null,
  time             timestamptz not null,
  seq              bigint not null,
  process_id       text not null,
  org_id           text not null,
  gateway          text not null,
  agent            text,
  -- {pod, pod_uid, sandbox, claim, claim_uid}; null for a request from outside of a pod
  instance         jsonb,
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
  -- the decision and its reasons at that time; the rules of today may decide otherwise
  why              jsonb,
  -- all actions that an ambiguous request may have been
  candidates       text[],
  -- an aggregate record: what it counts, and its number of requests
  refusals         jsonb,
  requests         bigint not null default 1,
  -- names and number of the actions of a request with several
  actions          text[],
  action_count     integer,
  -- owner of the provider handles that the request names
  handle           text,
  -- effect classes of the actions; null where there is none
  effects          text[],
  primary key (time, id)
) partition by range (time);
create index traffic_agent on traffic (org_id, agent, time desc);
create index traffic_connector on traffic (org_id, connector, time desc);
-- Users with rights in some namespaces read the newest requests of these. Requests of agents and Gateways without a
-- namespace (one machine) are not in the index. Begins with the organisation, as the queries do.
create index traffic_namespace on traffic (org_id, split_part(coalesce(agent, gateway), '/', 1), time desc, id desc)
  where coalesce(agent, gateway) like '_%/%';
-- Hosts without a connector are listed from the records of their refusals.
create index traffic_unowned on traffic (org_id, time desc) where reason = 'unknown_host';
create table traffic_default partition of traffic default;

-- Creates the partitions of these days. Days far from today stay in the default partition, so that a wrong clock or a
-- hostile gateway cannot create thousands of tables; so does a day whose rows are already there.
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
      -- Another transaction may have created it while this one waited: the cached lookup above does not see it.
      execute format('create table if not exists %I partition of traffic for values from (%L) to (%L)',
        part, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    exception when check_violation then
      raise notice 'rows of % are already in the default partition, they stay there', day;
    end;
  end loop;
end $$;

-- Drops whole days, then deletes their rows in the default partition. Returns the number of dropped tables.
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

-- Ranges of records that were never stored, by process and by the reporter (pod:<uid> or gateway:<id>).
create table lost_records (
  process_id  text not null,
  from_seq    bigint not null,
  to_seq      bigint not null,
  reported_at timestamptz not null default now(),
  reason      text not null default 'unwritten',
  reported_by text not null default '',
  primary key (process_id, from_seq, reason, reported_by)
);
create index lost_records_reported on lost_records (reported_at);

-- The agent that received a session, response, file, thread or batch from a provider, by a hash of its id.
create table provider_handles (
  hash        text not null,
  agent_id    text not null,
  kind        text not null,
  gateway     text not null,
  received_at timestamptz not null default now(),
  primary key (hash, agent_id)
);
create index provider_handles_age on provider_handles (received_at);
create index provider_handles_agent on provider_handles (agent_id, received_at);

-- Gateway processes, their owners, and what replicas share about them

-- Pods with a sidecar as the operator reports them: the only source of a sidecar's agent and Gateway. The first report of a
-- UID and its deletion are final, because the API server never uses a UID twice.
create table pod_identities (
  pod_uid         text primary key,
  namespace       text not null,
  name            text not null,
  -- both namespace/name
  agent           text not null,
  gateway         text not null,
  -- KIND NAME, such as "Deployment web"
  workload        text,
  -- {name, uid} in the namespace of the pod: the Sandbox that owns it, and the SandboxClaim that has the Sandbox
  sandbox         jsonb,
  claim           jsonb,
  reported_at     timestamptz not null default clock_timestamp(),
  -- the object is gone; a terminating pod is not deleted yet
  deleted_at      timestamptz,
  -- newest token that the pod presented, and when it did first: older tokens are refused soon afterwards
  token_issued_at timestamptz,
  token_seen_at   timestamptz,
  -- ServiceAccount of the pod according to the API server, whose tokens belong to no user; null until the sidecar has
  -- presented a token
  service_account text
);
create index pod_identities_deleted on pod_identities (deleted_at) where deleted_at is not null;
create index pod_identities_agent on pod_identities (agent);
create index pod_identities_service_account on pod_identities (namespace, service_account);

-- Pods that presented a valid token before the operator reported them. Unlogged: they try again.
create unlogged table unknown_pods (
  pod_uid       text primary key,
  first_seen_at timestamptz not null default clock_timestamp()
);

-- Owners of gateway processes: the pod of a sidecar, else the gateway of an enrolment token. The first call with an id
-- decides; no other caller may open its stream, acknowledge in its name or report its records.
create table process_owners (
  process_id    text primary key,
  -- pod:<uid> or gateway:<id>
  owner         text not null,
  seen_at       timestamptz not null default clock_timestamp(),
  -- the quota of new process ids counts by this time, because ids of running processes are seen again every hour
  first_seen_at timestamptz not null default clock_timestamp()
);
create index process_owners_owner on process_owners (owner, first_seen_at);
create index process_owners_seen on process_owners (seen_at);

-- Unlogged, as the tables below: replicas report their processes again within seconds.
create unlogged table replicas (
  id      text primary key,
  -- a replica that has not reported for a while has ended, and its gateways connect to another
  seen_at timestamptz not null default clock_timestamp()
);

create unlogged table gateway_processes (
  process_id      text primary key,
  gateway_id      text not null,
  replica_id      text not null,
  connected_at    timestamptz not null default clock_timestamp(),
  disconnected_at timestamptz,
  -- {name, applied_version, sent_version, agents, uptime_seconds} as of `reported_at`
  facts           jsonb not null,
  reported_at     timestamptz not null default clock_timestamp(),
  -- names the kill switches that the process has acknowledged; null before the first acknowledgement
  kill_state      text
) with (fillfactor = 70);

-- Messages of gateway processes to the replica that holds their stream. A status is sent again, and a gateway that connects
-- receives every kill switch.
create unlogged table replica_mailbox (
  id           bigint generated always as identity primary key,
  process_id   text not null,
  gateway_id   text not null,
  kind         text not null check (kind in ('ack','status')),
  body         json not null,
  published_at timestamptz not null default clock_timestamp()
);
create index replica_mailbox_process on replica_mailbox (process_id);

-- Quotas of an agent over several gateway processes: admitted requests, and slots that processes have leased. A crash
-- grants at most one further window.

create unlogged table quota_uses (
  gateway_id text not null,
  agent      text not null,
  used_at    timestamptz not null
);
create index quota_uses_agent on quota_uses (gateway_id, agent, used_at);

create unlogged table quota_leases (
  gateway_id text not null,
  agent      text not null,
  process_id text not null,
  slots      integer not null check (slots > 0),
  leased_at  timestamptz not null,
  primary key (gateway_id, agent, process_id)
);

-- Ends the lease of the process, counts the requests that it admitted since (ages in ms), and leases again. A lease that
-- is never returned counts as used when it was granted, because its process ended without a report.
create function lease_quota(of_gateway text, of_agent text, to_process text, per_minute integer, wanted integer,
  ages double precision[], out granted integer, out retry_after_ms double precision)
language plpgsql set search_path = public as $$
declare
  moment timestamptz;
  taken integer;
begin
  perform pg_advisory_xact_lock(hashtext('chaperone slots ' || of_gateway || ' ' || of_agent));
  moment := clock_timestamp();
  delete from quota_uses
    where gateway_id = of_gateway and agent = of_agent and used_at <= moment - interval '60 seconds';
  delete from quota_leases
    where gateway_id = of_gateway and agent = of_agent
      and (process_id = to_process or leased_at <= moment - interval '60 seconds');
  insert into quota_uses (gateway_id, agent, used_at)
    select of_gateway, of_agent, moment - make_interval(secs => age / 1000)
    from unnest(ages) as age where age < 60000;
  select (select count(*) from quota_uses where gateway_id = of_gateway and agent = of_agent)
    + (select coalesce(sum(slots), 0) from quota_leases where gateway_id = of_gateway and agent = of_agent) into taken;
  granted := greatest(0, least(wanted, per_minute - taken));
  retry_after_ms := 0;
  if granted > 0 then
    insert into quota_leases (gateway_id, agent, process_id, slots, leased_at)
      values (of_gateway, of_agent, to_process, granted, moment);
  elsif wanted > 0 then
    -- Time until enough uses are 60 s old that one more fits.
    select 60000 - extract(epoch from moment - freed.at) * 1000 into retry_after_ms
    from (
      select used_at as at from quota_uses where gateway_id = of_gateway and agent = of_agent
      union all
      select leased_at from quota_leases, generate_series(1, slots) where gateway_id = of_gateway and agent = of_agent
    ) as freed order by freed.at offset taken - per_minute limit 1;
  end if;
end $$;

create table maintenance (
  only_row        boolean primary key default true check (only_row),
  last_cleanup_at timestamptz,
  -- requests and v1 actions whose rows were deleted, so that totals never fall
  traffic_purged  bigint not null default 0,
  actions_purged  bigint not null default 0
);
insert into maintenance default values;
