-- Whether the provider states that the address of the user is verified, as of its last confirmation.
alter table user_identities add column email_verified boolean not null default false;
