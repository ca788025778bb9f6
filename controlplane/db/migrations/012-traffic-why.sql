-- Why a request was not simply let through, as the gateway decided it then: the rules of today may say something else.
alter table traffic add column why jsonb;
