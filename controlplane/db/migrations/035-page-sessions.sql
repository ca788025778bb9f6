-- A session of a browser belongs to a page: the page sends a secret with every write. Null: the cookie alone is enough.
alter table sessions add column page_secret_sha256 bytea;
-- Which of the earlier sessions a browser made is unknown, and servers on other ports may have been sent their cookies.
delete from sessions;

-- Set when an agent is started on this machine for the first time: the first owner then registers through the owner link.
alter table orgs add column owner_link_required_at timestamptz;
