-- Which agent a provider gave what: sessions, responses, files, threads, batches, by a hash of the id.
create table provider_handles (
  hash     text not null,
  agent_id text not null,
  kind     text not null,
  gateway  text not null,
  given_at timestamptz not null default now(),
  primary key (hash, agent_id)
);
create index provider_handles_age on provider_handles (given_at);
create index provider_handles_agent on provider_handles (agent_id, given_at);

-- Whose the things at the provider are that a request names.
alter table traffic add column handle text;
