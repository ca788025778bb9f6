/**
 * Returns the ids in requests that need no row in the table of provider-side acts, each as the last elements
 * of its field path. A provider-side act is an effect of a request at the provider, such as a connection to
 * another host.
 */
export function harmlessIds(connector: string): readonly string[] {
  return Object.values(HARMLESS_IDS[connector] ?? {}).flatMap((ends) => ends.trim().split(/\s+/))
}

/**
 * Last elements of the field paths that need no row, by connector, each with the reason. For ids of agents,
 * workflows, skills, prompts, environments, vaults and credentials, the list has the whole path, so that the
 * same name at another path is reported.
 */
const HARMLESS_IDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  llm_a: {
    'a stored file, container, vector store or upload of the caller; a tool that reads or runs it has its own row': `
      file_id file_ids.* part_ids.* container_id vector_store_ids.* data_source.source.id video.id`,
    'an earlier answer, or an item of one, that the request repeats or continues': `
      conversation.id previous_response_id comparison_response_id audio.id input.*.id items.*.id tool_calls.*.id
      call_id tool_call_id caller_id approval_request_id request_id turn_id field_id
      acknowledged_safety_checks.*.id pending_safety_checks.*.id`,
    'what an operation with a row runs (run.create, agent_automation.create)': `
      ^.assistant_id ^.target.session_id`,
    'selects a credential for a tool of type mcp, which has a row': `
      tools.*.credential_id`,
    'names a voice or groups traces': `
      voice.id tracing.group_id`,
    'an account or a right of the organisation, by its own write': `
      ^.api_key_ids.* ^.certificate_ids.* ^.external_id ^.external_key_id ^.group_id ^.kms_project_id ^.model_ids.*
      ^.project_id ^.project_ids.* ^.projects.*.id ^.role_id ^.service_account_id ^.tenant_id ^.user_id ^.user_ids.*
      ^.workload_identity_pool_id ^.workload_identity_provider_id ^.provider.subscription_id ^.provider.tenant_id
      ^.provider.workload_identity_pool_id ^.provider.workload_identity_provider_id`,
    'the client of a credential, whose token_endpoint has a row': `
      auth.refresh.client_id`,
  },
  llm_b: {
    'a stored file, container or memory of the caller; a tool that reads or runs it has its own row': `
      file_id container.id memory_store_id`,
    'an earlier answer, or an item of one, that the request repeats or continues': `
      content.*.id caller.tool_id tool_use_id custom_tool_use_id session_thread_id previous_message_id tab_id
      download_id`,
    'what an operation with a row reads (dream.create)': `
      ^.inputs.*.session_ids.*`,
    'names a model, a request of a batch or an end user': `
      model.id custom_id user_profile_id reference_id ^.external_id`,
    'an account or a right of the organisation, by its own write': `
      ^.external_key_id ^.issuer_id ^.marketplace_id ^.provider_config.client_id ^.provider_config.tenant_id
      ^.rbac_group_ids.* ^.scope.user_id ^.scope.workspace_id ^.served_version_id ^.service_account_id
      ^.target.service_account_id ^.user_id ^.workspace_id ^.workspaces.workspace_ids.*`,
    'a channel of Slack, by its own write of high risk (tag_channel.add, tag_bundle_target.add)': `
      ^.slack.channel_id ^.slack.workspace_id ^.target.slack_channel_id ^.target.slack_workspace_id`,
    'the client of a credential, whose token_endpoint has a row': `
      auth.refresh.client_id`,
    'in the path of the request': `
      ^.session_id`,
  },
  llm_c: {
    'an earlier answer, or an item of one, that the request repeats or continues': `
      codeExecutionResult.id executableCode.id functionCall.id functionResponse.id toolCall.id toolResponse.id
      functionResponses.*.id functionResponses.id input.*.id call_id previous_interaction_id last_event_id
      annotations.*.media_id annotations.*.place_id places.*.place_id`,
    'of an environment, whose type has a row': `
      environment.environment_id base_environment.environment_id`,
    'an option of an agent, which has a row': `
      agent_config.session_id agent_config.find_request.finding_id agent_config.fix_request.finding_id`,
    'names what the request creates, or stands in its path': `
      ^.id ^.trigger_id`,
    'not in the Gemini API': `
      rag_file_ids.* ragFileIds.*`,
    'names a state of a tuned model': `
      config.defaultCheckpointId config.preTunedModelCheckpointId`,
  },
}
