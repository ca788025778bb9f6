-- The groups of requests, of all gateway processes, that wait for the approval.
alter table approvals add column askers text[] not null default '{}';
-- When the last of them left; null while one waits, and where a gateway does not report it.
alter table approvals add column left_at timestamptz;
