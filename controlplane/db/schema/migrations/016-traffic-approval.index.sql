-- The evidence of an action lists the requests that its approvals held.
create index concurrently traffic_approval on traffic (approval_id) where approval_id is not null;
