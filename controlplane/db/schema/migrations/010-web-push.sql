-- Browsers of users that receive Web Push messages (RFC 8030). `keys` is {key_id, nonce, ciphertext} of the subscription's
-- endpoint and keys; `endpoint_sha256` finds a subscription again without them.
create table push_subscriptions (
  id                text primary key,
  org_id            text not null references orgs(id),
  user_id           text not null references users(id) on delete cascade,
  host              text not null,
  endpoint_sha256   text not null unique,
  keys              jsonb not null,
  -- approvals that were opened before are not announced
  announced_at      timestamptz not null default clock_timestamp(),
  created_at        timestamptz not null default clock_timestamp(),
  last_delivered_at timestamptz,
  last_failed_at    timestamptz,
  last_error        text
);
create index push_subscriptions_user on push_subscriptions (user_id, created_at);

alter table notification_channels drop constraint notification_channels_name_check;
alter table notification_channels add constraint notification_channels_name_check
  check (name in ('slack','email','webhook','chat_webhook','web_push'));
