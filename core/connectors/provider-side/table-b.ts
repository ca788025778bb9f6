import type { ProviderTable } from './table.ts'

export const LLM_B_PROVIDER_SIDE: ProviderTable = {
  connector: 'llm_b',
  source: 'types of `@anthropic-ai/sdk` 1.12.0 (npm), read 2026-11-24',
  opaque: ['input', 'input_schema', 'schema', 'metadata', 'properties', '$defs', 'definitions'],
  toolPlaces: ['tools', 'tool.definition'],
  callerTools: ['tools'],
  tools: `
    custom                caller
    bash_*                caller
    text_editor_*         caller
    memory_*              caller
    tool_search_tool_*    -
    advisor_*             -
    mcp_toolset           -
    web_search_*          provider_tool.web_search
    web_fetch_*           provider_tool.web_fetch
    code_execution_*      provider_tool.code
    agent_toolset_*       provider_tool.code,provider_tool.web_fetch
    computer_*            provider_tool.computer
    browser_toolset_*     provider_tool.computer
  `,
  fields: `
    mcp_servers.*.url               provider_tool.mcp         host
    mcp_server_url                  provider_tool.mcp         host
    source.url                      provider_fetch.url        host
    resources.*.url                 provider_fetch.url        host
    token_endpoint                  provider_fetch.url        host
    endpoint_url                    provider_fetch.url        host
    repository_url                  provider_fetch.url        host
    issuer_url                      provider_fetch.url        host
    jwks.url                        provider_fetch.url        host
    jwks.discovery_base             provider_fetch.url        host
    ^.url                           provider_fetch.url        host
    allowed_hosts.*                 provider_tool.code        name
    # Programs of the environment reach every host.
    config.networking.type          provider_tool.code,provider_tool.web_fetch  is=*  =unrestricted
    skills.*.skill_id               provider_tool.code        text
    environment_id                  provider_tool.code        text
    # Credentials of a person for other services, which programs and MCP servers of the agent use.
    vault_ids.*                     provider_tool.connector   text
    # A role at a cloud provider, in whose name the agent acts.
    execution_identity.role_arn     provider_tool.connector   text
    ^.agent                         hosted_agent.run          text
    ^.agent.id                      hosted_agent.run          text
    multiagent.agents.*             hosted_agent.run          text
    multiagent.agents.*.id          hosted_agent.run          text
    predefined_agents.*             hosted_agent.run          text
    predefined_agents.*.id          hosted_agent.run          text
    events.*.type                   hosted_approval.answer    of=tool_use_id  =user.tool_confirmation
    initial_events.*.type           hosted_approval.answer    of=tool_use_id  =user.tool_confirmation
  `,
  operations: `
    session.create         hosted_agent.run
    session_event.send     hosted_agent.run  of=session_id
    deployment.create      hosted_agent.run
    deployment.update      hosted_agent.run  of=deployment_id
    deployment.unpause     hosted_agent.run  of=deployment_id
    deployment.run         hosted_agent.run  of=deployment_id
    dream.create           hosted_agent.run
    batch.create           batch.run
  `,
}
