-- The quota of new process ids counts when an id was first seen: ids of live processes are seen again every hour.
alter table process_owners add column first_seen_at timestamptz not null default clock_timestamp();
update process_owners set first_seen_at = seen_at;
drop index process_owners_owner;
create index process_owners_owner on process_owners (owner, first_seen_at);
