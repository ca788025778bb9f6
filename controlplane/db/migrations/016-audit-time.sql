-- Retention finds what is too old by its own entries: summaries of ranges of the table cover too much once rows have come
-- and gone in them, and then the whole log is read to remove a day of it.
create index audit_created on audit_events (created_at);
drop index audit_time;
