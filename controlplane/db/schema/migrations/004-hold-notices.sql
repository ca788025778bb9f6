-- Messages about holds through the channels of `notification_channels`: `lane` is the channel, `subject_id` the approval.
alter table outbox drop constraint outbox_kind_check;
alter table outbox add constraint outbox_kind_check
  check (kind in ('webhook','chat_post','chat_update','chat_tell','hold_notice'));
create unique index outbox_notice_once on outbox (order_key, event) where kind = 'hold_notice';
create index outbox_notices on outbox (subject_id) where kind = 'hold_notice';
