-- Items of batches that were refused in one minute, by agent: a batch is one request to the rate limit, and twenty rows.
create table refused_items (
  agent_id text primary key,
  minute   timestamptz not null,
  items    int not null
);
