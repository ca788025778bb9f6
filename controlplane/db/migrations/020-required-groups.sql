-- Each policy that holds a request requires its own approver groups. Null: an approval that a replica of an older version
-- opened; its required_approver_groups are one set.
alter table approvals add column required_groups jsonb;
-- [{user_id, by, approved, sets, via, note, at}], in the order of the answers. `sets`: places in required_groups.
alter table approvals add column answers jsonb not null default '[]';
