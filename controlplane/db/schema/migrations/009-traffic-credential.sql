-- Credential with which a request was sent: {id, source, scope, not_narrowed, expires_at}, never its secret. Null for a request
-- that was sent without one.
alter table traffic add column credential jsonb;
