-- The grant that released a hold; null for every other approval.
alter table approvals add column grant_id text;
