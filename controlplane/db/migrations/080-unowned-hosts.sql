-- Hosts that no connector owns are listed from the records of their refusals.
create index traffic_unowned on traffic (org_id, time desc) where reason = 'unknown_host';
