-- By the id of a Gateway: domains that another connector has there.
alter table connectors add column lost_domains jsonb not null default '{}';
