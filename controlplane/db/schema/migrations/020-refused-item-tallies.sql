-- Refused items of batches beyond the limit of `refused_items`, whose actions are not stored: one row for each agent
-- and minute, until the minute has ended and its audit event is written.
create table refused_item_tallies (
  agent_id text not null,
  minute   timestamptz not null,
  items    int not null,
  first_at timestamptz not null,
  last_at  timestamptz not null,
  -- distinct targets in the order of their first item; the rate limit of the agent bounds their number
  targets  text[] not null,
  primary key (agent_id, minute)
);
