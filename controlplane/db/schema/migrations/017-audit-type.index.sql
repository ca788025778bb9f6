-- Sign-ins, changes and answers are few beside the events of requests, which the index omits: the upload of records costs no more.
create index concurrently audit_type on audit_events (org_id, event_type, id) where event_type not in
  ('action.requested', 'action.allowed', 'action.denied', 'action.pending_approval', 'action.executed', 'action.execution_failed');
