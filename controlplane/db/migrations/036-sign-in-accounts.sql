-- SHA-256 of the e-mail address whose password was tried, so that a reset of the password removes every count of the
-- account. Null for counts over all accounts.
alter table login_failures add column account_sha256 bytea;
create index login_failures_account on login_failures (account_sha256) where account_sha256 is not null;
