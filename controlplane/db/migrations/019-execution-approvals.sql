-- The person's approval that may release a hold of this execution. Null: rules alone allowed the action, so a hold of
-- the gateway opens an approval.
alter table executions add column approval_id text;
-- When it did: one hold of one execution.
alter table executions add column released_at timestamptz;
