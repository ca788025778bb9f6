-- Targets and effects of the actions of a request with several, and the number of tools in a model request that the agent
-- itself runs.
alter table traffic add column action_details jsonb, add column function_tools integer;
