-- Null = every namespace.
alter table users add column namespaces text[];

-- Users who sign in through the identity provider: they have no password, and what they may do follows their groups there.
create table user_identities (
  user_id       text primary key references users(id) on delete cascade,
  issuer        text not null,
  subject       text not null,
  -- sealed; null when the provider no longer vouches for the user: they have to sign in again
  tokens        jsonb,
  checked_at    timestamptz not null default now(),
  -- one replica asks the provider at a time, because refresh tokens may be for one use
  claimed_until timestamptz,
  unique (issuer, subject)
);

-- Sign-ins that the provider answered: each state once, and a code that its page exchanges once within a minute.
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
