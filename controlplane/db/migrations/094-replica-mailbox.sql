-- Messages of gateway processes on their way to the replica that holds their stream. Unlogged: a status is sent again, and
-- a gateway that connects is sent every kill switch.

alter table process_words rename to replica_mailbox;
alter table replica_mailbox rename column said_at to published_at;
alter index process_words_process rename to replica_mailbox_process;
