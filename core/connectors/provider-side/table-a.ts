import type { ProviderTable } from './table.ts'

export const LLM_A_PROVIDER_SIDE: ProviderTable = {
  connector: 'llm_a',
  source: 'types of `openai` 7.57.0 (npm), read 2026-11-24',
  // In a batch file, `url` is the operation of a request, not a host.
  ownFile: /^\/v1(?:\/[a-z0-9_-]+)+$/,
  opaque: ['parameters', 'schema', 'output_schema', 'metadata', 'properties', '$defs', 'definitions'],
  // Names of graders, variables of a stored prompt, and data of an evaluation, which may be messages for a model.
  callerKeys: ['graders', 'variables', 'item'],
  toolPlaces: ['tools'],
  callerTools: ['functions'],
  batchUploads: ['file.upload'],
  // Messages for training and evaluation may contain images, which the provider fetches.
  batchPurposes: ['batch', 'fine-tune', 'evals'],
  readForms: ['realtime_call.create', 'video.create', 'image.edit'],
  tools: `
    function                     caller
    custom                       caller
    namespace                    -
    apply_patch                  caller
    local_shell                  caller
    tool_search                  -
    image_generation             -
    mcp                          provider_tool.mcp
    # With external_web_access false the tool reads only the provider's own index; web_search_preview ignores the member.
    web_search                   provider_tool.web_search  unless=external_web_access
    web_search*                  provider_tool.web_search
    file_search                  provider_tool.file_search
    retrieval                    provider_tool.file_search
    code_interpreter             provider_tool.code
    programmatic_tool_calling    provider_tool.code
    shell                        provider_tool.code
    computer*                    provider_tool.computer
    automations                  hosted_agent.run
  `,
  fields: `
    server_url                        provider_tool.mcp         host
    mcp_server_url                    provider_tool.mcp         host
    tunnel_id                         provider_tool.mcp         text
    connector_id                      provider_tool.connector   text
    image_url                         provider_fetch.url        host
    image_url.url                     provider_fetch.url        host
    file_url                          provider_fetch.url        host
    remote_url                        provider_fetch.url        host
    # Servers with the same API accept these beside the fields of OpenAI.
    video_url                         provider_fetch.url        host
    video_url.url                     provider_fetch.url        host
    audio_url                         provider_fetch.url        host
    audio_url.url                     provider_fetch.url        host
    token_endpoint                    provider_fetch.url        host
    network_policy.allowed_domains.*  provider_tool.code        name
    allowed_hosts.*                   provider_tool.code        name
    network.allowed_domains.*         provider_tool.code        name
    # Programs and browsers of the environment can reach every host.
    network.access                    provider_tool.code,provider_tool.web_fetch  is=*  =enabled
    setup_commands.*.command          provider_tool.code        is=setup_commands
    # A grader of type python is a program.
    grader.type                       provider_tool.code        is=python_grader  =python
    graders.type                      provider_tool.code        is=python_grader  =python
    graders.?.type                    provider_tool.code        is=python_grader  =python
    testing_criteria.*.type           provider_tool.code        is=python_grader  =python
    grader.url                        provider_fetch.url        host
    graders.?.url                     provider_fetch.url        host
    # A fine-tuning job reports to these services.
    integrations.*.type               provider_tool.connector   text
    # Answers to questions about MCP calls, sign-ins and origins of the provider's browser.
    events.*.response                 hosted_approval.answer    of=request_id
    discovery_url                     provider_fetch.url        host
    ^.url                             provider_fetch.url        host
    # Where a call is transferred to (realtime_call.refer, live_session.refer).
    ^.target_uri                      provider_fetch.url        call
    web_search_options                provider_tool.web_search  is=web_search
    model                             provider_tool.web_search  text  ~-search
    approve                           hosted_approval.answer    of=approval_request_id  =true
    events.*.decision                 hosted_approval.answer    of=request_id  =approve
    input.*.decision                  hosted_approval.answer    of=request_id  =approve
    items.*.decision                  hosted_approval.answer    of=request_id  =approve
    ^.decision                        hosted_approval.answer    of=request_id  =approve
    # The other values belong to images.
    background                        hosted_agent.run          of=model  !false|0|transparent|opaque|auto
    prompt.id                         hosted_agent.run          text
    workflow.id                       hosted_agent.run          text
    ^.agent_id                        hosted_agent.run          text
    target.agent_id                   hosted_agent.run          text
    # Credentials of a person for other services, which programs and MCP servers of the agent use.
    vault_ids.*                       provider_tool.connector   text
    skills.*.skill_id                 provider_tool.code        text
    environment.environment_id        provider_tool.code        text
    environment_template_id           provider_tool.code        text
    ^.input_file_id                   batch.run                 text
    purpose                           provider_tool.unknown     unread  =batch
    purpose                           provider_tool.unknown     unread  =fine-tune
    purpose                           provider_tool.unknown     unread  =evals
  `,
  operations: `
    run.create                     hosted_agent.run  of=assistant_id
    run.submit_tool_outputs        hosted_agent.run  of=run_id
    agent_session.create           hosted_agent.run
    agent_session.send_event       hosted_agent.run  of=session_id
    agent_automation.create        hosted_agent.run
    agent_automation.update        hosted_agent.run  of=automation_id
    agent_automation.resume        hosted_agent.run  of=automation_id
    automation_invocation.create   hosted_agent.run  of=automation_id
    chatkit_session.create         hosted_agent.run
    live_session.create            hosted_agent.run
    live_session.accept            hosted_agent.run  of=session_id
    live_session.fork              hosted_agent.run  of=session_id
    realtime_call.create           hosted_agent.run
    realtime_call.accept           hosted_agent.run  of=call_id
    batch.create                   batch.run
    eval_run.create                batch.run         of=eval_id
  `,
}
