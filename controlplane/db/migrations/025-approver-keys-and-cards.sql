-- An administrator may have made the earlier keys in the name of a member: each user makes their own.
delete from user_keys;
alter table user_keys
  add column name text,
  add column expires_at timestamptz not null,
  add column last_used_at timestamptz;
create index user_keys_user on user_keys (user_id);

-- A click counts only on the card as it was posted, and once per nonce. Null: the card is posted anew before it counts.
alter table chat_messages
  add column team text,
  add column nonce_sha256 bytea,
  add column content_sha256 bytea;
create index chat_messages_place on chat_messages (channel, ts);

-- One message and one final update per approval; one refresh in flight while it is pending.
drop index outbox_chat_once;
create index outbox_chat on outbox (subject_id) where kind in ('chat_post','chat_update');
create unique index outbox_chat_once on outbox (kind, subject_id, event)
  where kind = 'chat_post' or (kind = 'chat_update' and event = 'approval.ended');
create unique index outbox_chat_refresh on outbox (subject_id)
  where kind = 'chat_update' and event = 'approval.answered' and state = 'pending';

-- The bot behind a chat token, as the provider names it. `owner`: `approvals` or the id of a connector.
create table chat_bots (
  owner        text primary key,
  token_sha256 bytea not null,
  team_id      text,
  bot_id       text,
  user_id      text,
  checked_at   timestamptz not null default clock_timestamp()
);
