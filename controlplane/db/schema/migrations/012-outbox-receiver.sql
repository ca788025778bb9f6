-- The column holds the receiver of the message, as the code names it.
alter table outbox rename column lane to receiver;
