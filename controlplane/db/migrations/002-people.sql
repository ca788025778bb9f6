-- Invitations, approver keys, and the memory of failed sign-ins.

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

-- `svc_user_…`: lets its user answer approvals without a browser, and nothing else.
create table user_keys (
  id         text primary key,
  user_id    text not null references users(id) on delete cascade,
  prefix     text not null,
  sha256     bytea not null,
  created_at timestamptz not null default now()
);
create index user_keys_prefix on user_keys (prefix);

-- One row per e-mail address that somebody failed to sign in as, whether a user has it or not.
create table login_failures (
  email_sha256 bytea primary key,
  failures     integer not null,
  last_at      timestamptz not null default now()
);

create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);
create index agents_gateway on agents (gateway_id);
