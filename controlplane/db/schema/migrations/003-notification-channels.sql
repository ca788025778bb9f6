-- Channels that reach approvers, with the result of their last deliveries. `config` is {key_id, nonce, ciphertext}; null for
-- a channel whose configuration is elsewhere (Slack, in `settings`).
create table notification_channels (
  org_id            text not null references orgs(id),
  name              text not null check (name in ('slack','email','webhook','chat_webhook')),
  config            jsonb,
  -- holds that were opened before are not announced
  configured_at     timestamptz not null default clock_timestamp(),
  last_delivered_at timestamptz,
  last_failed_at    timestamptz,
  last_error        text,
  primary key (org_id, name)
);
