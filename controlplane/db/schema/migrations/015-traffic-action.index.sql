-- The evidence of an action lists its requests. Only refused and held requests have an action.
create index concurrently traffic_action on traffic (act_id) where act_id is not null;
