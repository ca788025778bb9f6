-- Holds and refusals are few beside allowed requests, which the index omits: an allowed record costs nothing.
create index concurrently traffic_decision on traffic (org_id, decision, time desc, id desc) where decision <> 'ALLOW';
