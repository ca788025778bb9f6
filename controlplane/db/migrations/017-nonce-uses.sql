-- A use of a nonce whose answer was lost on the way is asked about again by its own id: done is done, and it is told so.
alter table nonces add column used_for text;
