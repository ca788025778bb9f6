-- What has to be told to the outside: decision notifications and chat messages, kept until they are delivered.

create table outbox (
  id              bigint generated always as identity primary key,
  -- stays the same over all attempts, so that a receiver can tell a repetition
  event_id        text not null unique,
  org_id          text not null references orgs(id),
  kind            text not null check (kind in ('webhook','chat_post','chat_update','chat_tell')),
  -- messages with the same key leave in the order of `id`, one after the other
  order_key       text not null,
  -- receiver: so many at once per lane, so that one that hangs delays no other
  lane            text not null,
  -- {key_id, nonce, ciphertext}: the address may carry a secret of the receiver; null for chat
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
-- One message per approval, and one update of it, however many replicas look.
create unique index outbox_chat_once on outbox (kind, subject_id) where kind in ('chat_post','chat_update');

-- The message that shows an approval, to be changed when the approval ends.
create table chat_messages (
  approval_id text primary key references approvals(id) on delete cascade,
  channel     text not null,
  ts          text not null,
  -- set once the outcome is shown
  closed_at   timestamptz,
  created_at  timestamptz not null default clock_timestamp()
);
create index chat_messages_open on chat_messages (approval_id) where closed_at is null;

-- Callbacks seen within their window of validity: a second one with the same signature is a replay.
create table chat_callbacks (
  digest bytea primary key,
  at     timestamptz not null default clock_timestamp()
);
create index chat_callbacks_at on chat_callbacks (at);
