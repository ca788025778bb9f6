-- `action_details`: target and effect of each action, for a request with several actions. `function_tools`: number of the tools in
-- a model request that the agent runs itself.
alter table traffic add column action_details jsonb, add column function_tools integer;
