-- Since when users administer the installation: from then on the owner's token of a cluster works only while it is opened.

alter table orgs add column administered_at timestamptz;
create index audit_owner_token on audit_events (org_id, created_at) where event_type = 'owner_token.used';
